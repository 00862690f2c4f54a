"""What decides the promises: the configuration in force, and what the faults may have done.

A fault that can move leadership counts where it hit a leader or leadership moved; one that destroys
data counts by whether it left any member of an ISR out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Verbs after which another broker may lead: its node is gone, silent, or told to hand over, a
# ZooKeeper session ends, as it may on any bad link, or an operator wants it so. Cutting answers to
# clients is not among them: the leader stays.
DEPOSING = frozenset(
    {
        "kill",
        "stop",
        "pause",
        "cut",
        "lose",
        "delay",
        "throttle",
        "reorder",
        "duplicate",
        "corrupt",
        "slow",
        "roll",
        "crash-loop",
        "elect",
        "move-leader",
        "reassign",
        "decommission",
        "freeze-disk",
        "fill-disk",
        "slow-disk",
        "fail-disk",
        "skew-clock",
        "delete-pod",
        "delete-pod-now",
        "drain",
        "command",  # a program of the user's can do anything of the kind
    }
)
# Those that do so only where they hit a broker that leads, or half of the ensemble: without its
# quorum sessions may end unseen. At a follower, a single ZooKeeper member or a worker they leave
# the leader where it is, unless it was seen to move all the same.
AT_THE_LEADER = frozenset(
    {
        "kill",
        "stop",
        "pause",
        "roll",
        "crash-loop",
        "freeze-disk",
        "fill-disk",
        "slow-disk",
        "fail-disk",
        "skew-clock",
        "delete-pod",
        "delete-pod-now",
        "drain",
    }
)
# Links may be bad between the target and `from` alone. Where that is the clients only, brokers and
# ensemble hear each other as ever, and the leader stays, unless it was seen to move all the same.
ON_LINKS = frozenset({"cut", "lose", "delay"})
# Verbs after which a node may lack what it had already written…
DESTROYING = frozenset({"lose-disk", "lose-power"})
POWER = frozenset({"lose-power"})  # …of these the ones that take only what was not synced
SPOILING = frozenset({"flip-bit"})  # verbs after which records on disk may have changed
BROKER_KEY = {"flush.messages": "log.flush.interval.messages"}  # where it is not the topic's
FIRST_WITH_EPOCHS = (0, 11)  # inter.broker.protocol.version that brought leader epochs


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What decides the promises: the configuration in force, and the verbs that were injected where
    they can matter."""

    acks: str  # "0" | "1" | "all"
    retries: int
    idempotent: bool
    replicas: int
    unclean: bool  # unclean.leader.election.enable
    epochs: bool  # followers truncate by leader epoch (KIP-101)
    flushed: bool  # every batch is synced before it is answered: flush.messages=1
    whole_isr: bool  # every member of an ISR was hit, together, by a fault that destroys
    checks_crcs: bool  # consumers look at what they are given: check.crcs
    verbs: frozenset[str]
    commit: str | None = None  # of the consumer group: "auto" | "before" | "after"; None: no group
    compared: bool = False  # what the replicas hold was compared at the end
    watched: bool = False  # the replicas' watermarks and log ends were followed
    members_died: bool = False  # a member of the group was killed, or ended itself
    disturbed: bool = False  # some fault hit somebody
    transactional: bool = False  # producers have a transactional.id
    uncommitted: bool = False  # consumers ask for what is not committed: isolation.level

    @property
    def deposed(self) -> bool:
        """Whether leadership may have moved because of a fault."""
        return self.replicas > 1 and bool(self.verbs & (DEPOSING | DESTROYING))

    @property
    def destroyed(self) -> bool:
        """Whether a node may have lost what it had acknowledged."""
        return bool(self.verbs & (DESTROYING - POWER if self.flushed else DESTROYING))

    @property
    def no_copy(self) -> bool:
        """Whether no broker may be left that has all acknowledged records and may lead."""
        return self.destroyed and (self.acks == "1" or self.replicas == 1 or self.whole_isr)

    @property
    def spoiled(self) -> bool:
        """Whether a consumer may have been given a record that a bad disk had changed."""
        return bool(self.verbs & SPOILING) and not self.checks_crcs

    @property
    def given_aborted(self) -> bool:
        """Whether consumers are given the records of aborted transactions."""
        return self.transactional and self.uncommitted

    @property
    def cut_short(self) -> bool:
        """Whether a group's member may have stopped, or lost its coordinator, at any moment."""
        return self.members_died or self.disturbed

    @property
    def log_may_shrink(self) -> bool:
        """Whether replicas may drop records that consumers were already given."""
        return self.deposed and (self.unclean or not self.epochs)


