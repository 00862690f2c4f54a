"""reassign, raise-replication: replicas moved by an operator.

    reassign            every replica of the topic goes to the next broker, and back
    raise-replication   every partition of the topic gets one more replica, and loses it again

Kafka is asked (harness.cluster.admin.requests) again and again until it has done it.

Proof: the view has the wanted replicas, and Kafka is moving none of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from harness.cluster.capabilities import Operated
from harness.cluster.nodes import ClusterError, NotInTime, brokers
from harness.cluster.view.state import BLIND
from harness.model.effects import Effects
from harness.nemesis.faults.admin import replica_assignments
from harness.nemesis.faults.admin.replica_assignments import Assignment
from harness.nemesis.options import Options
from harness.nemesis.target import Setting, Target
from harness.nemesis.verb import BROKERS, Injection, Verb

ASK_EVERY_S = 2.0


# Steps that are repeated until they are done


def towards(injection: Injection, wanted: Assignment) -> bool:
    """Ask for an assignment, at most every other second; whether it is there and no replica is
    being moved. Raises one of BLIND, NotInTime."""
    now = {topic: injection.view.assignment_of(topic) for topic, _ in wanted}
    differ = {p: replicas for p, replicas in wanted.items() if now[p[0]][p[1]] != replicas}
    if not differ:
        return wanted.keys().isdisjoint(injection.requests.moving())
    ids = {node.name: node.id for node in brokers(injection.cluster.nodes)}
    moves = {p: [ids[name] for name in replicas] for p, replicas in differ.items()}
    now_and_then(injection, "move", lambda: injection.requests.reassign(moves))
    return False


def now_and_then(injection: Injection, what: str, ask: Callable[[], None]) -> None:
    """Ask, unless the same was asked less than two seconds ago."""
    due_s = f"{what}_s"
    if time.monotonic() >= injection.memo.get(due_s, 0.0):
        injection.memo[due_s] = time.monotonic() + ASK_EVERY_S
        ask()


def in_words(wanted: Assignment) -> str:
    """An assignment in words."""
    return ", ".join(
        f"{topic}-{number} on {'+'.join(replicas)}"
        for (topic, number), replicas in sorted(wanted.items())
    )


def there_now(injection: Injection) -> Assignment:
    """The topic's assignment as it was when the fault was begun."""
    view = injection.roles.view
    if not view.assignment:
        raise ClusterError(f"nobody has told the replicas of topic {injection.view.topic} yet")
    return replica_assignments.of_topic(injection.view.topic, view.assignment)


def _names(injection: Injection) -> list[str]:
    return [node.name for node in brokers(injection.cluster.nodes)]


# The verbs


def _reassign(injection: Injection) -> None:
    now = there_now(injection)
    injection.memo.update(original=now, wanted=replica_assignments.shifted(now, _names(injection)))


def _raise(injection: Injection) -> None:
    now = there_now(injection)
    injection.memo.update(original=now, wanted=replica_assignments.raised(now, _names(injection)))


def _there(injection: Injection) -> str | None:
    """The evidence, once the controller has ended the reassignment."""
    wanted = injection.memo["wanted"]
    return f"now {in_words(wanted)}" if towards(injection, wanted) else None


def begin_return(injection: Injection) -> None:
    """Ask for the assignment that was there before."""
    injection.memo.pop("move_s", None)
    with suppress(*BLIND, NotInTime):
        towards(injection, injection.memo.get("original", {}))


def _returned(injection: Injection) -> str | None:
    original = injection.memo.get("original", {})
    return f"back to {in_words(original)}" if towards(injection, original) else None


# What is impossible


def needs_a_spare(setting: Setting, _: Target, __: Options) -> str | None:
    """Why a verb cannot put a replica on a broker that has none."""
    if setting.brokers > setting.replicas:
        return None
    return (
        "every broker has a replica already: raise cluster.brokers, or lower "
        "topic.replication_factor"
    )


# Whichever broker is hit, leadership may move away from it, or to it.
ANYWHERE = Effects(leadership="anywhere")
REASSIGN = Verb(
    name="reassign",
    undo="reassign-back",
    done="affected by a partition reassignment",
    effects=ANYWHERE,
    needs=(Operated,),
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_reassign,
    proof_in_force=_there,
    heal=begin_return,
    healed=_returned,
    impossible=needs_a_spare,
)
RAISE_REPLICATION = Verb(
    name="raise-replication",
    undo="lower-replication",
    done="affected by a raised replication factor",
    effects=Effects(),
    needs=(Operated,),
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_raise,
    proof_in_force=_there,
    heal=begin_return,
    healed=_returned,
    impossible=needs_a_spare,
)
