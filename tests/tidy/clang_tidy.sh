#!/bin/sh
# tests/tidy/clang_tidy.sh - clang-tidy over all of our sources, several at once.
# Usage: clang_tidy.sh REPOSITORY BUILD   (BUILD has compile_commands.json)
set -eu
root=$1 build=$2
cd "$root"
err=$(mktemp "${TMPDIR:-/tmp}/brine-tidy.XXXXXX")
trap 'rm -f "$err"' EXIT
find runtime operators state jobs tests \( -name '*.c' -o -name '*.cpp' \) -print0 |
    xargs -0 -n 4 -P "$(nproc)" clang-tidy -p "$build" --quiet \
        --extra-arg=-Wno-unknown-warning-option 2>"$err" || {
    grep -v 'warnings generated\|Suppressed\|Use -header-filter' "$err" >&2
    exit 1
}