def facts_of(  # noqa: PLR0913  each is a part of the run's record
    scenario: Mapping[str, Any],
    server: Mapping[str, Any],
    faults: Sequence[Mapping[str, Any]] = (),
    views: Iterable[Mapping[str, Any]] = (),
    options: Mapping[int, Mapping[str, Any]] | None = None,
    *,
    members_died: bool = False,
) -> Facts:
    """The facts in a resolved scenario, its brokers' settings, and what happened: the faults and
    views of the run, by step the options of the plan, and whether a member of the consumer group
    died."""
    work, topic = scenario["workload"], scenario["topic"]
    producer = work["producer"]
    changed = [
        (options or {}).get(fault["step"], {})
        for fault in faults
        if fault["nodes"] and fault["verb"] == "set-config"
    ]

    def ever(key: str, default: str) -> list[str]:
        """The values in force at one time or another: the topic's goes before the broker's."""
        first = topic["config"].get(key, server.get(BROKER_KEY.get(key, key), default))
        return [str(first), *(str(each[key]) for each in changed if key in each)]

    acks = str(producer.get("acks", producer.get("request.required.acks", "all")))
    retries = producer.get("retries", producer.get("message.send.max.retries", 2147483647))
    return Facts(
        acks="all" if acks == "-1" else acks,
        retries=int(retries),
        idempotent=_true(producer.get("enable.idempotence", False)),
        replicas=int(topic["replication_factor"]),
        unclean=any(_true(value) for value in ever("unclean.leader.election.enable", "false")),
        flushed=all(value == "1" for value in ever("flush.messages", "")),
        whole_isr=_whole_isr(
            [fault for fault in faults if fault["nodes"] and fault["verb"] in DESTROYING]
        ),
        epochs=_version(str(server.get("inter.broker.protocol.version", "3.9"))),
        checks_crcs=_true(work.get("consumer", {}).get("check.crcs", False)),
        verbs=verbs_that_matter(
            faults, views, options, ensemble=int(scenario.get("cluster", {}).get("zookeepers", 3))
        ),
        commit=str(work["commit"]) if work.get("group_consumers") else None,
        compared=_true(scenario.get("check", {}).get("replicas", False)),
        watched=_true(scenario.get("check", {}).get("watermarks", False)),
        members_died=members_died,
        disturbed=any(fault["nodes"] for fault in faults),
        transactional="transactional.id" in producer,
        uncommitted=work.get("consumer", {}).get("isolation.level") == "read_uncommitted",
    )


def verbs_that_matter(
    faults: Sequence[Mapping[str, Any]],
    views: Iterable[Mapping[str, Any]] = (),
    options: Mapping[int, Mapping[str, Any]] | None = None,
    *,
    ensemble: int = 3,
) -> frozenset[str]:
    """The verbs of the faults that hit somebody whom it takes for the verb to matter; `ensemble` is
    how many ZooKeepers there are."""
    moved = _leadership_moved(views)
    at_nodes = [fault for fault in faults if fault["verb"] in AT_THE_LEADER]

    def matters(fault: Mapping[str, Any]) -> bool:
        if fault["verb"] in ON_LINKS:
            return moved or not _from_clients_alone((options or {}).get(fault["step"], {}))
        if fault["verb"] not in AT_THE_LEADER:
            return True
        quorum_lost = 2 * len(_ensemble_of(_struck(fault, at_nodes))) >= ensemble
        return _may_depose(fault, sure=not moved and not quorum_lost)

    return frozenset(fault["verb"] for fault in faults if fault["nodes"] and matters(fault))


def _may_depose(fault: Mapping[str, Any], *, sure: bool) -> bool:
    """`sure`: but for the nodes that it hit nothing tells that leadership may have moved."""
    if not any(name.startswith(("kafka", "zk")) for name in fault["nodes"]):
        return False  # workers
    before = json.loads(fault.get("before") or "{}")
    leaders = (before.get("leader") or {}).values()
    known = bool(leaders) and before.get("known", True)
    return not sure or not known or any(name in leaders for name in fault["nodes"])


def _from_clients_alone(options: Mapping[str, Any]) -> bool:
    return {word.strip() for word in str(options.get("from", "")).split(",")} == {"clients"}


def _ensemble_of(nodes: Iterable[str]) -> set[str]:
    return {name for name in nodes if name.startswith("zk")}


def _struck(fault: Mapping[str, Any], faults: Iterable[Mapping[str, Any]]) -> set[str]:
    """Whom the fault hit, and others among `faults` that were not healed yet when it began."""
    begin_ns = fault["invoke_ns"]
    return {
        node
        for other in faults
        if other["invoke_ns"] <= begin_ns
        and (other["heal_ok_ns"] is None or other["heal_ok_ns"] > begin_ns)
        for node in other["nodes"]
    }


def _leadership_moved(views: Iterable[Mapping[str, Any]]) -> bool:
    """Whether some partition was seen to have more than one leader in its time."""
    leaders: dict[int, set[str]] = {}
    for view in views:
        if view["leader"] is not None:
            leaders.setdefault(view["partition"], set()).add(view["leader"])
    return any(len(each) > 1 for each in leaders.values())


def _whole_isr(destroying: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some partition's ISR, as it was when one of the faults began, lay wholly within the
    nodes that this fault hit and those that others had hit and that were not healed yet."""
    for fault in destroying:
        struck = _struck(fault, destroying)
        before = json.loads(fault["before"] or "{}")
        # ZooKeeper could not be asked: who was in the ISR is not known, so it may have been whole.
        if not before.get("known", False):
            return True
        if any(struck.issuperset(isr) for isr in before["isr"].values()):
            return True
    return False


def _true(value: object) -> bool:
    return str(value).lower() == "true"


def _version(text: str) -> bool:
    """Whether an inter.broker.protocol.version has leader epochs: "0.10.2-IV0", "3.9"."""
    numbers = tuple(int(part) for part in text.split("-", 1)[0].split(".")[:2])
    return numbers >= FIRST_WITH_EPOCHS
