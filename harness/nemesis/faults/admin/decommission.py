"""decommission: a broker is emptied, leaves, and an empty one with its id takes its place.

In force: every replica that it has of any topic is reassigned to a broker without one (where all
have one, it stays: internal topics can be replicated everywhere); then the broker is stopped
(SIGTERM). Undone by `recommission`: its disk is emptied, it is started, and what it had is
reassigned to it again.

Proof: ZooKeeper has no replica on it and its process is gone; then, that it is registered anew and
has its replicas back, in the ISR.
"""

from __future__ import annotations

import signal
from typing import cast

from harness.cluster.capabilities import Disks, Ensemble, Restarts
from harness.cluster.nodes import brokers
from harness.cluster.view.state import BLIND
from harness.model.effects import Effects
from harness.nemesis.faults.admin import replica_assignments
from harness.nemesis.faults.admin.elections_and_reassignments import (
    in_words,
    needs_a_spare,
    towards,
)
from harness.nemesis.faults.processes.signals import back, begin, end, processes
from harness.nemesis.verb import BROKERS, Injection, Verb
from harness.waiting import wait_until

ASK_LIMIT_S = 20.0


def _begin(injection: Injection) -> None:
    view = injection.zookeeper

    def everything() -> replica_assignments.Assignment:
        by_topic = (replica_assignments.of_topic(t, view.assignment_of(t)) for t in view.topics())
        return {partition: replicas for each in by_topic for partition, replicas in each.items()}

    now = wait_until(
        everything, timeout_s=ASK_LIMIT_S, what="ZooKeeper to list all topics", ignoring=BLIND
    )
    names = [node.name for node in brokers(injection.cluster.nodes)]
    wanted = replica_assignments.without(now, injection.node.name, names)
    injection.memo.update(wanted=wanted, original={p: now[p] for p in wanted}, pid=None)


def _gone(injection: Injection) -> str | None:
    """Empty it, then stop it."""
    memo, node = injection.memo, injection.node
    if memo["pid"] is None:
        if towards(injection, memo["wanted"]):
            memo["pid"] = end(injection, node, signal.SIGTERM)
        return None
    if processes(injection).state(node).pid is not None:
        return None
    return f"{node.name} is empty ({in_words(memo['wanted'])}), its process {memo['pid']} is gone"


def _replace(injection: Injection) -> None:
    """An empty broker in its place, if it ever left."""
    control, node, pid = processes(injection), injection.node, injection.memo.get("pid")
    if pid is None:
        return
    if control.state(node).pid == pid:
        control.signal(node, signal.SIGKILL)
        wait_until(
            lambda: control.state(node).pid is None, timeout_s=10, what=f"{node.name} to end"
        )
    cast(Disks, injection.cluster).wipe(node)
    begin(injection, node)


def _has_all_back(injection: Injection) -> str | None:
    sentence, original = back(injection, injection.node), injection.memo.get("original", {})
    if sentence is None or not towards(injection, original):
        return None
    return f"{sentence}; back to {in_words(original)}"


DECOMMISSION = Verb(
    name="decommission",
    undo="recommission",
    done="decommissioned and replaced",
    # Its replicas are elsewhere before its disk is emptied: nothing is taken.
    effects=Effects(leadership="anywhere", ends_processes=True),
    needs=(Restarts, Disks, Ensemble),
    holds="process",
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_begin,
    bit=_gone,
    heal=_replace,
    healed=_has_all_back,
    impossible=needs_a_spare,
    patience=3,
)
