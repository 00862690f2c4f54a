"""kill, stop, pause: what happens to a node's process.

    kill    SIGKILL; its ZooKeeper session must expire before it is replaced
    stop    SIGTERM; a broker hands its leaderships over first (controlled shutdown)
    pause   SIGSTOP; it keeps its connections and answers nothing

kill and stop are undone by `start`, pause by `resume`. A broker that starts inside its old
ZooKeeper session exits with NodeExists (its ephemeral znode still lives): it is started again
until it stays, as after any other of TRANSIENT_EXITS.

A worker can be hit as well. On SIGTERM it awaits what is outstanding, then ends. A new process with
a name of its own replaces it; the fault is healed when that one acks or reads.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from harness.cluster.capabilities import Foreign, Processes, Restarts
from harness.cluster.nodes import TRANSIENT_EXITS, ClusterError, Node
from harness.cluster.startup import keeper_serves
from harness.cluster.view.state import BLIND, QuorumView
from harness.model.effects import Effects
from harness.nemesis.verb import PROCESSES, Injection, Verb
from harness.waiting import wait_until


def end(injection: Injection, node: Node, number: signal.Signals) -> int | None:
    """Send a signal that ends the node's process; returns that process's pid."""
    remember(injection, node)
    control = processes(injection)
    pid = control.state(node).pid
    control.signal(node, number)
    return pid


def begin(injection: Injection, node: Node) -> None:
    """Start a node that has no process; only this function does. Before that, keep what it has on
    disk: it will truncate."""
    remember(injection, node)
    injection.keep((node,))
    restarts(injection).start_node(node)


def remember(injection: Injection, node: Node) -> None:
    """Note a broker's registration, which outlives its process until the session ends: the next
    process is up when it has another."""
    if node.role == "broker":
        olds = injection.memo.setdefault("registrations", {}).setdefault(node.name, set())
        with suppress(*BLIND):
            olds.add(injection.view.registration(node))


def _kill(injection: Injection) -> None:
    injection.memo["pid"] = end(injection, injection.node, signal.SIGKILL)


def _stop(injection: Injection) -> None:
    injection.memo["pid"] = end(injection, injection.node, signal.SIGTERM)


def _pause(injection: Injection) -> None:
    processes(injection).signal(injection.node, signal.SIGSTOP)


def _resume(injection: Injection) -> None:
    processes(injection).signal(injection.node, signal.SIGCONT)
    if injection.clients and injection.node.role == "client":
        injection.memo["did"] = injection.clients.progress(injection.node)


def _start(injection: Injection) -> None:
    start(injection, injection.node, injection.memo.get("pid"))


def start(injection: Injection, node: Node, ended: int | None) -> None:
    """Start a node that is down; `ended` is the pid of the process that got the signal, which may
    not have ended yet."""
    control = processes(injection)
    if ended is not None and control.state(node).pid == ended:
        control.signal(node, signal.SIGKILL)
        wait_until(
            lambda: control.state(node).pid is None, timeout_s=10, what=f"{node.name} to end"
        )
    if control.state(node).pid is None:
        begin(injection, node)


def _gone(injection: Injection) -> str | None:
    pid = injection.memo["pid"]
    now = processes(injection).state(injection.node).pid
    return None if now == pid else f"process {pid} of {injection.node.name} is gone"


def _stands_still(injection: Injection) -> str | None:
    state = processes(injection).state(injection.node)
    if state.pid is None:
        raise ClusterError(f"{injection.node.name} ended while it was paused")
    return f"process {state.pid} of {injection.node.name} is stopped" if state.stopped else None


def back(
    injection: Injection, node: Node, transient: Sequence[str] = TRANSIENT_EXITS
) -> str | None:
    """The evidence, once a broker is registered, a ZooKeeper member serves, or a worker works.

    A node that ended itself for a reason in `transient` is started again. Else raises ClusterError.
    """
    control = processes(injection)
    last = control.exited_early(node)
    if last is not None:
        if not any(reason in last for reason in transient):
            raise ClusterError(f"{node.name} did not come back; its last log lines:\n{last}")
        injection.memo["restarts"] = injection.memo.get("restarts", 0) + 1
        begin(injection, node)
        return None
    if injection.clients and node.role == "client":
        return injection.clients.works(node, since=0)
    pid = control.state(node).pid
    return f"process {pid} of {node.name} serves" if takes_part(injection, node) else None


def _back(injection: Injection) -> str | None:
    return back(injection, injection.node)


def _runs_on(injection: Injection) -> str | None:
    """The evidence, once it is not stopped, and still (or again) a member of the cluster."""
    node = injection.node
    state = processes(injection).state(node)
    if state.pid is None:
        return _back(injection)  # it ended itself when it was resumed, as after a lost session
    if state.stopped:
        return None
    if injection.clients and node.role == "client":
        return injection.clients.works(node, since=injection.memo["did"])
    return (
        f"process {state.pid} of {node.name} runs and serves"
        if takes_part(injection, node)
        else None
    )


def takes_part(injection: Injection, node: Node) -> bool:
    """Whether the node is a member again: a broker by another registration than those noted."""
    if node.role == "controller" and isinstance(injection.cluster, Foreign):
        return cast(QuorumView, injection.view).follows(node)
    if node.role in ("zookeeper", "controller"):
        return keeper_serves(node)
    olds = injection.memo.get("registrations", {}).get(node.name, set())
    try:
        return injection.view.registration(node) not in {None, *olds}
    except BLIND:
        return False


def processes(injection: Injection) -> Processes:
    """The workers or the cluster: what can signal and start the nodes that are hit."""
    if injection.node.role == "client":
        if injection.clients is None:
            raise ClusterError(
                f"{injection.node.name} is a worker, and this workload has none that can be hit"
            )
        return injection.clients
    return cast(Processes, injection.cluster)


# A leader is replaced; where a follower goes, the leader stays.
ENDED = Effects(leadership="where-it-hits", ends_processes=True)
RESTARTED = ENDED.model_copy(update={"starts_again": True})


def restarts(injection: Injection) -> Restarts:
    """The same, for verbs that need `Restarts`."""
    return cast(Restarts, processes(injection))


KILL = Verb(
    name="kill",
    undo="start",
    done="killed",
    effects=ENDED,
    needs=(Restarts,),
    holds="process",
    hits=PROCESSES,
    inject=_kill,
    proof_in_force=_gone,
    heal=_start,
    healed=_back,
)
STOP = Verb(
    name="stop",
    undo="start",
    done="shut down",
    effects=ENDED,
    needs=(Restarts,),
    holds="process",
    hits=PROCESSES,
    inject=_stop,
    proof_in_force=_gone,
    heal=_start,
    healed=_back,
)
PAUSE = Verb(
    name="pause",
    undo="resume",
    done="paused",
    effects=Effects(leadership="where-it-hits", halts_processes=True),
    needs=(Processes,),
    holds="process",
    hits=PROCESSES,
    inject=_pause,
    proof_in_force=_stands_still,
    heal=_resume,
    healed=_runs_on,
)
