#!/usr/bin/env bash
# tests/run.sh - installs what the tests need, builds, and runs every test.
# Usage: tests/run.sh [--quick|--long]
#   --quick   unit, flow and tidy tests on one build: what to run while writing code
#   (none)    everything, as CI does: five builds, a real Kafka broker, each fuzz target a minute
#   --long    the same with ten minutes for each fuzz target, the tests that are labelled long, and
#             all Kafka tests a second time with a newer librdkafka
# Needs nothing but Debian 12, root (or the packages below) and its package mirrors.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:---all}
case $mode in
    --all | --quick | --long) ;;
    *)
        echo "run.sh: unknown option $mode; there are --quick and --long" >&2
        exit 1
        ;;
esac

build_packages="gcc g++ cmake ninja-build pkg-config protobuf-c-compiler librdkafka-dev liblmdb-dev
liblz4-dev libprotobuf-c-dev libyaml-dev libsimdjson-dev liblua5.4-dev libxxhash-dev
libmimalloc-dev"
test_packages="libcmocka-dev python3 clang-format"
all_packages="clang-14 libclang-rt-14-dev llvm-14 clang-tidy valgrind openjdk-17-jdk-headless maven"

part() {
    echo
    echo "=== $* (after $((SECONDS / 60)) min $((SECONDS % 60)) s)"
}

# Asks apt only for what dpkg does not have.
install() {
    local missing=() package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == *" installed" ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    echo "installing ${missing[*]}"
    apt-get -q update
    DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "${missing[@]}"
}

# FOLDER TARGET OPTION…
build() {
    local folder=$1 target=$2
    shift 2
    cmake -G Ninja -S . -B "$folder" -DBR_WERROR=ON "$@" >"$folder.log" 2>&1 ||
        { cat "$folder.log"; return 1; }
    cmake --build "$folder" --target "$target"
}

# What an interrupted run left behind would keep its port and its files.
stop_brokers() {
    local broker
    for broker in build/kafka/broker build/*/kafka/broker; do
        [[ ! -f $broker/pid ]] || sh tests/support/broker.sh stop "$broker" || true
    done
}

part "packages"
# shellcheck disable=SC2086 # lists of words
install $build_packages $test_packages
jobs=$(nproc) # more would make tests on a broker wait for each other
mkdir -p build
trap stop_brokers EXIT

if [[ $mode == --quick ]]; then
    part "build"
    build build all -DBR_FAILPOINTS=ON
    part "tests"
    ctest --test-dir build -j "$jobs" --output-on-failure -L '^(unit|flow|fuzz|tidy)$'
    exit
fi

# shellcheck disable=SC2086
install $all_packages
seconds=60
left_out=(-LE '^long$')
[[ $mode == --long ]] && seconds=600 left_out=()

part "build with gcc"
build build all -DBR_FAILPOINTS=ON -DBR_KAFKA_TESTS=ON -DBR_FUZZ_SECONDS=$seconds \
    -DBR_SANITIZED_BUILD="$PWD/build/sanitized" -DBR_FUZZ_BUILD="$PWD/build/clang" \
    -DBR_RDKAFKA_BUILD="$PWD/build/newer" -DBR_THREAD_BUILD="$PWD/build/threads"
part "build with a newer librdkafka"
deploy/librdkafka.sh build/librdkafka
build build/newer kafka_programs -DBR_FAILPOINTS=ON -DBR_KAFKA_TESTS=ON \
    -DBRINE_RDKAFKA="$PWD/build/librdkafka"
part "build with address and undefined behaviour sanitizers"
build build/sanitized all -DBR_FAILPOINTS=ON -DBR_SANITIZE=address,undefined
part "build with the thread sanitizer"
build build/threads thread_programs -DBR_FAILPOINTS=ON -DBR_SANITIZE=thread
part "build with clang and libFuzzer"
CC=clang-14 CXX=clang++-14 build build/clang fuzz -DBR_FUZZ=ON -DBR_SANITIZE=address,undefined
part "tests"
code=0
ctest --test-dir build -j "$jobs" --output-on-failure --no-tests=error "${left_out[@]}" || code=$?
exit $code
