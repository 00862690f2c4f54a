"""The cells of the baseline: a verb at a target in a situation, under a configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.model.plan import Step
from harness.model.worker_kinds import KINDS
from harness.nemesis.targets import TARGETS, Setting, target_of
from harness.nemesis.verbs import VERBS
from tests.baseline import seen
from tests.baseline.configurations import CONFIGURATIONS, Configuration, Row

__all__ = ["CONFIGURATIONS", "Configuration", "Row"]


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
BROKERS = ("kafka1", "kafka2", "kafka3")
WORKERS = tuple(name for name, kind in KINDS.items() if kind.hit_alone)


def nodes_of(target: str, configuration: Configuration | None = None) -> tuple[str, ...]:
    """Who plays a role where kafka1 leads, kafka2 is the controller and the last ZooKeeper leads;
    with KRaft the last controller is the active one.

    Of a lot it is said how it fell: `one` hits a follower, `random` and `majority` the leader.
    """
    in_mind = configuration or Configuration(producer={})
    quorum = in_mind.quorum
    shares = {
        "leader": quorum[-1:],
        "follower": quorum[:1],
        "followers": quorum[:-1],
        "one": quorum[:1],
        "minority": quorum[: (len(quorum) - 1) // 2],
        "majority": quorum[: len(quorum) // 2 + 1],
        "all": quorum,
    }
    return {
        "leader": (LEADER,),
        "follower": ("kafka3",),
        "followers": ("kafka2", "kafka3"),
        "last-isr": (LEADER,),
        "controller": (in_mind.controls,),
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
        **{f"zk-{share}": nodes for share, nodes in shares.items()},
        **{f"quorum-{share}": nodes for share, nodes in shares.items()},
        **{kind: (f"{kind}-0",) for kind in WORKERS},
        **{f"{kind}s": (f"{kind}-0", f"{kind}-1") for kind in WORKERS},
    }[target]


# What may have been so besides: nobody could tell, no view was kept, no leader was there,
# leadership was seen to move, there was another partition, the role was played by nobody.
BLIND, UNRECORDED, LEADERLESS = "blind", "unrecorded", "leaderless"
MOVED, ELSEWHERE, NOBODY = "moved", "kafka3 leads another partition", "nobody"
OUTSIDE = "kafka2 leads from outside the ISR"
ELIGIBLE, LAST_KNOWN = "kafka2 leads from the ELR", "nobody is eligible, and the last leader leads"
FORGOTTEN = "and the metadata goes back"
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
KRAFTS: dict[str, tuple[str, ...]] = {
    "leader": (ELIGIBLE, LAST_KNOWN),
    "last-isr": (ELIGIBLE, LAST_KNOWN),
    "all": (ELIGIBLE, LAST_KNOWN, FORGOTTEN),
    "quorum-one": (BLIND, FORGOTTEN),
    "quorum-majority": (BLIND, FORGOTTEN),
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
            nodes = nodes_of(target, configuration)
            yield Case(verb=verb, target=target, nodes=nodes)
            krafts = KRAFTS.get(target, ()) if configuration.kraft else ()
            for situation in (*SITUATIONS.get(target, ()), *krafts):
                hit = () if situation == NOBODY else nodes
                yield Case(verb=verb, target=target, nodes=hit, situation=situation)
        others = [*_by_several(verb, configuration), *_with_options(verb)]
        yield from (case for case in others if case.target in targets)


def _by_several(verb: str, configuration: Configuration) -> Iterator[Case]:
    """One node, and while it is down, or when it is back, the others that it takes."""
    quorum, one = nodes_of("quorum-majority", configuration), f"{configuration.stem}-one"
    for target, (first, *others) in (("leader", BROKERS), (one, quorum)):
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
        (one, quorum[:1], ("kill", quorum[1:])),
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
    setting = setting_of(configuration)
    kinds, named = VERBS[verb].hits, VERBS[verb].targets
    return [
        target
        for target in TARGETS
        if (hit := target_of(target, setting)) is not None
        and hit.kind in kinds
        and (not named or target in named)
        and hit.impossible(setting) is None
        and not (configuration.kraft and target.startswith("zk-"))
    ]


def scenario_of(configuration: Configuration) -> Row:
    """The parts of the scenario that decide."""
    return {
        "cluster": {"brokers": 3, "zookeepers": configuration.zookeepers, **configuration.cluster},
        "topic": {"replication_factor": configuration.replicas, "config": configuration.topic},
        "workload": {
            "producer": configuration.producer,
            "consumer": {"auto.offset.reset": "earliest", **configuration.consumer},
            "group_consumers": 2 if configuration.commit and not configuration.transforms else 0,
            "transformers": 2 if configuration.transforms else 0,
            "commit": configuration.commit or "after",
        },
        "check": {"replicas": True, "watermarks": True},
        "outputs": {"topic": "outputs"} if configuration.outputs else None,
    }


def roles_of(configuration: Configuration) -> Row:
    """The nodes of such a run."""
    brokers = {name: {"role": "broker", "id": number} for number, name in enumerate(BROKERS, 1)}
    role = "controller" if configuration.kraft else "zookeeper"
    apart = () if configuration.combined else configuration.quorum
    return brokers | {name: {"role": role} for name in apart}


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
        "controller": LEADER if case.target == "leader-and-controller" else configuration.controls,
        "known": BLIND not in situation,
    }
    hits = [(case.verb, case.nodes, case.options)] if case.verb else []
    hits += [(*case.then, case.options if case.then[0] == case.verb else {})] if case.then else []
    healed_ns = 20 if APART in situation else 200
    dark = BLIND in situation
    leads = "kafka2" if {MOVED, OUTSIDE} & set(situation) else LEADER
    rows = {"0": (LEADER, None, leads), **{place: (name,) for place, name in others.items()}}
    return {
        "scenario": scenario_of(configuration),
        "server": configuration.server,
        "node_settings": {"controller": configuration.controller},
        "nodes": roles_of(configuration),
        "plan": [
            planned(step, verb, case.target, options, configuration)
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
        "views": _seen(configuration, situation, rows, healed_ns),
        "blind": [{"start_ns": 9, "end_ns": 15}] if dark else [],
    }


def _seen(
    configuration: Configuration,
    situation: Sequence[str],
    rows: Mapping[str, Sequence[str | None]],
    healed_ns: int,
) -> list[Row]:
    """The views of a situation. Who was ended can lead again only once it was healed."""
    seen_ns = 0, 10, healed_ns + 10
    if FORGOTTEN in situation:  # after what made the quorum forget
        after_ns = 0, 50, healed_ns + 10
        return seen.of_kraft(seen.OLD_ISR_LEADS, after_ns, configuration, went_back=1)
    for words, shown in ((ELIGIBLE, seen.ELIGIBLE_LEADS), (LAST_KNOWN, seen.LAST_KNOWN_LEADS)):
        if words in situation:
            return seen.of_kraft(shown, seen_ns, configuration)
    alone, dark = OUTSIDE in situation, BLIND in situation
    return seen.views(rows, seen_ns, configuration, alone=alone, dark=dark)


def setting_of(configuration: Configuration) -> Setting:
    """Who there is."""
    return replace(
        EVERYBODY,
        zookeepers=0 if configuration.kraft else configuration.zookeepers,
        controllers=len(configuration.quorum) if configuration.kraft else 0,
        combined=configuration.combined,
        replicas=configuration.replicas,
    )


def planned(
    step: int,
    verb: str,
    target: str,
    options: Mapping[str, Any],
    configuration: Configuration | None = None,
) -> dict[str, Any]:
    """A step of the plan, with what the verb and the target say of themselves today."""
    hit = target_of(target, setting_of(configuration) if configuration else EVERYBODY)
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
