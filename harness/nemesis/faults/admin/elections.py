"""elect, move-leader: leaderships moved by an operator.

    elect               Kafka elects the preferred leader of the partitions that prefer the target.
                        A broker is no target unless it is in the ISR of such a partition and
                        another broker leads it. `how = "unclean"`: for each partition without a
                        leader of which the target has a replica, Kafka elects the first replica
                        that lives, in the ISR or not; a broker without such a replica is no target
    move-leader         the target's leaderships go to a follower in the ISR, chosen by the seed: it
                        is put first among the replicas, and elected. Undone by the old order and
                        another election. A broker that leads no partition with a follower in the
                        ISR is no target

Kafka is asked (harness.cluster.admin.requests) again and again until it has done it.

Proof: the leaders in the view are those wanted.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from pydantic import Field

from harness.cluster.capabilities import Operated
from harness.model.effects import Effects
from harness.model.scenario import FaultPart
from harness.nemesis.faults.admin import replica_assignments
from harness.nemesis.faults.admin.reassignments import (
    ANYWHERE,
    REASSIGN,
    begin_return,
    now_and_then,
    there_now,
    towards,
)
from harness.nemesis.faults.admin.replica_assignments import Assignment, Partition
from harness.nemesis.faults.processes.signals import KILL, STOP
from harness.nemesis.options import Options
from harness.nemesis.target import Roles, Setting, Target
from harness.nemesis.verb import BROKERS, Injection, Trial, Verb

LEADING = {"leader", "leader-and-controller", "leader-not-controller", "last-isr"}
UNCLEAN = {"unclean.leader.election.enable": "true"}


# Steps that are repeated until they are done


def elected(injection: Injection, wanted: dict[int, str]) -> bool:
    """Ask for a preferred election, every other second, until these brokers lead. Raises one of
    BLIND, NotInTime."""
    leaders = {n: state.leader for n, state in enumerate(injection.view.look().partitions)}
    waiting = [number for number, name in wanted.items() if leaders[number] != name]
    if waiting:
        _ask_for_election(injection, waiting, "preferred")
    return not waiting


def _ask_for_election(
    injection: Injection, partitions: list[int], how: Literal["preferred", "unclean"]
) -> None:
    topic = injection.view.topic
    now_and_then(injection, "elect", lambda: injection.requests.elect(topic, partitions, how))


def _all(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


# elect


class ElectOptions(Options):
    """Who may be elected."""

    how: Literal["preferred", "unclean"] = Field(
        "preferred",
        description="the preferred leaders, or, of partitions without a leader, any replica",
    )


def _is_unclean(options: Options) -> bool:
    return ElectOptions.of(options).how == "unclean"


def _elect(injection: Injection) -> None:
    now, hit = there_now(injection), frozenset(node.name for node in injection.nodes)
    injection.memo.update(
        wanted={n: replicas[0] for (_, n), replicas in now.items() if replicas[0] in hit},
        before=[state.leader for state in injection.roles.view.partitions],
        leaderless=_leaderless(injection.roles, hit),
    )


def _leaderless(roles: Roles, hit: frozenset[str]) -> list[int]:
    """The partitions that nobody leads and one of `hit` has a replica of."""
    states = zip(roles.view.partitions, roles.view.assignment, strict=False)
    return [n for n, (state, has) in enumerate(states) if not state.leader and hit & set(has)]


def _nothing_to_win(roles: Roles, hit: frozenset[str], options: Options) -> str | None:
    if _is_unclean(options):
        if _leaderless(roles, hit):
            return None
        return f"{_all(hit)} has no replica of a partition without a leader"
    preferred = [replicas[0] for replicas in roles.view.assignment]
    for name, state in zip(preferred, roles.view.partitions, strict=False):
        if name in hit and name != state.leader and name in state.isr:
            return None
    return f"{_all(hit)} would not become leader of any partition in a preferred election"


def _is_led(injection: Injection) -> str | None:
    if _is_unclean(injection.options):
        return _led_by_anybody(injection)
    wanted, before = injection.memo["wanted"], injection.memo["before"]
    moved = [n for n, name in wanted.items() if before[n] != name]
    if not moved or not elected(injection, wanted):
        return None
    return "; ".join(
        f"leader of {injection.view.topic}-{n} was {before[n]}, is {wanted[n]}" for n in moved
    )


def _led_by_anybody(injection: Injection) -> str | None:
    numbers: list[int] = injection.memo["leaderless"]
    leaders = [state.leader for state in injection.view.look().partitions]
    if waiting := [n for n in numbers if not leaders[n]]:
        _ask_for_election(injection, waiting, "unclean")
        return None
    return "; ".join(
        f"{injection.view.topic}-{n} had no leader, is led by {leaders[n]}" for n in numbers
    )


def _effects_of_election(options: Options, _: Target) -> Effects:
    """An unclean election counts as the topic's setting that allows it."""
    settings = UNCLEAN if _is_unclean(options) else {}
    return Effects(leadership="anywhere", permanent=True, topic_settings=settings)


