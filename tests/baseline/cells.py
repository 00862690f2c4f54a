"""The cells of the baseline: a verb at a target in a situation, under a configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from harness.model.plan import Step
from harness.model.worker_kinds import KINDS
from harness.nemesis.targets import TARGETS, Setting, target_of
from harness.nemesis.verbs import VERBS

Row = dict[str, Any]


# --- configurations


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A class of configurations: what of it decides the promises."""

    producer: Row
    topic: Row = field(default_factory=dict)
    server: Row = field(default_factory=dict)
    consumer: Row = field(default_factory=dict)
    commit: str | None = None  # of the consumer group; None: there is no group
    transforms: bool = False  # it sends what it makes of records
    members_died: bool = False
    replicas: int = 3
    zookeepers: int = 3


ALL = {"acks": "all"}
ONE = {"acks": "1"}
IDEMPOTENT = ALL | {"enable.idempotence": True}
NO_RETRIES = {"retries": 0}
ONE_IN_FLIGHT = {"max.in.flight.requests.per.connection": 1}
UNCLEAN = {"unclean.leader.election.enable": True}
FLUSHED = {"flush.messages": 1}
NO_EPOCHS = {"inter.broker.protocol.version": "0.10.2-IV0"}
TRANSACTIONAL = IDEMPOTENT | {"transactional.id": "t"}
LATEST = {"auto.offset.reset": "latest"}
UNCOMMITTED = {"isolation.level": "read_uncommitted"}
TRANSFORMERS = partial(Configuration, producer=TRANSACTIONAL, transforms=True)
CONFIGURATIONS: dict[str, Configuration] = {
    "acks=0": Configuration(producer={"acks": "0"}),
    "acks=0, unclean elections": Configuration(producer={"acks": "0"}, topic=UNCLEAN),
    "acks=1": Configuration(producer=ONE),
    "acks=1, no retries": Configuration(producer=ONE | NO_RETRIES),
    "acks=1, one in flight": Configuration(producer=ONE | ONE_IN_FLIGHT),
    "acks=1, flush.messages=1": Configuration(producer=ONE, topic=FLUSHED),
    "acks=1, one replica": Configuration(producer=ONE, replicas=1),
    "acks=1, one ZooKeeper": Configuration(producer=ONE, zookeepers=1),
    "acks=1, five ZooKeepers": Configuration(producer=ONE, zookeepers=5),
    "acks=all": Configuration(producer=ALL),
    "acks=all, no retries": Configuration(producer=ALL | NO_RETRIES),
    "acks=all, one in flight": Configuration(producer=ALL | ONE_IN_FLIGHT),
    "idempotent": Configuration(producer=IDEMPOTENT),
    "idempotent, check.crcs": Configuration(producer=IDEMPOTENT, consumer={"check.crcs": True}),
    "idempotent, flush.messages=1": Configuration(producer=IDEMPOTENT, topic=FLUSHED),
    "idempotent, one replica": Configuration(producer=IDEMPOTENT, replicas=1),
    "idempotent, one replica, flush.messages=1 of the brokers": Configuration(
        producer=IDEMPOTENT, replicas=1, server={"log.flush.interval.messages": "1"}
    ),
    "idempotent, unclean elections": Configuration(producer=IDEMPOTENT, topic=UNCLEAN),
    "idempotent, unclean elections of the brokers, one replica": Configuration(
        producer=IDEMPOTENT, server=UNCLEAN, replicas=1
    ),
    "idempotent, no leader epochs": Configuration(producer=IDEMPOTENT, server=NO_EPOCHS),
    "transactions": Configuration(producer=TRANSACTIONAL),
    "transactions, read_uncommitted": Configuration(producer=TRANSACTIONAL, consumer=UNCOMMITTED),
    "transactions, unclean elections": Configuration(producer=TRANSACTIONAL, topic=UNCLEAN),
    "group, committed by the client": Configuration(producer=IDEMPOTENT, commit="auto"),
    "group, committed by the client, a member died": Configuration(
        producer=IDEMPOTENT, commit="auto", members_died=True
    ),
    "group, committed before processing": Configuration(producer=IDEMPOTENT, commit="before"),
    "group, committed after processing": Configuration(producer=IDEMPOTENT, commit="after"),
    "group, committed after processing, from the end": Configuration(
        producer=IDEMPOTENT, commit="after", consumer=LATEST
    ),
    "group, committed before processing, unclean elections": Configuration(
        producer=IDEMPOTENT, commit="before", topic=UNCLEAN
    ),
    "group, committed after processing, no leader epochs": Configuration(
        producer=IDEMPOTENT, commit="after", server=NO_EPOCHS
    ),
    "transformers, at most once": TRANSFORMERS(commit="before"),
    "transformers, at least once, from the end": TRANSFORMERS(commit="after", consumer=LATEST),
    "transformers, exactly once": TRANSFORMERS(commit="transaction"),
    "transformers, unclean elections": TRANSFORMERS(commit="transaction", topic=UNCLEAN),
    "transformers, read_uncommitted": TRANSFORMERS(commit="transaction", consumer=UNCOMMITTED),
}


