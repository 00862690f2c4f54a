"""elect, move-leader, reassign, raise-replication: replicas and leaderships moved by an operator.

    elect               leadership goes back to the preferred leader (an election of Kafka's own);
                        of the partitions that the target is preferred for. A broker that is
                        preferred for no partition that another leads, or is not in its ISR, is
                        no target
    move-leader         the target's leaderships go to a follower in the ISR, by the seed: it is put
                        first among the replicas, and elected. Undone by the old order and another
                        election. One that leads nothing that another could lead is
                        no target
    reassign            every replica of the topic goes to the next broker, and back
    raise-replication   every partition of the topic gets one more replica, and loses it again

Proof: the replicas in ZooKeeper are those wanted and nothing is being moved any more, and the
leaders are those wanted. Reassignments go through ZooKeeper, where the Python client has no call.
"""

from __future__ import annotations

import time
from random import Random

from harness.cluster.capabilities import Ensemble
from harness.cluster.nodes import ClusterError, brokers
from harness.cluster.view.state import BLIND
from harness.model.effects import Effects
from harness.model.scenario import FaultPart
from harness.nemesis.faults.admin import replica_assignments
from harness.nemesis.faults.admin.replica_assignments import Assignment, Partition
from harness.nemesis.faults.processes.signals import KILL, STOP
from harness.nemesis.target import Roles, Setting, Target
from harness.nemesis.verb import BROKERS, Injection, Trial, Verb

ASK_EVERY_S = 2.0
LEADING = {"leader", "leader-and-controller", "leader-not-controller", "last-isr"}


# Steps that are repeated until they are done


def towards(injection: Injection, wanted: Assignment) -> bool:
    """Ask for an assignment unless it is there or one is under way; whether it is there."""
    view = injection.zookeeper
    ids = {node.name: node.id for node in brokers(injection.cluster.nodes)}
    try:
        if view.znode(replica_assignments.PATH) is not None:
            return False
        now = {topic: view.assignment_of(topic) for topic, _ in wanted}
        differ = {p: replicas for p, replicas in wanted.items() if now[p[0]][p[1]] != replicas}
        if differ:
            view.create(replica_assignments.PATH, replica_assignments.document(differ, ids))
    except BLIND:
        return False
    return not differ


def elected(injection: Injection, wanted: dict[int, str]) -> bool:
    """Ask for a preferred election, every other second, until these brokers lead."""
    try:
        leaders = {n: state.leader for n, state in enumerate(injection.view.look().partitions)}
    except BLIND:
        return False
    waiting = [number for number, name in wanted.items() if leaders[number] != name]
    if waiting and time.monotonic() >= injection.memo.get("ask_s", 0.0):
        injection.memo["ask_s"] = time.monotonic() + ASK_EVERY_S
        injection.admin().elect_preferred(injection.view.topic, waiting)
    return not waiting


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
        raise ClusterError(f"ZooKeeper has not shown the replicas of topic {injection.view.topic}")
    return replica_assignments.of_topic(injection.view.topic, view.assignment)


def _all(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _names(injection: Injection) -> list[str]:
    return [node.name for node in brokers(injection.cluster.nodes)]


# elect


def _elect(injection: Injection) -> None:
    preferred = {number: replicas[0] for (_, number), replicas in there_now(injection).items()}
    hit = {node.name for node in injection.nodes}
    injection.memo["wanted"] = {n: name for n, name in preferred.items() if name in hit}
    injection.memo["before"] = [state.leader for state in injection.roles.view.partitions]


def _nothing_to_win(roles: Roles, hit: frozenset[str]) -> str | None:
    preferred = [replicas[0] for replicas in roles.view.assignment]
    for name, state in zip(preferred, roles.view.partitions, strict=False):
        if name in hit and name != state.leader and name in state.isr:
            return None
    return f"{_all(hit)} would not become leader of any partition in a preferred election"


def _led_by_the_preferred(injection: Injection) -> str | None:
    wanted, before = injection.memo["wanted"], injection.memo["before"]
    moved = [n for n, name in wanted.items() if before[n] != name]
    if not moved or not elected(injection, wanted):
        return None
    return "; ".join(
        f"leader of {injection.view.topic}-{n} was {before[n]}, is {wanted[n]}" for n in moved
    )


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


def _nothing_to_move(roles: Roles, hit: frozenset[str]) -> str | None:
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


# reassign, raise-replication


def _reassign(injection: Injection) -> None:
    now = there_now(injection)
    injection.memo.update(original=now, wanted=replica_assignments.shifted(now, _names(injection)))


def _raise(injection: Injection) -> None:
    now = there_now(injection)
    injection.memo.update(original=now, wanted=replica_assignments.raised(now, _names(injection)))


def _there(injection: Injection) -> str | None:
    """The replicas are where they are wanted and in sync: the controller has ended it."""
    wanted = injection.memo["wanted"]
    return f"now {in_words(wanted)}" if towards(injection, wanted) else None


def _begin_return(injection: Injection) -> None:
    towards(injection, injection.memo.get("original", {}))


def _returned(injection: Injection) -> str | None:
    original = injection.memo.get("original", {})
    return f"back to {in_words(original)}" if towards(injection, original) else None


# What cannot be


def _needs_followers(setting: Setting) -> str | None:
    if setting.replicas > 1:
        return None
    return "with one replica no other broker can lead: raise topic.replication_factor"


def _cannot_elect(setting: Setting, target: Target) -> str | None:
    if setting.partitions == 1 and target.name in LEADING:
        return (
            f"{target.name}: with one partition the leader has no other leadership to gain: raise "
            "topic.partitions, or use preferred-leader"
        )
    return _needs_followers(setting)


def _cannot_move(setting: Setting, target: Target) -> str | None:
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


def needs_a_spare(setting: Setting, _: Target) -> str | None:
    """Of verbs that put a replica where there was none."""
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
    needs=(Ensemble,),
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_reassign,
    bit=_there,
    heal=_begin_return,
    healed=_returned,
    impossible=needs_a_spare,
)


def _led_by_others() -> Trial:
    """Replicas that move on by one broker and back leave their leaders behind: A+B, B+C, C+A are
    then led by B, C and A, and each broker is preferred for a partition that another leads."""
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
    done="elected as preferred leader",
    effects=ANYWHERE,
    needs=(Ensemble,),
    together=True,
    hits=BROKERS,
    inject=_elect,
    bit=_led_by_the_preferred,
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
    needs=(Ensemble,),
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_move,
    bit=_moved,
    heal=_begin_return,
    healed=_moved_back,
    impossible=_cannot_move,
    idle=_nothing_to_move,
    trial=Trial(partitions=3),  # each broker leads one
)
RAISE_REPLICATION = Verb(
    name="raise-replication",
    undo="lower-replication",
    done="affected by a raised replication factor",
    effects=Effects(),
    needs=(Ensemble,),
    together=True,
    alone=True,
    hits=BROKERS,
    inject=_raise,
    bit=_there,
    heal=_begin_return,
    healed=_returned,
    impossible=needs_a_spare,
)
