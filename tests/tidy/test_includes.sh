#!/bin/sh
# tests/tidy/test_includes.sh - shows that a forbidden include fails the build.
# Claim: whatever breaks the table of includes.cmake is found, and nothing else is; and a header of
# a folder that is not linked to does not even compile.
# Usage: test_includes.sh REPOSITORY BUILD
set -eu
root=$1 build=$2
copy=$(mktemp -d "${TMPDIR:-/tmp}/brine-includes.XXXXXX")
trap 'rm -rf "$copy"' EXIT
for folder in runtime operators state jobs proto tests; do
    mkdir -p "$copy/$folder"
    (cd "$root" && find "$folder" -name '*.[ch]' -o -name '*.cpp') | while read -r file; do
        mkdir -p "$copy/${file%/*}"
        cp "$root/$file" "$copy/$file"
    done
done
tidy() {
    cmake -DROOT="$copy" -P "$root/tests/tidy/includes.cmake" 2>&1
}

failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

tidy || fail "the tree as it is must be clean"

# FILE INCLUDE: the line is put on top of a new file of that name.
forbidden() {
    mkdir -p "$copy/${1%/*}"
    echo "#include $2" >"$copy/$1"
    if out=$(tidy); then fail "$1 may include $2"; fi
    case $out in
        *"$1"*) ;;
        *) fail "the message does not name $1: $out" ;;
    esac
    rm "$copy/$1"
}
forbidden state/zz.c '"runtime/log/log.h"'
forbidden state/zz.c '"operators/value.h"'
forbidden state/zz.h '"../runtime/base/bytes.h"'
forbidden state/zz.c '<librdkafka/rdkafka.h>'
forbidden state/zz.c '<yaml.h>'
forbidden operators/zz.c '"jobs/plan.h"'
forbidden operators/zz.c '<simdjson.h>'
forbidden operators/zz.c '<lua.h>'
forbidden operators/zz.c '<lmdb.h>'
forbidden jobs/zz.c '"runtime/log/log.h"'
forbidden jobs/zz.c '<lz4frame.h>'
forbidden runtime/base/zz.c '"state/env.h"'
forbidden runtime/base/zz.c '<proto/state.pb-c.h>'
forbidden runtime/zz.c '<librdkafka/rdkafka.h>'
forbidden runtime/log/local_zz.c '<librdkafka/rdkafka.h>'
forbidden runtime/log/kafka_zz.c '<lmdb.h>'
forbidden runtime/zz.c '<microhttpd.h>'
forbidden runtime/zz.c '<curl/curl.h>'
forbidden tests/unit/state/zz.c '"state/env.c"'

# With the include folders that the build gives a module, a header of a higher one is not found.
# The file stands in a folder of its own, since its own folder is searched first. MODULES HEADER
alone=$copy/alone
mkdir "$alone"
does_not_compile() {
    flags=
    for module in $1; do flags="$flags -I$build/include/$module"; done
    echo "#include \"$2\"" >"$alone/zz.c"
    # shellcheck disable=SC2086 # a list of flags
    if cc -std=c11 -fsyntax-only $flags "$alone/zz.c" 2>"$alone/err"; then
        fail "$2 compiles with $1"
    fi
    grep -q "No such file" "$alone/err" || fail "$2: another error: $(cat "$alone/err")"
}
does_not_compile "br_base" state/env.h
does_not_compile "br_base br_proto br_state" operators/value.h
does_not_compile "br_base br_proto br_state br_operators" jobs/plan.h
does_not_compile "br_base br_proto br_state br_operators br_jobs" runtime/log/log.h
exit $failed