# --- who was hit, and what may have been so besides


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What happened in a run: a verb at a target, then another where there is one, or nothing."""

    verb: str | None
    target: str = ""
    nodes: tuple[str, ...] = ()
    situation: str = ""  # in words; `run_of` knows what they mean
    options: Mapping[str, Any] = field(default_factory=dict)
    then: tuple[str, tuple[str, ...]] | None = None  # the verb that came next, and whom it hit

    @property
    def cell(self) -> str:
        """`leader (blind)`."""
        return f"{self.target} ({self.situation})" if self.situation else self.target


LEADER = "kafka1"
CONTROLLER = "kafka2"
BROKERS = ("kafka1", "kafka2", "kafka3")
WORKERS = tuple(name for name, kind in KINDS.items() if kind.hit_alone)


def nodes_of(target: str, zookeepers: int = 3) -> tuple[str, ...]:
    """Who plays a role where kafka1 leads, kafka2 is the controller and the last ZooKeeper leads.

    Of a lot it is said how it fell: `one` hits a follower, `random` and `majority` the leader.
    """
    ensemble = tuple(f"zk{number + 1}" for number in range(zookeepers))
    target = target.replace("quorum-", "zk-")  # beside ZooKeeper, two words for one thing
    return {
        "leader": (LEADER,),
        "follower": ("kafka3",),
        "followers": ("kafka2", "kafka3"),
        "last-isr": (LEADER,),
        "controller": (CONTROLLER,),
        "leader-and-controller": (LEADER,),
        "leader-not-controller": (LEADER,),
        "preferred-leader": (LEADER,),
        "group-coordinator": ("kafka3",),
        "transaction-coordinator": (LEADER,),
        "one": ("kafka3",),
        "random": (LEADER,),
        "minority": ("kafka2",),
        "majority": ("kafka1", "kafka2"),
        "all": BROKERS,
        "zk-leader": ensemble[-1:],
        "zk-follower": ensemble[:1],
        "zk-followers": ensemble[:-1],
        "zk-one": ensemble[:1],
        "zk-minority": ensemble[: (zookeepers - 1) // 2],
        "zk-majority": ensemble[: zookeepers // 2 + 1],
        "zk-all": ensemble,
        **{kind: (f"{kind}-0",) for kind in WORKERS},
        **{f"{kind}s": (f"{kind}-0", f"{kind}-1") for kind in WORKERS},
    }[target]


# What may have been so besides: nobody could tell, no view was kept, no leader was there,
# leadership was seen to move, there was another partition, the role was played by nobody.
BLIND, UNRECORDED, LEADERLESS = "blind", "unrecorded", "leaderless"
MOVED, ELSEWHERE, NOBODY = "moved", "kafka3 leads another partition", "nobody"
OUTSIDE = "kafka2 leads from outside the ISR"
OVERLAPPING, APART = "and the others meanwhile", "and the others later"
SITUATIONS: dict[str, tuple[str, ...]] = {
    "leader": (BLIND, UNRECORDED, LEADERLESS, MOVED, OUTSIDE, NOBODY),
    "follower": (BLIND, UNRECORDED, LEADERLESS, MOVED, ELSEWHERE),
    "followers": (ELSEWHERE,),
    "all": (BLIND, MOVED),
    "zk-one": (BLIND, MOVED, ELSEWHERE),
    "zk-majority": (BLIND, MOVED),
    "producer": (BLIND, MOVED),
}
# Options that decide: between whom links are bad, and what a setting is changed to, which matters
# for a fault that comes then.
LINKS = (
    ("clients", "leader", ""),
    ("clients", "leader", MOVED),
    ("clients", "follower", BLIND),
    ("followers", "leader", ""),
    ("clients, followers", "leader", ""),
    ("zookeepers", "controller", ""),
)
SETTINGS = (
    ("unclean.leader.election.enable", True),
    ("unclean.leader.election.enable", False),
    ("flush.messages", 1),
    ("flush.messages", 500),
)


def cases(configuration: Configuration) -> Iterator[Case]:
    """All that is recorded under a configuration: every verb at every target that it can hit."""
    yield Case(verb=None)
    for verb in VERBS:
        targets = targets_of(verb, configuration)
        for target in targets:
            nodes = nodes_of(target, configuration.zookeepers)
            yield Case(verb=verb, target=target, nodes=nodes)
            for situation in SITUATIONS.get(target, ()):
                hit = () if situation == NOBODY else nodes
                yield Case(verb=verb, target=target, nodes=hit, situation=situation)
        others = [*_by_several(verb, configuration), *_with_options(verb)]
        yield from (case for case in others if case.target in targets)


def _by_several(verb: str, configuration: Configuration) -> Iterator[Case]:
    """One node, and while it is down, or when it is back, the others that it takes."""
    quorum = nodes_of("zk-majority", configuration.zookeepers)
    for target, (first, *others) in (("leader", BROKERS), ("zk-one", quorum)):
        if others:
            for situation in (OVERLAPPING, APART):
                yield Case(
                    verb=verb,
                    target=target,
                    nodes=(first,),
                    situation=situation,
                    then=(verb, tuple(others)),
                )
    for target, nodes, then in (
        ("zk-one", quorum[:1], ("kill", quorum[1:])),
        ("leader", (LEADER,), ("lose-power", BROKERS[1:])),
    ):
        # That power is lost decides by itself, so it stands beside its like only.
        if then[1] and (then[0] == "kill" or verb == "lose-disk"):
            yield Case(
                verb=verb,
                target=target,
                nodes=nodes,
                then=then,
                situation=f"{then[0]} {' '.join(then[1])} meanwhile",
            )


def _with_options(verb: str) -> Iterator[Case]:
    for peers, target, situation in LINKS if verb in {"cut", "lose", "delay"} else ():
        yield Case(
            verb=verb,
            target=target,
            nodes=nodes_of(target),
            options={"from": peers},
            situation="; ".join([f"from={peers}", *([situation] if situation else [])]),
        )
    for key, value in SETTINGS if verb == "set-config" else ():
        for then in (("kill", (LEADER,)), ("lose-power", BROKERS)):
            yield Case(
                verb=verb,
                target="all",
                nodes=BROKERS,
                options={key: value},
                then=then,
                situation=f"{key}={str(value).lower()}; then {then[0]} {' '.join(then[1])}",
            )


EVERYBODY = Setting(
    brokers=3,
    zookeepers=3,
    partitions=1,
    replicas=3,
    workers=dict.fromkeys(WORKERS, 2),
    transactions=True,
)


def targets_of(verb: str, configuration: Configuration) -> list[str]:
    """The targets that a verb can hit there."""
    setting = replace(
        EVERYBODY, zookeepers=configuration.zookeepers, replicas=configuration.replicas
    )
    kinds, named = VERBS[verb].hits, VERBS[verb].targets
    return [
        target
        for target in TARGETS
        if TARGETS[target].kind in kinds
        and (not named or target in named)
        and TARGETS[target].impossible(setting) is None
    ]


def scenario_of(configuration: Configuration) -> Row:
    """The parts of the scenario that decide."""
    return {
        "cluster": {"brokers": 3, "zookeepers": configuration.zookeepers},
        "topic": {"replication_factor": configuration.replicas, "config": configuration.topic},
        "workload": {
            "producer": configuration.producer,
            "consumer": {"auto.offset.reset": "earliest", **configuration.consumer},
            "group_consumers": 2 if configuration.commit and not configuration.transforms else 0,
            "transformers": 2 if configuration.transforms else 0,
            "commit": configuration.commit or "after",
        },
        "check": {"replicas": True, "watermarks": True},
    }


def roles_of(configuration: Configuration) -> Row:
    """The nodes of such a run."""
    ensemble = nodes_of("zk-all", configuration.zookeepers)
    brokers = {name: {"role": "broker"} for name in BROKERS}
    return brokers | {name: {"role": "zookeeper"} for name in ensemble}


def views(
    leaders: Mapping[str, Sequence[str | None]], seen_ns: Sequence[int], *, alone: bool, dark: bool
) -> list[Row]:
    """A row for each leader of a partition, seen then; `alone` in its ISR; `dark`: no second."""
    return [
        {
            "since_ns": 0 if dark else max(0, seen_ns[number] - 1),
            "time_ns": seen_ns[number],
            "partition": int(partition),
            "leader": name,
            "isr": [name or names[0]] if alone else list(BROKERS),
            "leader_epoch": number,
            "controller": CONTROLLER,
        }
        for partition, names in leaders.items()
        for number, name in enumerate(names)
        if not dark or number != 1
    ]


def run_of(configuration: Configuration, case: Case) -> Row:
    """A run as run.json and the history's tables keep it: every input of the facts, in one place.

    `scenario`, `server`, `nodes` and `plan` are run.json's, `faults` and `views` rows of their
    tables.
    """
    situation = case.situation.split("; ")
    leader = None if LEADERLESS in situation else LEADER
    in_sync = BROKERS[:1] if "last-isr" in case.target or not leader else BROKERS
    others = {"1": "kafka3"} if ELSEWHERE in situation else {}
    before = {
        "leader": {"0": leader} | others,
        "isr": {"0": list(in_sync[: configuration.replicas])}
        | {key: list(BROKERS) for key in others},
        "controller": LEADER if case.target == "leader-and-controller" else CONTROLLER,
        "known": BLIND not in situation,
    }
    hits = [(case.verb, case.nodes, case.options)] if case.verb else []
    hits += [(*case.then, case.options if case.then[0] == case.verb else {})] if case.then else []
    healed_ns = 20 if APART in situation else 200
    dark = BLIND in situation
    seen_ns = 0, 10, healed_ns + 10  # who was ended can lead again only once it was healed
    leads = "kafka2" if {MOVED, OUTSIDE} & set(situation) else LEADER
    rows = {"0": (LEADER, None, leads), **{place: (name,) for place, name in others.items()}}
    return {
        "scenario": scenario_of(configuration),
        "server": configuration.server,
        "nodes": roles_of(configuration),
        "plan": [
            planned(step, verb, case.target, options)
            for step, (verb, _, options) in enumerate(hits)
        ],
        "faults": [
            {
                "fault": step,
                "step": step,
                "verb": verb,
                "target": case.target,
                "nodes": list(nodes),
                "invoke_ns": 10 + 90 * step,
                "ok_ns": 11 + 90 * step,
                "heal_invoke_ns": healed_ns + 90 * step - 1,
                "heal_ok_ns": healed_ns + 90 * step,
                "evidence": "seen",
                "heal_evidence": "gone",
                "error": None,
                "before": None if UNRECORDED in situation else json.dumps(before),
                "after": None,
            }
            for step, (verb, nodes, _) in enumerate(hits)
        ],
        "views": views(rows, seen_ns, alone=OUTSIDE in situation, dark=dark),
        "blind": [{"start_ns": 9, "end_ns": 15}] if dark else [],
    }


def planned(step: int, verb: str, target: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A step of the plan, with what the verb and the target say of themselves today."""
    hit = target_of(target, EVERYBODY)
    assert hit is not None, target
    effects = VERBS[verb].effects_at(hit, {**VERBS[verb].options.example(), **options})
    made = Step(
        step=step,
        series=0,
        verb=verb,
        target=target,
        unit="seconds",
        at=1.0 + step,
        for_s=1.0,
        until=None,
        options=dict(options),
        seed=1,
        effects=effects,
        telling=VERBS[verb].telling(hit),
    )
    return made.as_record()
