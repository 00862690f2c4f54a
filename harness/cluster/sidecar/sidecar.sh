# What the harness has done beside a node whose cluster outlives it: POSIX sh, run as root in the
# container that shares the node's network and process namespaces (docker: net-X,
# Kubernetes: the container `holder`; in pods that are not ours a container for each of the two).
# Shipped with each command: `sh -c SCRIPT sidecar VERB …`.
#
#   watch LIMIT_S   Prints `ready`. Reads a line every now and then, as long as the harness lives.
#                   When they end, or none comes for LIMIT_S, everything of ours is undone here and
#                   said in the log; if the harness is still there it hears `acted`. The line `end`
#                   ends the watch with nothing undone. A child keeps the time: it outlives this
#                   command, which may be killed with its connection.
#   signal NAME     Sends a signal to the node's JVM. What is stopped is listed before.
#   beside ARGV     Runs a program of ours until it ends or this command's input does, and lists it.
#   undo            Takes away our chains and queues, resumes what is listed, ends our programs, and
#                   prints a line for each. Refused (exit 3) while a harness watches.
#   stay LIMIT_S    Of a container that is there for the harness only, its main process: until
#                   `leave`, or for LIMIT_S seconds; undoes what is left then.
#   leave           Lets `stay` end.
#   node            Prints the pid and the state (proc(5)) of the node's JVM; nothing without one.
#
# Ours are: chains named HARNESS-*, queues on eth0 with a handle from 1000: on, the processes whose
# pids are in the files `stopped` and `beside`. Nothing else is touched.
HERE=${KAFKA_HARNESS_FOLDER:-/tmp/kafka-harness}
mkdir -p "$HERE"

say() {
    echo "$*"
    echo "kafka-harness: $*" >>"$HERE/log"
    # In the container's log; its main process is not 1 in a process namespace of others.
    main=$(cat "$HERE/main" 2>/dev/null) || main=1
    { echo "kafka-harness: $*" >"/proc/$main/fd/1"; } 2>/dev/null || true
}

# A kernel may have only one of the two kinds of iptables, and the image's default be the other.
choose_iptables() {
    iptables -w -n -L >/dev/null 2>&1 && return
    for kind in iptables-nft iptables-legacy; do
        "$kind" -w -n -L >/dev/null 2>&1 || continue
        ln -sf "$(command -v "$kind")" /usr/local/sbin/iptables
        return
    done
    echo "no iptables works in this container: it needs the capability NET_ADMIN" >&2
    exit 4
}

# The JVMs in this process namespace that are of another container than this command.
jvms() {
    mine=$(cat /proc/self/cgroup)
    for folder in /proc/[0-9]*; do
        [ "$(cat "$folder/comm" 2>/dev/null)" = java ] || continue
        theirs=$(cat "$folder/cgroup" 2>/dev/null) || continue
        [ "$theirs" = "$mine" ] || echo "${folder#/proc/}"
    done
}

state_of() { # the letter after the name, which is in parentheses
    sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null
}

undo() {
    for table in filter mangle; do
        rules=$(iptables -w -t "$table" -S 2>/dev/null) || continue
        echo "$rules" | sed -n 's/^-A \([A-Z]*\) -j \(HARNESS-[^ ]*\)$/\1 \2/p' |
            while read -r hook chain; do
                iptables -w -t "$table" -D "$hook" -j "$chain"
            done
        echo "$rules" | sed -n 's/^-N \(HARNESS-[^ ]*\)$/\1/p' |
            while read -r chain; do
                iptables -w -t "$table" -F "$chain" && iptables -w -t "$table" -X "$chain" &&
                    say "removed chain $chain of table $table"
            done
    done
    tc qdisc show dev eth0 2>/dev/null |
        sed -n 's/^qdisc [a-z]* \(1[0-9a-f]\{3\}:\) root .*/\1/p' |
        while read -r handle; do
            tc qdisc del dev eth0 root handle "$handle" && say "removed queue $handle of eth0"
        done
    each_of beside TERM "stopped harness program"
    each_of stopped CONT "resumed process"
}

