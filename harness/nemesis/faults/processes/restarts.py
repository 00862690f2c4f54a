"""roll, crash-loop: nodes are restarted one by one, or one node again and again.

    roll         restarts the target's nodes one after the other, each only when the one before is
                 back, every broker is registered and every ISR is full; `how = "clean"` (SIGTERM;
                 default) or "hard" (SIGKILL)
    crash-loop   kills a node and starts it at once, again and again for the fault's time, a new
                 kill `every_s` seconds (default 2) after each start. A broker that is started
                 inside its old ZooKeeper session ends by itself: that too is a crash

roll is in force when the last broker is back: then it is over, too. Both are undone by `start`: it
starts every node that is down.
"""

from __future__ import annotations

import signal
import time
from typing import Annotated, Literal

from pydantic import Field

from harness.cluster.capabilities import Restarts
from harness.cluster.nodes import Node
from harness.cluster.view.state import BLIND
from harness.nemesis.faults.processes.signals import (
    RESTARTED,
    back,
    begin,
    end,
    processes,
    restarts,
    start,
)
from harness.nemesis.options import Options
from harness.nemesis.verb import KAFKAS, Injection, Verb

HOW = {"clean": signal.SIGTERM, "hard": signal.SIGKILL}


# roll


class RollOptions(Options):
    """How each node is ended."""

    how: Literal["clean", "hard"] = Field("clean", description="by SIGTERM, or by SIGKILL")


def _begin_roll(injection: Injection) -> None:
    injection.memo.update(left=list(injection.nodes), now=None, pids={}, rolled=[])


def _rolled(injection: Injection) -> str | None:
    """Do the next step of the roll; the evidence once all nodes are back."""
    memo = injection.memo
    node: Node | None = memo["now"]
    if node is None and not _whole(injection):
        return None
    if node is None and not memo["left"]:
        return f"restarted one by one, every ISR full before the next: {', '.join(memo['rolled'])}"
    if node is None:
        _take_down(injection, memo["left"].pop(0))
    elif not memo["started"]:
        _start_when_gone(injection, node)
    elif back(injection, node) is not None:
        pid = processes(injection).state(node).pid
        memo["rolled"].append(f"{node.name} (process {memo['pids'][node.name]}, now {pid})")
        memo["now"] = None
    return None


def _take_down(injection: Injection, node: Node) -> None:
    number = HOW[RollOptions.of(injection.options).how]
    injection.memo.update(now=node, started=False)
    injection.memo["pids"][node.name] = end(injection, node, number)


def _start_when_gone(injection: Injection, node: Node) -> None:
    if processes(injection).state(node).pid is None:
        begin(injection, node)
        injection.memo["started"] = True


def _whole(injection: Injection) -> bool:
    """Whether every broker is registered and every ISR is full."""
    try:
        live = injection.view.live_brokers()
        kafkas = [node for node in injection.cluster.nodes if node.role == "broker"]
        return len(live) == len(kafkas) and injection.view.look().whole
    except BLIND:
        return False


def _start_what_is_down(injection: Injection) -> None:
    for node in injection.nodes:
        start(injection, node, injection.memo["pids"].get(node.name))


def _all_back(injection: Injection) -> str | None:
    sentences = [back(injection, node) for node in injection.nodes]
    return None if None in sentences else "; ".join(map(str, sentences))


# crash-loop


class CrashLoopOptions(Options):
    """How fast one crash follows another."""

    every_s: Annotated[
        float, Field(gt=0, description="the seconds from a start to the next kill, more than 0")
    ] = 2.0


def _begin_loop(injection: Injection) -> None:
    injection.memo.update(kills=0, exits=0, due_s=0.0, pids={})
    _crash(injection)


def _crash(injection: Injection) -> None:
    """Start it if it is gone, kill it if it is due."""
    control, node, memo = restarts(injection), injection.node, injection.memo
    pid = control.state(node).pid
    if pid is None:
        _start_again(injection, node)
        memo["due_s"] = time.monotonic() + CrashLoopOptions.of(injection.options).every_s
    elif time.monotonic() >= memo["due_s"] and pid != memo["pids"].get(node.name):
        memo["pids"][node.name] = end(injection, node, signal.SIGKILL)
        memo["kills"] += 1


def _start_again(injection: Injection, node: Node) -> None:
    memo = injection.memo
    if memo["pids"].pop(node.name, None) is None:
        memo["exits"] += 1  # by itself: its old session still lives
    begin(injection, node)


def _crashed_twice(injection: Injection) -> str | None:
    _crash(injection)
    kills = injection.memo["kills"]
    return f"{injection.node.name} was killed {kills} times so far" if kills > 1 else None


def _loop_over(injection: Injection) -> str | None:
    sentence = back(injection, injection.node)
    if sentence is None:
        return None
    memo = injection.memo
    again = memo["exits"] + memo.get("restarts", 0)
    ended = f", and ended by itself {again} times while its old session was alive" if again else ""
    return f"{injection.node.name} was killed {memo['kills']} times in all{ended}; {sentence}"


ROLL = Verb(
    name="roll",
    undo="start",
    done="restarted one by one",
    effects=RESTARTED,
    options=RollOptions,
    needs=(Restarts,),
    holds="process",
    together=True,
    hits=KAFKAS,
    inject=_begin_roll,
    proof_in_force=_rolled,
    heal=_start_what_is_down,
    healed=_all_back,
    patience=10,
)
CRASH_LOOP = Verb(
    name="crash-loop",
    undo="start",
    done="put into a crash loop",
    effects=RESTARTED,
    options=CrashLoopOptions,
    needs=(Restarts,),
    holds="process",
    inject=_begin_loop,
    proof_in_force=_crashed_twice,
    during=_crash,
    heal=_start_what_is_down,
    healed=_loop_over,
)
