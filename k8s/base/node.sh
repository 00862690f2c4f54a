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
# KAFKA_LIBS and KAFKA_ARCHIVE say where the image has its jars and its class archive; HOST_IP is
# the address of the machine, which workers outside the cluster connect to.
role=$1
: "${ORDERS:=/run/kafka-harness}" "${SETTINGS:=/settings}" "${DATA:=/data}" "${START_S:=60}"
: "${KAFKA_LIBS:=/opt/kafka/libs}" "${KAFKA_ARCHIVE:=/opt/kafka/archives/$role.jsa}"
child=
trap '[ -z "$child" ] || { kill -TERM "$child"; wait "$child"; }; exit 0' TERM

begin() {
    properties=/tmp/$POD_NAME.properties
    sed "s/HOST_IP/$HOST_IP/" "$SETTINGS/$POD_NAME.properties" >"$properties"
    mkdir -p "$DATA/$role"
    main=kafka.Kafka
    if [ "$role" = zookeeper ]; then
        main=org.apache.zookeeper.server.quorum.QuorumPeerMain
        echo "${POD_NAME##*-}" >"$DATA/$role/myid"
    fi
    jars=$(printf '%s:' "$KAFKA_LIBS"/*.jar) # sorted: an archive fits one order only
    [ ! -r "$KAFKA_ARCHIVE" ] || set -- "-XX:SharedArchiveFile=$KAFKA_ARCHIVE"
    mv "$ORDERS/started" "$ORDERS/taken" 2>/dev/null || rm -f "$ORDERS/taken"
    rm -f "$ORDERS/ended"
    # Addresses belong to pods, which come and go: names are asked for again after a second.
    # shellcheck disable=SC2086  # options are words
    java $JVM_OPTIONS -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto "$@" \
        -Djava.awt.headless=true -Dsun.net.inetaddr.ttl=1 -Dsun.net.inetaddr.negative.ttl=0 \
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
