"""The targets: names of roles, resolved to nodes at the moment of injection.

The plan names a target, the history the nodes that were hit. A node's own name is a target too, and
so is a worker's: `producer-0` stands for whoever does that worker's part now, a successor included.
A new target is one entry in _NODES (its name, its kind, its words, the nodes it means) and one in
harness.model.target_roles, by which a stored run is judged. Those of workers follow from their
kinds (harness.model.worker_kinds).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from harness.cluster.nodes import Node, brokers, quorum, zookeepers
from harness.model.worker_kinds import KINDS, PROGRAM, WorkerKind
from harness.nemesis.target import (
    Chosen,
    NoTarget,
    Roles,
    Setting,
    Target,
    can_be,
    nobody_for_certain,
)


def _leader(roles: Roles) -> Chosen:
    return [roles.state.leader] if roles.state else []


def _followers(roles: Roles) -> Chosen:
    return [n for n in roles.state.isr if n != roles.state.leader] if roles.state else []


def _last_isr(roles: Roles) -> Chosen:
    alone = roles.state is not None and len(roles.state.isr) == 1
    return roles.state.isr if roles.state and alone else []


def _controller(roles: Roles) -> Chosen:
    return [roles.view.controller]


def _leader_and_controller(roles: Roles) -> Chosen:
    return [name for name in _leader(roles) if name == roles.view.controller]


def _leader_not_controller(roles: Roles) -> Chosen:
    return [name for name in _leader(roles) if name != roles.view.controller]


def _rack(roles: Roles) -> Chosen:
    """All brokers of the rack in which the leader stands."""
    racks = {node.name: node.rack or node.name for node in brokers(roles.nodes)}
    its = {racks[name] for name in _leader(roles) if name}
    return [name for name, rack in racks.items() if rack in its]


def _preferred_leader(roles: Roles) -> Chosen:
    assignment = roles.view.assignment
    return [assignment[roles.partition][0]] if roles.partition < len(assignment) else []


def _zk_leader(roles: Roles) -> Chosen:
    return [roles.ensemble_leader()]


def _zk_followers(roles: Roles) -> Chosen:
    leader = roles.ensemble_leader()
    return [node.name for node in zookeepers(roles.nodes) if leader and node.name != leader]


def _brokers(roles: Roles) -> Chosen:
    return [node.name for node in brokers(roles.nodes)]


def _ensemble(roles: Roles) -> Chosen:
    return [node.name for node in zookeepers(roles.nodes)]


def _quorum(roles: Roles) -> Chosen:
    return [node.name for node in quorum(roles.nodes)]


def _quorum_leader(roles: Roles) -> Chosen:
    """The ensemble's leader; in KRaft the active controller (KIP-595)."""
    return _zk_leader(roles) if zookeepers(roles.nodes) else _controller(roles)


def _quorum_followers(roles: Roles) -> Chosen:
    leader = next(iter(_quorum_leader(roles)))
    return [name for name in _quorum(roles) if leader and name != leader]


def _workers(kind: str) -> Callable[[Roles], Chosen]:
    return lambda roles: [node.name for node in roles.clients if node.worker == kind]


def _one(among: Callable[[Roles], Chosen]) -> Callable[[Roles], Chosen]:
    """One of them, by the seed."""

    def chosen(roles: Roles) -> Chosen:
        names = [name for name in among(roles) if name]
        names = [name for name in names if _able(name, roles)] or names
        return [roles.random.choice(names)] if names else []

    return chosen


def _some(among: Callable[[Roles], Chosen], size: Callable[[int], int]) -> Callable[..., Chosen]:
    """`size` of their number of them, chosen by the seed, in the nodes' order."""

    def chosen(roles: Roles) -> Chosen:
        names = [name for name in among(roles) if name]
        order = roles.random.sample(names, len(names))
        order.sort(key=lambda name: not _able(name, roles))
        drawn = order[: size(len(names))]
        return [name for name in names if name in drawn]

    return chosen


def _able(name: str, roles: Roles) -> bool:
    return roles.able is None or name in roles.able


def minority(count: int) -> int:
    """The most nodes that can fail while more than half stay."""
    return (count - 1) // 2


def majority(count: int) -> int:
    """The fewest nodes that are more than half."""
    return count // 2 + 1


# The targets


def _unless(possible: Callable[[Setting], bool], otherwise: str) -> Callable[[Setting], str | None]:
    return lambda setting: None if possible(setting) else otherwise


