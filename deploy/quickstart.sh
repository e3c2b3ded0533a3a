#!/usr/bin/env bash
# deploy/quickstart.sh - from a fresh Debian 12 to exact totals of salted clicks, in a few minutes.
# Installs the libraries, builds brine, makes 200,000 clicks of which half are one ad's, spreads
# them over 12 partitions by salted keys, and runs the job that adds them up per real ad, on the
# embedded log: no broker is needed. Everything it makes is in build/ and brine-data/quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."

packages="gcc g++ cmake ninja-build pkg-config protobuf-c-compiler librdkafka-dev liblmdb-dev
liblz4-dev libprotobuf-c-dev libyaml-dev libsimdjson-dev liblua5.4-dev libxxhash-dev libmimalloc-dev
libcmocka-dev python3"
data=brine-data/quickstart

step() {
    printf '\n== %s\n' "$*"
}

missing=()
for package in $packages; do
    [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == *" installed" ]] ||
        missing+=("$package")
done
if ((${#missing[@]})); then
    step "installing ${missing[*]}"
    apt-get -q update >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
        "${missing[@]}" >/dev/null
fi

step "building build/brine"
[[ -f build/CMakeCache.txt ]] || cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build --target brine | tail -n 1

step "200,000 clicks, half of them on ad_7, keys salted (ad_7_0 … ad_7_9), 12 partitions"
rm -rf "$data"
mkdir -p "$data"
build/brine generate ad-clicks --count 200000 --hot 0.5 --seed 1 |
    build/brine produce --topic ad-clicks --key ad_id --salt 10 --partitions 12 --local "$data"

step "running jobs/examples/ad-clicks.yaml up to the end of the topic"
build/brine run jobs/examples/ad-clicks.yaml --until-end --local "$data"

step "the five ads with the most clicks (topic clicks-per-ad)"
build/brine consume --topic clicks-per-ad --latest --local "$data" >"$data/totals"
python3 - "$data/totals" <<'TOP'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
rows.sort(key=lambda row: (-row["clicks"], row["ad_id"]))
for row in rows[:5]:
    print(f"{row['ad_id']:<10} {row['clicks']:>7} clicks  {row['spend']:>12.6f} spent")
print(f"{len(rows)} ads, {sum(row['clicks'] for row in rows)} clicks in all")
TOP

step "asking the job's state for one ad"
build/brine query ad-clicks per_ad ad_7 --local "$data"
