"""Says which nodes a target can have meant, by the fault's own record, for a later judgement.

    target "leader", leader kafka1 at that moment           =>  kafka1 and nobody else
    target "follower", leader kafka1, ISR kafka1, kafka2    =>  kafka2
    target "one"                                            =>  any broker, but one
    target "group-coordinator"                              =>  one broker: which, is not recorded

Targets are chosen by the view that the fault's record has as `before`, so a node that contradicts
the view cannot have been chosen. harness.nemesis.targets chooses; a test holds that its choices fit
this. The name of a node or a worker is a target too (it includes a worker's successors:
producer-0-2 is one of producer-0); for any other target it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from harness.model.worker_kinds import KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Who was who when a fault began: of the first partition, which targets mean. None: not
    recorded."""

    leader: str | None = None
    isr: tuple[str, ...] | None = None
    controller: str | None = None
    nodes: Mapping[str, str]  # the cluster's: name -> role
    racks: Mapping[str, str] = field(default_factory=dict)  # of brokers that share them


Nodes = Collection[str]
Rule = Callable[[Moment, Nodes], bool | None]  # None: it cannot be told


def could_mean(target: str, moment: Moment, nodes: Nodes) -> bool | None:
    """Whether the target can have meant these nodes; None: unknown."""
    if target in _RULES:
        return _RULES[target](moment, nodes)
    for kind in KINDS:
        if target in (kind, f"{kind}s"):
            right = all(_is_worker(name, kind) for name in nodes)
            return right and (len(nodes) == 1 or target != kind)
        if _is_worker(target, kind):
            return all(name == target or name.startswith(f"{target}-") for name in nodes)
    return set(nodes) == {target} if target in moment.nodes else None


def _is_worker(name: str, kind: str) -> bool:
    return re.fullmatch(rf"{re.escape(kind)}-\d+(-\d+)*", name) is not None


# Brokers by what they do for the first partition


def _leader(moment: Moment, nodes: Nodes) -> bool | None:
    return None if moment.leader is None else set(nodes) == {moment.leader}


def _followers(moment: Moment) -> set[str] | None:
    if moment.leader is None or moment.isr is None:
        return None
    return set(moment.isr) - {moment.leader}


def _follower(moment: Moment, nodes: Nodes) -> bool | None:
    followers = _followers(moment)
    return None if followers is None else len(nodes) == 1 and followers.issuperset(nodes)


def _all_followers(moment: Moment, nodes: Nodes) -> bool | None:
    followers = _followers(moment)
    return None if followers is None else followers == set(nodes)


def _last_isr(moment: Moment, nodes: Nodes) -> bool | None:
    return None if moment.isr is None else len(moment.isr) == 1 and set(nodes) == set(moment.isr)


def _controller(moment: Moment, nodes: Nodes) -> bool | None:
    return None if moment.controller is None else set(nodes) == {moment.controller}


def _leader_and_controller(moment: Moment, nodes: Nodes) -> bool | None:
    answers = (_leader(moment, nodes), _controller(moment, nodes))
    return False if False in answers else None if None in answers else True


def _leader_not_controller(moment: Moment, nodes: Nodes) -> bool | None:
    leads, controls = _leader(moment, nodes), _controller(moment, nodes)
    return False if leads is False or controls else None if None in (leads, controls) else True


def _rack(moment: Moment, nodes: Nodes) -> bool | None:
    brokers = [name for name, role in moment.nodes.items() if role == "broker"]
    if moment.leader is None or not brokers:
        return None
    its = moment.racks.get(moment.leader, moment.leader)
    return set(nodes) == {name for name in brokers if moment.racks.get(name, name) == its}


# Nodes by their kind and number


def _so_many(role: str, size: Callable[[int], int]) -> Rule:
    """Whether the number of nodes is what `size` makes of all nodes of the role."""

    def rule(moment: Moment, nodes: Nodes) -> bool | None:
        every = {name for name, its in moment.nodes.items() if its == role}
        if not every:
            return None
        return every.issuperset(nodes) and len(set(nodes)) == size(len(every))

    return rule


def _of_quorum(size: Callable[[int], int]) -> Rule:
    """The same for the nodes that keep the metadata; which of combined nodes do is unknown."""

    def rule(moment: Moment, nodes: Nodes) -> bool | None:
        for role in ("zookeeper", "controller"):
            if role in moment.nodes.values():
                return _so_many(role, size)(moment, nodes)
        return None

    return rule


def _one(_: int) -> int:
    return 1


def _minority(count: int) -> int:
    return (count - 1) // 2


def _majority(count: int) -> int:
    return count // 2 + 1


def _all(count: int) -> int:
    return count


def _all_but_one(count: int) -> int:
    return count - 1


def _programs(moment: Moment, nodes: Nodes) -> bool:
    """Whether it can have meant programs: they have the user's names."""
    ours = (node in moment.nodes or any(_is_worker(node, kind) for kind in KINDS) for node in nodes)
    return bool(nodes) and not any(ours)


def _program(moment: Moment, nodes: Nodes) -> bool:
    return _programs(moment, nodes) and len(nodes) == 1


_RULES: dict[str, Rule] = {
    "program": _program,
    "programs": _programs,
    "leader": _leader,
    "follower": _follower,
    "followers": _all_followers,
    "last-isr": _last_isr,
    "controller": _controller,
    "leader-and-controller": _leader_and_controller,
    "leader-not-controller": _leader_not_controller,
    "rack": _rack,
    "preferred-leader": _so_many("broker", _one),
    "group-coordinator": _so_many("broker", _one),
    "transaction-coordinator": _so_many("broker", _one),
    "one": _so_many("broker", _one),
    "random": _so_many("broker", _one),
    "minority": _so_many("broker", _minority),
    "majority": _so_many("broker", _majority),
    "all": _so_many("broker", _all),
    "zk-leader": _so_many("zookeeper", _one),
    "zk-follower": _so_many("zookeeper", _one),
    "zk-followers": _so_many("zookeeper", _all_but_one),
    "zk-one": _so_many("zookeeper", _one),
    "zk-minority": _so_many("zookeeper", _minority),
    "zk-majority": _so_many("zookeeper", _majority),
    "zk-all": _so_many("zookeeper", _all),
    "quorum-leader": _of_quorum(_one),
    "quorum-follower": _of_quorum(_one),
    "quorum-followers": _of_quorum(_all_but_one),
    "quorum-one": _of_quorum(_one),
    "quorum-minority": _of_quorum(_minority),
    "quorum-majority": _of_quorum(_majority),
    "quorum-all": _of_quorum(_all),
}