def _named(stem: str) -> Callable[[Setting], frozenset[str]]:
    return lambda setting: setting.named(stem)


_FOLLOWED = _unless(
    lambda s: s.replicas > 1,
    "with one replica there is no follower: raise topic.replication_factor",
)
_TWO_BROKERS = _unless(
    lambda s: s.brokers > 1,
    "a single broker is always leader and controller: raise cluster.brokers",
)
_BROKER_MINORITY = _unless(
    lambda s: minority(s.brokers) > 0,
    "fewer than three brokers have no minority: raise cluster.brokers",
)
_RACKS = _unless(
    lambda s: s.racks > 0,
    "each broker stands in a rack of its own: set cluster.racks, or use leader",
)
_TRANSACTIONS = _unless(
    lambda s: s.transactions,
    "no producer uses transactions: set workload.producer.transactional.id",
)
_ZK_ENSEMBLE = _unless(
    lambda s: s.zookeepers > 1,
    "a single ZooKeeper neither leads nor follows: raise cluster.zookeepers, or name zk1",
)
_ZK_MINORITY = _unless(
    lambda s: minority(s.zookeepers) > 0,
    "fewer than three ZooKeepers have no minority: raise cluster.zookeepers",
)

_QUORUM = _unless(
    lambda s: s.keepers > 1,
    "a single node neither leads nor follows: raise cluster.controllers or cluster.zookeepers",
)
_QUORUM_MINORITY = _unless(
    lambda s: minority(s.keepers) > 0,
    "fewer than three have no minority: raise cluster.controllers or cluster.zookeepers",
)
_BROKER_CONTROLS = _unless(
    lambda s: s.broker_controls,
    'no broker is the controller of a cluster with cluster.metadata = "kraft": use leader, or '
    "controller",
)

_broker = partial(Target, kind="broker")
_zookeeper = partial(Target, kind="zookeeper")
_NODES = (
    _broker(name="leader", who="the leader", choose=_leader, plays="leader"),
    _broker(name="follower", who="a follower", choose=_one(_followers), impossible=_FOLLOWED),
    _broker(
        name="followers",
        who="all followers",
        many=True,
        choose=_followers,
        plays="follower",
        impossible=_FOLLOWED,
    ),
    _broker(name="last-isr", who="the last in-sync replica", choose=_last_isr, plays="last-isr"),
    _broker(name="controller", who="the controller", choose=_controller, plays="controller"),
    _broker(
        name="leader-and-controller",
        who="the leader, also the controller,",
        choose=_leader_and_controller,
        impossible=_BROKER_CONTROLS,
    ),
    _broker(
        name="leader-not-controller",
        who="the leader, not the controller,",
        choose=_leader_not_controller,
        impossible=_TWO_BROKERS,
    ),
    _broker(
        name="rack",
        who="the leader's rack",
        choose=_rack,
        impossible=_RACKS,
    ),
    _broker(
        name="preferred-leader",
        who="the preferred leader",
        choose=_preferred_leader,
        plays="preferred-leader",
    ),
    _broker(
        name="group-coordinator",
        who="the group coordinator",
        choose=lambda roles: [roles.coordinator("group")],
        plays="group-coordinator",
    ),
    _broker(
        name="transaction-coordinator",
        who="the transaction coordinator",
        choose=lambda roles: [roles.coordinator("transaction")],
        plays="transaction-coordinator",
        impossible=_TRANSACTIONS,
    ),
    _broker(name="one", who="a random broker", choose=_one(_brokers)),
    _broker(name="random", who="a random broker", choose=_one(_brokers)),
    _broker(
        name="minority",
        who="a minority of the brokers",
        choose=_some(_brokers, minority),
        impossible=_BROKER_MINORITY,
    ),
    _broker(name="majority", who="a majority of the brokers", choose=_some(_brokers, majority)),
    _broker(name="all", who="every broker", choose=_brokers, certain=_named("kafka")),
    _zookeeper(
        name="zk-leader",
        who="the ZooKeeper leader",
        choose=_zk_leader,
        plays="zk-leader",
        impossible=_ZK_ENSEMBLE,
    ),
    _zookeeper(
        name="zk-follower",
        who="a ZooKeeper follower",
        choose=_one(_zk_followers),
        impossible=_ZK_ENSEMBLE,
    ),
    _zookeeper(
        name="zk-followers",
        who="the ZooKeeper followers",
        many=True,
        choose=_zk_followers,
        plays="zk-follower",
        impossible=_ZK_ENSEMBLE,
    ),
    _zookeeper(name="zk-one", who="a random ZooKeeper member", choose=_one(_ensemble)),
    _zookeeper(
        name="zk-minority",
        who="a minority of the ZooKeeper members",
        choose=_some(_ensemble, minority),
        impossible=_ZK_MINORITY,
    ),
    _zookeeper(
        name="zk-majority",
        who="a majority of the ZooKeeper members",
        choose=_some(_ensemble, majority),
    ),
    _zookeeper(name="zk-all", who="every ZooKeeper member", choose=_ensemble, certain=_named("zk")),
)
_OF_QUORUM = tuple(
    _zookeeper(
        name=f"quorum-{name}",
        who=who,
        many=name == "followers",
        choose=choose,
        impossible=impossible,
        certain=(lambda setting: setting.quorum) if name == "all" else nobody_for_certain,
    )
    for name, who, choose, impossible in (
        ("leader", "the quorum's leader", _quorum_leader, _QUORUM),
        ("follower", "a follower of the quorum", _one(_quorum_followers), _QUORUM),
        ("followers", "the quorum's followers", _quorum_followers, _QUORUM),
        ("one", "a random member of the quorum", _one(_quorum), can_be),
        ("minority", "a minority of the quorum", _some(_quorum, minority), _QUORUM_MINORITY),
        ("majority", "a majority of the quorum", _some(_quorum, majority), can_be),
        ("all", "every member of the quorum", _quorum, can_be),
    )
)


