"""decommission: a broker is emptied, leaves, and an empty one with its id takes its place.

In force: every replica that it has of any topic is reassigned to a broker without one (where all
have one, it stays: internal topics can be replicated everywhere); then the broker is stopped
(SIGTERM). Undone by `recommission`: its disk is emptied, it is started, and what it had is
reassigned to it again.

Proof: the view has no replica on it and its process is gone; then, that it is registered anew and
has its replicas back, in the ISR.
"""

from __future__ import annotations

import signal
from typing import cast

from harness.cluster.capabilities import Disks, Operated, Restarts
from harness.cluster.nodes import brokers
from harness.model.effects import Effects
from harness.nemesis.faults.admin import replica_assignments
from harness.nemesis.faults.admin.reassignments import in_words, needs_a_spare, towards
from harness.nemesis.faults.processes.signals import back, begin, end, processes
from harness.nemesis.verb import BROKERS, Injection, Verb
from harness.waiting import wait_until


def _begin(injection: Injection) -> None:
    injection.memo["pid"] = None


def _wanted(injection: Injection) -> replica_assignments.Assignment:
    """Where its replicas are to go, decided once. Raises one of BLIND."""
    memo = injection.memo
    if "wanted" not in memo:
        view, now = injection.view, dict[replica_assignments.Partition, tuple[str, ...]]()
        for topic in injection.requests.metadata().topics:
            now |= replica_assignments.of_topic(topic, view.assignment_of(topic))
        names = [node.name for node in brokers(injection.cluster.nodes)]
        memo["wanted"] = replica_assignments.without(now, injection.node.name, names)
        memo["original"] = {partition: now[partition] for partition in memo["wanted"]}
    return cast(replica_assignments.Assignment, memo["wanted"])


def _gone(injection: Injection) -> str | None:
    """Move its replicas away, then stop it; the evidence once it is gone."""
    memo, node = injection.memo, injection.node
    if memo["pid"] is None:
        if towards(injection, _wanted(injection)):
            memo["pid"] = end(injection, node, signal.SIGTERM)
        return None
    if processes(injection).state(node).pid is not None:
        return None
    return f"{node.name} is empty ({in_words(memo['wanted'])}), its process {memo['pid']} is gone"


def _replace(injection: Injection) -> None:
    """Start an empty broker in its place, if it has left."""
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
    needs=(Restarts, Disks, Operated),
    holds="process",
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_begin,
    proof_in_force=_gone,
    heal=_replace,
    healed=_has_all_back,
    impossible=needs_a_spare,
    patience=3,
)
