#!/bin/sh
# tests/support/broker.sh - a real Kafka broker (KRaft, one node), or three of them, for tests.
#   broker.sh start DIR    fetches the jars once, starts a broker whose files are all in DIR, waits
#                          until it answers, writes DIR/pid and DIR/address; prints the address.
#                          A DIR that held a broker before is started again with its data.
#   broker.sh stop DIR     ends it and waits; its files stay.
#   broker.sh cluster DIR  starts a cluster of three: DIR/1, DIR/2 and DIR/3 are each a broker's
#                          folder, for start and stop; prints their addresses, separated by commas.
# Environment:
#   BRINE_TEST_CACHE       where the jars are kept (default: <repository>/build/kafka)
#   BRINE_BROKER_PORT      a fixed port for clients (default: a free one)
#   BRINE_BROKER_SETTINGS  further broker settings, one a line
#   BRINE_BROKER_HEAP      memory of each broker's heap (default: 1g; in a cluster 320m)
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
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])' "$1"
}

answers() {
    python3 -c '
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()' "$1" 2>/dev/null
}

write_settings() {
    dir=$1 port=$2 controller=$3 node=$4 voters=$5 replicas=$6
    cat >"$dir/server.properties" <<EOF
process.roles=broker,controller
node.id=$node
controller.quorum.voters=$voters
listeners=CLIENT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=CLIENT://127.0.0.1:$port
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
log.dirs=$dir/data
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=$replicas
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=$replicas
transaction.state.log.min.isr=$(((replicas + 1) / 2))
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=$replicas
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

new_cluster_id() {
    python3 -c 'import base64, uuid
print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))'
}

format_storage() {
    [ -f "$1/data/meta.properties" ] && return 0
    java -Xmx128m -cp "$cache/lib/*" kafka.tools.StorageTool format --ignore-formatted \
        -t "$2" -c "$1/server.properties" >"$1/format.log" 2>&1 ||
        die "the broker's storage could not be made: $(tail -n 5 "$1/format.log")"
}

wait_until_ready() {
    dir=$1 port=$2 tries=0
    until answers "$port"; do
        tries=$((tries + 1))
        alive "$(cat "$dir/pid")" || die "the broker ended: $(tail -n 5 "$dir/log")"
        [ "$tries" -lt 300 ] || die "the broker did not answer in 60 s; see $dir/log"
        sleep 0.2
    done
}

# DIR/place: ports, and the broker's place in its cluster; kept, so that a start is the same again.
launch() {
    dir=$1
    if [ -f "$dir/pid" ] && alive "$(cat "$dir/pid")"; then
        die "a broker runs in $dir already (process $(cat "$dir/pid"))"
    fi
    read -r port controller node voters replicas cluster heap <"$dir/place"
    write_settings "$dir" "$port" "$controller" "$node" "$voters" "$replicas"
    format_storage "$dir" "$cluster"
    # exec: the process that the pid file names is the broker, not a shell around it.
    (exec java -Xmx"$heap" -XX:+UseSerialGC -cp "$cache/lib/*" \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -Dorg.slf4j.simpleLogger.showDateTime=true \
        kafka.Kafka "$dir/server.properties" </dev/null >>"$dir/log" 2>&1) &
    echo $! >"$dir/pid"
}

# Prints the address.
await() {
    read -r port _ <"$1/place"
    wait_until_ready "$1" "$port"
    echo "127.0.0.1:$port" >"$1/address"
    cat "$1/address"
}

# Makes a folder and prints its full name.
folder() {
    mkdir -p "$1"
    (cd "$1" && pwd)
}

prepare() {
    need java "install Java 17 (Debian: apt-get install openjdk-17-jre-headless)"
    fetch_jars
}

start() {
    prepare
    at=$(folder "$1")
    if [ ! -f "$at/place" ]; then
        ports=$(free_ports 2)
        controller=${ports#* }
        echo "${BRINE_BROKER_PORT:-${ports% *}} $controller 1 1@127.0.0.1:$controller 1" \
            "$(new_cluster_id) ${BRINE_BROKER_HEAP:-1g}" >"$at/place"
    fi
    launch "$at"
    await "$at"
}

cluster() {
    prepare
    at=$(folder "$1")
    [ ! -e "$at/1" ] || die "there is a cluster in $at already: start its brokers one by one"
    id=$(new_cluster_id)
    # shellcheck disable=SC2046 # six words
    set -- $(free_ports 6)
    quorum="1@127.0.0.1:$4,2@127.0.0.1:$5,3@127.0.0.1:$6"
    for number in 1 2 3; do
        mkdir "$at/$number"
        echo "$1 $4 $number $quorum 3 $id ${BRINE_BROKER_HEAP:-320m}" >"$at/$number/place"
        shift
        launch "$at/$number"
    done
    first=$(await "$at/1")
    second=$(await "$at/2")
    third=$(await "$at/3")
    echo "$first,$second,$third"
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

[ $# -eq 2 ] || die "usage: broker.sh start|stop|cluster DIR"
case $1 in
    start) start "$2" ;;
    stop) stop "$2" ;;
    cluster) cluster "$2" ;;
    *) die "unknown command $1; there are start, stop and cluster" ;;
esac