each_of() { # a file of pids, a signal, what it means
    [ -e "$HERE/$1" ] || return 0
    while read -r pid; do
        kill -s "$2" "$pid" 2>/dev/null && say "$3 $pid"
    done <"$HERE/$1"
    rm -f "$HERE/$1"
}

# No clock is asked, so that none can mislead: a beat is news when it is not the last one.
keep_time() {
    limit=$1 last= silent=0
    while [ -e "$HERE/watched" ]; do
        sleep 1
        [ -e "$HERE/watched" ] || return
        if ! beat=$(cat "$HERE/beat" 2>/dev/null); then # the line is dead, or it has ended just now
            [ -e "$HERE/watched" ] || return
            silent=$limit
        fi
        if [ "$beat" = "$last" ]; then silent=$((silent + 1)); fi
        if [ -n "$beat" ] && [ "$beat" != "$last" ]; then silent=0; fi
        last=$beat
        [ "$silent" -lt "$limit" ] && continue
        undone=$(undo)
        say "no keepalive from the harness: ${undone:-nothing to undo}" >/dev/null
        echo "${undone:-nothing}" >"$HERE/acted"
        rm -f "$HERE/watched" "$HERE/beat"
    done
}

watched() { # whether a harness has been heard of and not been missed yet
    [ -e "$HERE/watched" ] && [ -e "$HERE/beat" ]
}

watch() {
    if watched; then
        echo "another harness is connected" >&2
        exit 3
    fi
    choose_iptables
    rm -f "$HERE/acted" "$HERE/stopped" "$HERE/beside"
    beats=0
    echo "$beats" >"$HERE/beat"
    : >"$HERE/watched"
    keep_time "$1" </dev/null >/dev/null 2>&1 &
    echo ready
    while read -r line; do
        if [ "$line" = end ]; then
            rm -f "$HERE/watched" # first: without it the time is kept no more
            rm -f "$HERE/beat"
            exit 0
        fi
        beats=$((beats + 1))
        echo "$beats" >"$HERE/beat.new" && mv "$HERE/beat.new" "$HERE/beat"
        [ ! -e "$HERE/acted" ] || echo "acted $(tr '\n' ' ' <"$HERE/acted")"
    done
    rm -f "$HERE/beat" # the line is dead: its watcher need not wait
}

stay() {
    left=$1
    echo "$$" >"$HERE/main"
    trap 'exit 143' TERM # its pod is deleted, and takes along what is in force there
    while [ "$left" -gt 0 ] && [ ! -e "$HERE/leave" ]; do
        sleep 1
        left=$((left - 1))
    done
    choose_iptables
    undo | cat >/dev/null # its own output is the container's log
}

beside() {
    exec 3<&0 # a child in the background has no input of its own
    "$@" </dev/null 3<&- &
    program=$!
    echo "$program" >>"$HERE/beside"
    (
        while read -r _; do :; done <&3
        kill -s TERM "$program" 2>/dev/null
    ) &
    wait "$program"
}

case $1 in
watch) watch "$2" ;;
stay) stay "$2" ;;
leave) : >"$HERE/leave" ;;
beside)
    shift
    beside "$@"
    ;;
signal)
    found=$(jvms)
    [ -n "$found" ] || { echo "there is no JVM" >&2; exit 5; }
    [ "$2" != STOP ] || echo "$found" >>"$HERE/stopped"
    for pid in $found; do kill -s "$2" "$pid"; done
    [ "$2" != CONT ] || rm -f "$HERE/stopped"
    ;;
undo)
    if watched; then
        echo "a harness is still connected: end it, and it heals its faults itself" >&2
        exit 3
    fi
    choose_iptables
    undo
    ;;
node)
    for pid in $(jvms); do
        state=$(state_of "$pid")
        [ -z "$state" ] || echo "$pid $state" # it may have ended meanwhile
    done
    ;;
*)
    echo "sidecar: unknown command $1" >&2
    exit 64
    ;;
esac
