#!/bin/sh
# tests/fuzz/minute.sh - runs one libFuzzer target for a while; a finding is a failure.
# Usage: minute.sh TARGET SEEDS FOLDER SECONDS
#   New inputs are kept in FOLDER/corpus, a finding in FOLDER/findings: put it into SEEDS with the
#   fix, so that every later build runs it.
set -eu
target=$1 seeds=$2 folder=$3 seconds=$4
mkdir -p "$folder/corpus" "$folder/findings"
exec "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$folder/findings/" "$folder/corpus" "$seeds"
