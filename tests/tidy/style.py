#!/usr/bin/env python3
"""tests/tidy/style.py - the measurable part of how we write, as a test.

Usage: style.py REPOSITORY [INCLUDE_FOLDER…]

Sizes of files, functions, lines and nesting; no reminders left behind; each C file begins with a
comment that names it; each header has its guard and compiles alone (with the include folders).
"""
import pathlib
import re
import subprocess
import sys

FILE_LINES, TEST_LINES, HEADER_LINES = 600, 800, 200
FUNCTION_LINES, LINE_COLUMNS = 70, 100
NESTING = 4  # of indentation steps: a `case` of a switch inside a loop is the most
FOLDERS = ("runtime", "operators", "state", "jobs", "proto", "tests", "deploy")
CODE = {".c", ".h", ".cpp"}
TEXT = CODE | {".py", ".sh", ".cmake", ".proto", ".java", ".yaml", ".txt"}
REMINDER = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK")) + r")\b")


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in TEXT and "corpus" not in path.parts:
                yield path.relative_to(root)


def check_lines(name, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS:
            yield f"{name}:{number}: {len(line)} columns, at most {LINE_COLUMNS}"
        if "\t" in line and name.suffix in CODE:
            yield f"{name}:{number}: a tab; indent with 4 spaces"
        if line != line.rstrip():
            yield f"{name}:{number}: blanks at the end of the line"
        if REMINDER.search(line):
            yield f"{name}:{number}: a reminder; do it, or file an issue"


def check_file(name, lines):
    is_test = name.parts[0] == "tests"
    limit = TEST_LINES if is_test else HEADER_LINES if name.suffix == ".h" else FILE_LINES
    if len(lines) > limit:
        yield f"{name}: {len(lines)} lines, at most {limit}: split it by noun"
    if name.suffix in CODE and not lines[0].startswith(f"/* {name} - "):
        yield f"{name}:1: must begin with `/* {name} - what it is for`"
    if name.suffix == ".h":
        guard = "BR_" + re.sub(r"[/.]", "_", str(name)).upper()
        short = guard.replace("BR_RUNTIME_BASE_", "BR_BASE_")
        if is_test:  # helpers of one folder: the file's own name is enough
            short = f"BR_TESTS_{name.stem.upper()}_H"
        found = [line.split()[1] for line in lines if line.startswith("#ifndef BR_")][:1]
        if found not in ([guard], [short]):
            yield f"{name}: its guard must be {short}, found {found}"


def check_functions(name, lines):
    """Linux braces: a function is what stands between `{` and `}` at the start of a line."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line.startswith("}") and begin:
            if number - begin + 1 > FUNCTION_LINES:
                yield f"{name}:{begin}: a function of {number - begin + 1} lines, at most 70"
            begin = None
        elif begin and re.match(r" {%d}(if|for|while|do|switch)\b" % (4 * (NESTING + 1)), line):
            yield f"{name}:{number}: nested too deep; put the inside into a function"


def check_alone(root, name, include_folders):
    flags = [f"-I{folder}" for folder in include_folders]
    flags += [f"-I{root}", f"-I{root}/tests"]
    command = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Werror", "-fsyntax-only", *flags,
               "-include", str(root / name), "-x", "c", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"{name}: does not compile alone: {done.stderr.strip().splitlines()[0]}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    faults, count = [], 0
    for name in sources(root):
        count += 1
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        faults += check_lines(name, lines)
        if not lines:
            faults.append(f"{name}: empty")
            continue
        faults += check_file(name, lines)
        if name.suffix in CODE:
            faults += check_functions(name, lines)
        if name.suffix == ".h" and len(sys.argv) > 2:
            faults += check_alone(root, name, sys.argv[2:])
    print("\n".join(faults))
    print(f"{count} files, {len(faults)} faults")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
