#!/usr/bin/env python3
"""tests/tidy/readme.py - runs the commands of README.md: what it promises works.

Usage: readme.py REPOSITORY BINARY

Blocks marked `sh` run one after another, each as one script, in an empty folder that has the
project's jobs/ and a build/brine; the first failing command ends the test. The two commands of the
first screen build the project: there it is only checked that the scripts they name exist.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    root, binary = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    text = (root / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    scripts = [word for block in blocks for word in re.findall(r"^bash (\S+)", block, re.M)]
    for script in scripts:
        if not (root / script).is_file():
            sys.exit(f"README.md runs {script}, which is not there")
    if not {"deploy/quickstart.sh", "tests/run.sh"} <= set(scripts):
        sys.exit("README.md does not show both commands")
    commands = [block for block in blocks if not block.startswith("bash ")]
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(root / "jobs", f"{folder}/jobs")
        os.mkdir(f"{folder}/build")
        os.symlink(binary, f"{folder}/build/brine")
        for block in commands:
            print(f"--- {block}", flush=True)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder,
                                  timeout=120, stdin=subprocess.DEVNULL, check=False)
            if done.returncode != 0:
                sys.exit(f"this block of README.md ended with {done.returncode}")
    print(f"{len(commands)} blocks run")
    if not commands:
        sys.exit("README.md has no commands to run")


if __name__ == "__main__":
    main()
