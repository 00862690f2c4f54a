"""kill, stop, pause: what happens to a node's process.

    kill    SIGKILL; no goodbye, so its ZooKeeper session must expire before it is replaced
    stop    SIGTERM; a broker hands its leaderships over first (controlled shutdown)
    pause   SIGSTOP; it keeps its connections and answers nothing

kill and stop are undone by `start`, pause by `resume`. A broker that starts inside its old
ZooKeeper session exits with NodeExists (its ephemeral znode still lives): it is started again
until it stays.
"""

from __future__ import annotations

import signal
from typing import cast

from harness.cluster import ClusterError, Processes
from harness.cluster.view import BLIND, four_letter_word
from harness.nemesis.faults.verb import Injection, Verb

STILL_REGISTERED = "NodeExists"


def _signal(injection: Injection, number: signal.Signals) -> None:
    processes = _processes(injection)
    injection.memo["pid"] = processes.state(injection.node).pid
    processes.signal(injection.node, number)


def _kill(injection: Injection) -> None:
    _signal(injection, signal.SIGKILL)


def _stop(injection: Injection) -> None:
    _signal(injection, signal.SIGTERM)


def _pause(injection: Injection) -> None:
    _signal(injection, signal.SIGSTOP)


def _resume(injection: Injection) -> None:
    _processes(injection).signal(injection.node, signal.SIGCONT)


def _start(injection: Injection) -> None:
    _processes(injection).start_node(injection.node)


def _gone(injection: Injection) -> str | None:
    pid = injection.memo["pid"]
    now = _processes(injection).state(injection.node).pid
    return None if now == pid else f"process {pid} of {injection.node.name} is gone"


def _stands_still(injection: Injection) -> str | None:
    state = _processes(injection).state(injection.node)
    if state.pid is None:
        raise ClusterError(f"{injection.node.name} died while it was paused")
    return f"process {state.pid} of {injection.node.name} is stopped" if state.stopped else None


def _back(injection: Injection) -> str | None:
    """Up again: a broker is registered in ZooKeeper, a ZooKeeper member serves."""
    processes, node = _processes(injection), injection.node
    last = processes.exited_early(node)
    if last is not None:
        if STILL_REGISTERED not in last:
            raise ClusterError(f"{node.name} did not come back; its last log lines:\n{last}")
        injection.memo["restarts"] = injection.memo.get("restarts", 0) + 1
        processes.start_node(node)
        return None
    pid = processes.state(node).pid
    return f"process {pid} of {node.name} serves" if _serves(injection) else None


def _runs_on(injection: Injection) -> str | None:
    """Not stopped, and still (or again) a member of the cluster."""
    state = _processes(injection).state(injection.node)
    if state.pid is None:
        return _back(injection)  # it ended itself on waking, as after a lost session
    if state.stopped or not _serves(injection):
        return None
    return f"process {state.pid} of {injection.node.name} runs and serves"


def _serves(injection: Injection) -> bool:
    node = injection.node
    if node.role == "zookeeper":
        return "Mode:" in four_letter_word(node, "srvr")
    try:
        return node.name in injection.view.live_brokers()
    except BLIND:
        return False


def _processes(injection: Injection) -> Processes:
    return cast(Processes, injection.cluster)


KILL = Verb(
    name="kill", undo="start", needs=(Processes,), holds="process",
    inject=_kill, bit=_gone, heal=_start, healed=_back,
)  # fmt: skip
STOP = Verb(
    name="stop", undo="start", needs=(Processes,), holds="process",
    inject=_stop, bit=_gone, heal=_start, healed=_back,
)  # fmt: skip
PAUSE = Verb(
    name="pause", undo="resume", needs=(Processes,), holds="process",
    inject=_pause, bit=_stands_still, heal=_resume, healed=_runs_on,
)  # fmt: skip