def worker_targets(kind: WorkerKind) -> tuple[Target, Target]:
    """One worker of a kind, by the seed, and all of them."""
    one = Target(
        name=kind.name,
        kind="client",
        who=kind.one,
        choose=_one(_workers(kind.name)),
        impossible=_unless(lambda s: bool(s.all_of(kind.name)), kind.lacking),
    )
    every = replace(
        one,
        name=f"{kind.name}s",
        who=kind.all,
        many=True,
        choose=_workers(kind.name),
        certain=lambda setting: setting.all_of(kind.name),
    )
    return one, every


_HIT = (*KINDS.values(), PROGRAM)
_WORKERS = (t for kind in _HIT if kind.hit_alone for t in worker_targets(kind))
TARGETS: dict[str, Target] = {target.name: target for target in (*_NODES, *_OF_QUORUM, *_WORKERS)}


def target_of(name: str, setting: Setting) -> Target | None:
    """The target of that name: a role, a node or a worker; None: unknown."""
    if name.startswith("quorum-") and name in TARGETS:
        return replace(TARGETS[name], kind=setting.keeper)
    if name == "controller" and not setting.broker_controls:
        return replace(TARGETS[name], kind="controller")
    if name in TARGETS:
        return TARGETS[name]
    kind = setting.kind_of(name)
    if kind is None:
        return None
    return Target(
        name=name,
        kind=kind,
        who=name,
        choose=lambda roles: _called(name, roles),
        certain=lambda _: frozenset({name}),
    )


# Resolving


def resolve(target: str, roles: Roles) -> tuple[Node, ...]:
    """The nodes that `target` means now. Raises NoTarget when nobody plays the role."""
    by_name = {node.name: node for node in (*roles.nodes, *roles.clients)}
    chosen = TARGETS[target].choose(roles) if target in TARGETS else _called(target, roles)
    nodes = tuple(by_name[name] for name in chosen if name)
    if not nodes:
        raise NoTarget(f"no node has the role {target} now")
    return nodes


def _called(name: str, roles: Roles) -> Chosen:
    """The node of that name, or the worker's successor: producer-0-2 is one of producer-0."""
    successor = re.compile(rf"{re.escape(name)}-\d+")
    names = [node.name for node in (*roles.nodes, *roles.clients)]
    return [candidate for candidate in names if candidate == name or successor.fullmatch(candidate)]


def roles_of(name: str, roles: Roles) -> list[str]:
    """The roles that a node plays now, for the history."""
    kinds = {node.role for node in roles.nodes if node.name == name}
    return [
        target.plays
        for target in TARGETS.values()
        if target.plays
        and (target.kind in kinds or target.name == "controller")
        and name in target.choose(roles)
    ]


__all__ = [
    "TARGETS",
    "NoTarget",
    "Roles",
    "Setting",
    "Target",
    "majority",
    "minority",
    "resolve",
    "roles_of",
    "target_of",
]
