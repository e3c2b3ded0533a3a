#!/bin/sh
# tests/bench/restore.sh - what restoring a store costs beside only reading its changelog.
# Usage: restore.sh [ROWS [ROUNDS]]    (default 1000000 and 3)
#   BUILD  the build folder, a Release one (default: build)
# Starts a broker of its own and makes a changelog of ROWS rows (keys of 20 bytes, a count each)
# in one partition; then, in turn, the plain consumer on that changelog, brine on the kept state
# (restores nothing) and on an empty folder. Prints CPU seconds (user + system), and the cost a row:
# the difference of the last two. The goal is 2 µs a row.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build}
rows=${1:-1000000} rounds=${2:-3}
brine=$build/brine
dir=$(mktemp -d "${TMPDIR:-/tmp}/brine-restore.XXXXXX")
finish() {
    sh "$root/tests/support/broker.sh" stop "$dir/broker" 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT INT TERM

brokers=$(sh "$root/tests/support/broker.sh" start "$dir/broker")
cat >"$dir/job.yaml" <<JOB
name: bench-restore
operators:
  - source:  {id: keys, topic: bench-keys, format: json, partitioned_by: [k]}
  - groupBy: {id: per_key, by: [k], aggregate: {n: count()}}
  - sink:    {topic: bench-counts}
settings: {commit_interval: 1h, cache: 4GiB}
JOB

# NAME COMMAND…: runs it and writes its CPU seconds to $dir/NAME.
measure() {
    name=$1
    shift
    python3 -c '
import os, resource, subprocess, sys
code = subprocess.run(sys.argv[2:], check=False).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write("%.3f\n" % (used.ru_utime + used.ru_stime))
sys.exit(code)' "$dir/$name" "$@"
}

# NAME FIELD: runs the job up to its source's end; FIELD of the summary must be what is wanted.
measure_run() {
    measure "$1" "$brine" run "$dir/job.yaml" --until-end --json --brokers "$brokers" \
        --state-dir "$dir/state" >"$dir/summary" 2>"$dir/errors" || { cat "$dir/errors"; exit 1; }
    python3 -c '
import json, sys
count = json.load(open(sys.argv[1]))[sys.argv[2]]
sys.exit(None if int(sys.argv[3]) <= count <= int(sys.argv[3]) + 10
         else f"{sys.argv[2]}: {count}, wanted {sys.argv[3]} and a few markers")' \
        "$dir/summary" "$2" "$3"
}

echo "making a changelog of $rows rows"
# A prime step: every key once, in no order.
python3 -c '
import sys
rows = int(sys.argv[1])
for i in range(rows):
    print("{\"k\":\"key-%016d\"}" % (i * 7368787 % rows))' "$rows" |
    "$brine" produce --topic bench-keys --key k --partitions 1 --brokers "$brokers"
measure_run first records "$rows"

for round in $(seq "$rounds"); do
    measure plain "$build/bench/consume_only" "$brokers" bench-restore-per_key-changelog >"$dir/out"
    measure_run kept restored 0
    rm -rf "$dir/state"
    measure_run empty restored "$rows"
    echo "$(cat "$dir/plain") $(cat "$dir/kept") $(cat "$dir/empty")" >>"$dir/rounds"
done
python3 - "$dir/rounds" "$rows" <<'REPORT'
import statistics, sys
rows, costs, ratios = int(sys.argv[2]), [], []
for number, line in enumerate(open(sys.argv[1]), 1):
    plain, kept, empty = map(float, line.split())
    costs.append((empty - kept) / rows * 1e6)
    ratios.append((empty - kept) / plain)
    print(f"round {number}: plain {plain:.2f} s, kept {kept:.2f} s, empty {empty:.2f} s: "
          f"{costs[-1]:.2f} µs a row, {ratios[-1]:.2f} times the plain consumer")
print(f"median {statistics.median(costs):.2f} µs a row (goal: at most 2), "
      f"ratio {statistics.median(ratios):.2f}")
REPORT