def _leave(_: Injection) -> None:
    """There is nothing to undo."""


def _left(_: Injection) -> str | None:
    return "leadership stays where it was elected"


# move-leader


def _move(injection: Injection) -> None:
    now, hit = there_now(injection), {node.name for node in injection.nodes}
    random = Random(injection.seed)  # noqa: S311
    successors: dict[Partition, str] = {
        (injection.view.topic, number): random.choice(followers)
        for number, followers in _followers(injection.roles, frozenset(hit)).items()
    }
    wanted = replica_assignments.led_by(now, successors)
    injection.memo.update(wanted=wanted, original={p: now[p] for p in wanted})


def _followers(roles: Roles, hit: frozenset[str]) -> dict[int, list[str]]:
    """The partitions that one of `hit` leads, with the others of their ISR, where there are any."""
    led = {
        n: sorted(set(state.isr) - hit)
        for n, state in enumerate(roles.view.partitions)
        if state.leader in hit
    }
    return {number: followers for number, followers in led.items() if followers}


def _nothing_to_move(roles: Roles, hit: frozenset[str], _: Options) -> str | None:
    if _followers(roles, hit):
        return None
    return f"{_all(hit)} leads no partition that has another replica in the ISR"


def _moved(injection: Injection) -> str | None:
    return _leads(injection, injection.memo["wanted"])


def _moved_back(injection: Injection) -> str | None:
    original = injection.memo.get("original")
    return _leads(injection, original) if original else "nothing was moved"


def _leads(injection: Injection, wanted: Assignment) -> str | None:
    leaders = {number: replicas[0] for (_, number), replicas in wanted.items()}
    if not towards(injection, wanted) or not elected(injection, leaders):
        return None
    return "; ".join(f"{name} leads {injection.view.topic}-{n}" for n, name in leaders.items())


# What is impossible


def _needs_followers(setting: Setting) -> str | None:
    if setting.replicas > 1:
        return None
    return "with one replica no other broker can lead: raise topic.replication_factor"


def _cannot_elect(setting: Setting, target: Target, options: Options) -> str | None:
    if setting.partitions == 1 and target.name in LEADING and not _is_unclean(options):
        return (
            f"{target.name}: with one partition the leader has no other leadership to gain: raise "
            "topic.partitions, or use preferred-leader"
        )
    return _needs_followers(setting)


def _cannot_move(setting: Setting, target: Target, _: Options) -> str | None:
    if setting.replicas > 1 and target.name in {"all", "last-isr"}:
        return f"{target.name}: no other replica could lead: use leader"
    if (
        setting.replicas > 1
        and setting.partitions == 1
        and target.name in {"follower", "followers"}
    ):
        return (
            f"{target.name}: a follower of the only partition leads no partition: raise "
            "topic.partitions, or use leader"
        )
    return _needs_followers(setting)


def _led_by_others() -> Trial:
    """A reassignment by one broker and back leaves leaders behind: A+B, B+C, C+A are then led by
    B, C and A, and each broker is preferred for a partition that another leads."""
    away = FaultPart(verb=REASSIGN.name, target="leader")
    return Trial(
        partitions=3,
        replicas=2,
        leader="kafka2",
        before=(away,),
        before_at={
            # A is gone, and B, alone in the ISR of A+B, is still preferred for B+C.
            "last-isr": (away, FaultPart(verb=STOP.name, target="preferred-leader", for_s=3)),
            # Placed on kafka2 and kafka3; who alone is left leads and is the controller, and stays
            # both.
            "leader-and-controller": (
                FaultPart(verb=KILL.name, target="kafka1", for_s=6),
                FaultPart(verb=KILL.name, target="kafka2", for_s=6, when="in-force"),
                away,
            ),
        },
        amid=frozenset({"last-isr"}),
    )


ELECT = Verb(
    name="elect",
    undo="leave",
    done="put through a leader election",
    effects=_effects_of_election,
    options=ElectOptions,
    needs=(Operated,),
    together=True,
    hits=BROKERS,
    inject=_elect,
    proof_in_force=_is_led,
    heal=_leave,
    healed=_left,
    impossible=_cannot_elect,
    idle=_nothing_to_win,
    trial=_led_by_others(),
)
MOVE_LEADER = Verb(
    name="move-leader",
    undo="move-back",
    done="replaced as leader",
    effects=ANYWHERE,
    needs=(Operated,),
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_move,
    proof_in_force=_moved,
    heal=begin_return,
    healed=_moved_back,
    impossible=_cannot_move,
    idle=_nothing_to_move,
    trial=Trial(partitions=3),  # each broker leads one
)
