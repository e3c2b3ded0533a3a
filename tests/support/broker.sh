#!/bin/sh
# tests/support/broker.sh - one real Kafka broker (KRaft, one node) for tests.
#   broker.sh start DIR   fetches the jars once, starts a broker whose files are all in DIR, waits
#                         until it answers, writes DIR/pid and DIR/address; prints the address.
#                         A DIR that held a broker before is started again with its data.
#   broker.sh stop DIR    ends it and waits; its files stay.
# Environment:
#   BRINE_TEST_CACHE       where the jars are kept (default: <repository>/build/kafka)
#   BRINE_BROKER_PORT      a fixed port for clients (default: a free one)
#   BRINE_BROKER_SETTINGS  further broker settings, one a line
# Needs: Java 17, Maven (once), python3 (free ports).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${BRINE_TEST_CACHE:-$root/build/kafka}

die() {
    echo "broker.sh: $*" >&2
    exit 1
}

need() {
    command -v "$1" >/dev/null || die "found no $1; $2"
}

# Into a folder of its own first, so that two that fetch at once, or one that is stopped midway,
# leave no half-filled cache.
fetch_jars() {
    [ -f "$cache/lib/.complete" ] && return 0
    need mvn "install Maven (Debian: apt-get install maven)"
    mkdir -p "$cache"
    part=$(mktemp -d "$cache/fetch.XXXXXX")
    cp "$here/broker/pom.xml" "$part/pom.xml"
    if ! mvn -q -B -f "$part/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$part/lib" >&2; then
        rm -rf "$part"
        die "Maven could not fetch the broker; its words are above"
    fi
    touch "$part/lib/.complete"
    mv -T "$part/lib" "$cache/lib" 2>/dev/null || [ -f "$cache/lib/.complete" ] ||
        die "cannot write $cache/lib; remove it and try again"
    rm -rf "$part"
}

free_ports() {
    need python3 "it picks free ports"
    python3 -c '
import socket
held = [socket.socket() for _ in range(2)]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])'
}

answers() {
    python3 -c '
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()' "$1" 2>/dev/null
}

write_settings() {
    dir=$1 port=$2 controller=$3
    cat >"$dir/server.properties" <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=CLIENT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=CLIENT://127.0.0.1:$port
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
log.dirs=$dir/data
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=16777216
${BRINE_BROKER_SETTINGS:-}
EOF
}

# A process that ended but that nobody waited for (in a container without an init) is not alive.
alive() {
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

format_storage() {
    [ -f "$1/data/meta.properties" ] && return 0
    java -Xmx128m -cp "$cache/lib/*" kafka.tools.StorageTool format --ignore-formatted \
        -t "$(python3 -c 'import base64, uuid
print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))')" \
        -c "$1/server.properties" >"$1/format.log" 2>&1 ||
        die "the broker's storage could not be made; see $1/format.log"
}

wait_until_ready() {
    dir=$1 port=$2 tries=0
    until answers "$port"; do
        tries=$((tries + 1))
        alive "$(cat "$dir/pid")" || die "the broker ended; see $dir/log"
        [ "$tries" -lt 300 ] || die "the broker did not answer in 60 s; see $dir/log"
        sleep 0.2
    done
}

start() {
    mkdir -p "$1"
    dir=$(cd "$1" && pwd)
    if [ -f "$dir/pid" ] && alive "$(cat "$dir/pid")"; then
        die "a broker runs in $dir already (process $(cat "$dir/pid"))"
    fi
    need java "install Java 17 (Debian: apt-get install openjdk-17-jre-headless)"
    fetch_jars
    if [ -f "$dir/ports" ]; then
        read -r port controller <"$dir/ports"
    else
        ports=$(free_ports)
        port=${BRINE_BROKER_PORT:-${ports% *}} controller=${ports#* }
        echo "$port $controller" >"$dir/ports"
    fi
    write_settings "$dir" "$port" "$controller"
    format_storage "$dir"
    # exec: the process that the pid file names is the broker, not a shell around it.
    (exec java -Xmx1g -Xms256m -XX:+UseSerialGC -cp "$cache/lib/*" \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -Dorg.slf4j.simpleLogger.showDateTime=true \
        kafka.Kafka "$dir/server.properties" </dev/null >>"$dir/log" 2>&1) &
    echo $! >"$dir/pid"
    wait_until_ready "$dir" "$port"
    echo "127.0.0.1:$port" >"$dir/address"
    cat "$dir/address"
}

stop() {
    [ -f "$1/pid" ] || die "no broker was started in $1 (it has no file pid)"
    pid=$(cat "$1/pid")
    kill "$pid" 2>/dev/null || true
    tries=0
    while alive "$pid"; do
        tries=$((tries + 1))
        if [ "$tries" -eq 100 ]; then kill -KILL "$pid" 2>/dev/null || true; fi
        [ "$tries" -lt 150 ] || die "process $pid does not end"
        sleep 0.1
    done
    rm -f "$1/pid" "$1/address"
}

[ $# -eq 2 ] || die "usage: broker.sh start|stop DIR"
case $1 in
    start) start "$2" ;;
    stop) stop "$2" ;;
    *) die "unknown command $1; there are start and stop" ;;
esac
