"""Who is hit: target names, resolved at the moment of injection from ZooKeeper's view.

The plan names a target, the history the nodes that were hit. A node's own name is a target too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from harness.cluster import Node, brokers
from harness.cluster.view import View


class NoTarget(RuntimeError):
    """Nobody plays that role now: there is no leader, no controller…"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What a target may look at: the nodes, the cluster's view of itself, and seeded randomness."""

    nodes: tuple[Node, ...]
    view: View
    ensemble_leader: Callable[[], str | None]
    random: Random
    partition: int = 0


def _leader(roles: Roles) -> Sequence[str | None]:
    return [roles.view.partitions[roles.partition].leader]


def _followers(roles: Roles) -> Sequence[str | None]:
    state = roles.view.partitions[roles.partition]
    return [name for name in state.isr if name != state.leader]


def _follower(roles: Roles) -> Sequence[str | None]:
    followers = [name for name in _followers(roles) if name]
    return [roles.random.choice(followers)] if followers else []


def _controller(roles: Roles) -> Sequence[str | None]:
    return [roles.view.controller]


def _random(roles: Roles) -> Sequence[str | None]:
    return [roles.random.choice(brokers(roles.nodes)).name]


def _zk_leader(roles: Roles) -> Sequence[str | None]:
    return [roles.ensemble_leader()]


def _all(roles: Roles) -> Sequence[str | None]:
    return [node.name for node in brokers(roles.nodes)]


TARGETS: dict[str, Callable[[Roles], Sequence[str | None]]] = {
    "leader": _leader,
    "follower": _follower,
    "followers": _followers,
    "controller": _controller,
    "random": _random,
    "zk-leader": _zk_leader,
    "all": _all,
}


def roles_of(name: str, roles: Roles) -> list[str]:
    """Which of the single roles a node plays now, as the history says it of who was hit."""
    state = roles.view.partitions[roles.partition] if roles.view.partitions else None
    played = []
    if state and name == state.leader:
        played.append("leader")
    elif state and name in state.isr:
        played.append("follower")
    if name == roles.view.controller:
        played.append("controller")
    return played


def resolve(target: str, roles: Roles) -> tuple[Node, ...]:
    """The nodes that `target` means now. Raises NoTarget when nobody plays the role."""
    by_name = {node.name: node for node in roles.nodes}
    if target in by_name:
        return (by_name[target],)
    found = tuple(by_name[name] for name in TARGETS[target](roles) if name)
    if not found:
        raise NoTarget(f"there is no {target} now")
    return found


def is_node_name(name: str, broker_count: int, zookeeper_count: int) -> bool:
    """Whether `name` is kafka1..N or zk1..M."""
    match = re.fullmatch(r"(kafka|zk)([1-9]\d*)", name)
    if not match:
        return False
    count = broker_count if match[1] == "kafka" else zookeeper_count
    return int(match[2]) <= count
