#!/bin/sh
# tests/support/with_broker.sh COMMAND… - runs a command with BRINE_TEST_BROKERS set: to a broker of
# its own, which is gone afterwards, or left as it is where it is set already.
set -eu
[ -z "${BRINE_TEST_BROKERS:-}" ] || exec "$@"
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
finish() {
    "$here/broker.sh" stop "$dir" || true
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
BRINE_TEST_BROKERS=$("$here/broker.sh" start "$dir")
export BRINE_TEST_BROKERS
"$@"
