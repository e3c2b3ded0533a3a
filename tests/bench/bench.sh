#!/bin/sh
# tests/bench/bench.sh - what brine costs beside only reading the topic, measured in turn.
# Usage: bench.sh [RECORDS [ROUNDS]]    (default 5000000 and 3)
#   BUILD  the build folder, a Release one (default: build)
# Starts a broker of its own, produces salted clicks into 12 partitions, then runs the plain
# consumer and `brine run --until-end` in turn, each on all records; prints CPU seconds (user +
# system), the ratio of each round and the median. Totals are checked, so nothing is skipped.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build}
records=${1:-5000000} rounds=${2:-3}
brine=$build/brine
dir=$(mktemp -d "${TMPDIR:-/tmp}/brine-bench.XXXXXX")
finish() {
    sh "$root/tests/support/broker.sh" stop "$dir/broker" 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT INT TERM

brokers=$(sh "$root/tests/support/broker.sh" start "$dir/broker")
echo "producing $records clicks"
"$brine" generate ad-clicks --count "$records" --hot 0.5 --seed 1 |
    "$brine" produce --topic bench-clicks --key ad_id --salt 10 --partitions 12 \
        --brokers "$brokers"

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

# Group, state and topics of their own for each round: all of it is done again.
job() {
    cat >"$dir/job.yaml" <<JOB
name: bench-$1
operators:
  - source:  {id: clicks, topic: bench-clicks, format: json}
  - groupBy: {id: per_ad, by: [ad_id], aggregate: {clicks: count()}}
  - sink:    {topic: bench-totals-$1}
JOB
}

counted() {
    "$brine" consume --topic "bench-totals-$1" --latest --brokers "$brokers" | python3 -c '
import json, sys
print(sum(json.loads(line)["clicks"] for line in sys.stdin))'
}

for round in $(seq "$rounds"); do
    measure plain "$build/bench/consume_only" "$brokers" bench-clicks >"$dir/out"
    grep -qx "records $records" "$dir/out" || { echo "plain consumer: $(cat "$dir/out")"; exit 1; }
    job "$round"
    measure brine "$brine" run "$dir/job.yaml" --until-end --brokers "$brokers" \
        --state-dir "$dir/state" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
    total=$(counted "$round")
    [ "$total" = "$records" ] || { echo "brine counted $total of $records"; exit 1; }
    echo "$(cat "$dir/plain") $(cat "$dir/brine")" >>"$dir/rounds"
done
python3 - "$dir/rounds" <<'REPORT'
import statistics, sys
rows = [tuple(map(float, line.split())) for line in open(sys.argv[1])]
for number, (plain, brine) in enumerate(rows, 1):
    print(f"round {number}: plain {plain:.2f} s, brine {brine:.2f} s, ratio {brine / plain:.2f}")
print(f"median ratio {statistics.median(brine / plain for plain, brine in rows):.2f}")
REPORT
