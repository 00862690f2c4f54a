# The main process of a node's container: starts the JVM, and leaves it down while the harness wants
# it down. POSIX sh. The sidecar sees the same processes, and the same folder of orders:
#
#   held       While it exists no JVM is started, and one that ends does not end the container.
#   started    The harness has ordered a start, which the next JVM to begin takes: `taken`. So an
#              order that comes before the end of the last JVM was seen here is not lost. A JVM
#              that took one and ends within START_S is held, so that the harness sees it by
#              `ended` and orders the next start.
#   ended      The exit code of the last JVM; none while one runs.
#
# A JVM that ends without such an order ends the container with its code: the kubelet restarts the
# container and counts that, by which the run sees a restart that it did not order.
#
# One of KRaft's nodes, whose settings have process.roles, formats an empty disk before its first JVM,
# with the levels of features that the settings' file `features` has, one a line.
#
# KAFKA_LIBS and KAFKA_ARCHIVE say where the image has its jars and its class archive; HOST_IP is
# the address of the machine, which workers outside the cluster connect to.
role=$1 # zookeeper, kafka or controller: the name of the node's data folder, too
: "${ORDERS:=/run/kafka-harness}" "${SETTINGS:=/settings}" "${DATA:=/data}" "${START_S:=60}"
: "${KAFKA_LIBS:=/opt/kafka/libs}" "${CLUSTER_ID:=a2Fma2EtaGFybmVzcy1ydQ}"
FLAGS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto -Djava.awt.headless=true"
child=
trap '[ -z "$child" ] || { kill -TERM "$child"; wait "$child"; }; exit 0' TERM

format() { # options of the virtual machine
    features=
    while read -r feature; do features="$features --feature $feature"; done <"$SETTINGS/features"
    # shellcheck disable=SC2086  # flags and features are words
    java -Xmx128m $FLAGS "$@" "-Dlog4j.configuration=file:$SETTINGS/log4j.properties" \
        -cp "${jars%:}" kafka.tools.StorageTool format -t "$CLUSTER_ID" -c "$properties" $features
}

begin() {
    properties=/tmp/$POD_NAME.properties
    sed "s/HOST_IP/$HOST_IP/" "$SETTINGS/$POD_NAME.properties" >"$properties"
    mkdir -p "$DATA/$role"
    jars=$(printf '%s:' "$KAFKA_LIBS"/*.jar) # sorted: an archive fits one order only
    main=kafka.Kafka archive=$role kraft=
    if grep -q '^process\.roles=' "$properties"; then
        archive=kraft kraft=yes
    elif [ "$role" = zookeeper ]; then
        main=org.apache.zookeeper.server.quorum.QuorumPeerMain
        echo "${POD_NAME##*-}" >"$DATA/$role/myid"
    fi
    archive=${KAFKA_ARCHIVE:-/opt/kafka/archives/$archive.jsa}
    [ ! -r "$archive" ] || set -- "-XX:SharedArchiveFile=$archive"
    [ -z "$kraft" ] || [ -e "$DATA/$role/meta.properties" ] || format "$@" || exit
    mv "$ORDERS/started" "$ORDERS/taken" 2>/dev/null || rm -f "$ORDERS/taken"
    rm -f "$ORDERS/ended"
    # Addresses belong to pods, which come and go: names are asked for again after a second.
    # shellcheck disable=SC2086  # options are words
    java $JVM_OPTIONS $FLAGS "$@" -Dsun.net.inetaddr.ttl=1 -Dsun.net.inetaddr.negative.ttl=0 \
        "-Dlog4j.configuration=file:$SETTINGS/log4j.properties" -cp "${jars%:}" "$main" \
        "$properties" &
    child=$!
}

while :; do
    while [ -e "$ORDERS/held" ]; do sleep 0.1; done
    since=$(date +%s)
    begin
    wait "$child"
    code=$?
    child=
    echo "$code" >"$ORDERS/ended.new" && mv "$ORDERS/ended.new" "$ORDERS/ended"
    [ ! -e "$ORDERS/held" ] && [ ! -e "$ORDERS/started" ] || continue
    [ -e "$ORDERS/taken" ] && [ $(($(date +%s) - since)) -lt "$START_S" ] || exit "$code"
    mv "$ORDERS/taken" "$ORDERS/held"
done
