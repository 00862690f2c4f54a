"""Who is hit: target names, resolved at the moment of injection from ZooKeeper's view.

The plan names a target, the history the nodes that were hit. A node's own name is a target too, and
so is a worker's: `producer-0` stands for whoever does that worker's part now, a successor included.

A target that can never mean anybody in a scenario (a follower of one replica) is refused when the
scenario is read (`impossible`). One that nobody plays at the moment is NoTarget: it may come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from harness.cluster.nodes import Node, Role, brokers, zookeepers
from harness.cluster.view.coordinators import Coordinated
from harness.cluster.view.state import PartitionState, View


class NoTarget(RuntimeError):
    """Nobody plays that role now: there is no leader, no controller…"""


def _nobody(_: Coordinated) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What a target may look at: the nodes, the cluster's view of itself, and seeded randomness.

    `clients` are the workers that live now; `coordinator` tells who coordinates the workload's
    group or transactions. `able` are those to whom the verb would do something now, from whom lots
    are drawn first; None: all.
    """

    nodes: tuple[Node, ...]
    view: View
    ensemble_leader: Callable[[], str | None]
    random: Random
    partition: int = 0
    clients: tuple[Node, ...] = ()
    coordinator: Callable[[Coordinated], str | None] = _nobody
    able: frozenset[str] | None = None

    @property
    def state(self) -> PartitionState | None:
        """The partition that targets mean; None when ZooKeeper never told of it."""
        states = self.view.partitions
        return states[self.partition] if self.partition < len(states) else None


Chosen = Sequence[str | None]


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


def _workers(part: str) -> Callable[[Roles], Chosen]:
    return lambda roles: [n.name for n in roles.clients if n.name.startswith(f"{part}-")]


def _one(among: Callable[[Roles], Chosen]) -> Callable[[Roles], Chosen]:
    """One of them, by the seed."""

    def chosen(roles: Roles) -> Chosen:
        names = [name for name in among(roles) if name]
        names = [name for name in names if _able(name, roles)] or names
        return [roles.random.choice(names)] if names else []

    return chosen


def _some(among: Callable[[Roles], Chosen], size: Callable[[int], int]) -> Callable[..., Chosen]:
    """As many of them as `size` makes of their number, by the seed, in the nodes' order."""

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
    """The most nodes that can go while more than half stay."""
    return (count - 1) // 2


def majority(count: int) -> int:
    """The fewest nodes that are more than half."""
    return count // 2 + 1


TARGETS: dict[str, Callable[[Roles], Chosen]] = {
    "leader": _leader,
    "follower": _one(_followers),
    "followers": _followers,
    "last-isr": _last_isr,
    "controller": _controller,
    "leader-and-controller": _leader_and_controller,
    "leader-not-controller": _leader_not_controller,
    "preferred-leader": _preferred_leader,
    "group-coordinator": lambda roles: [roles.coordinator("group")],
    "transaction-coordinator": lambda roles: [roles.coordinator("transaction")],
    "one": _one(_brokers),
    "random": _one(_brokers),
    "minority": _some(_brokers, minority),
    "majority": _some(_brokers, majority),
    "all": _brokers,
    "zk-leader": _zk_leader,
    "zk-follower": _one(_zk_followers),
    "zk-followers": _zk_followers,
    "zk-one": _one(_ensemble),
    "zk-minority": _some(_ensemble, minority),
    "zk-majority": _some(_ensemble, majority),
    "zk-all": _ensemble,
    "producer": _one(_workers("producer")),
    "producers": _workers("producer"),
    "consumer": _one(_workers("consumer")),
    "consumers": _workers("consumer"),
    "group-consumer": _one(_workers("group-consumer")),
    "group-consumers": _workers("group-consumer"),
}
_WORKER = re.compile(r"(producer|consumer|group-consumer)-(0|[1-9]\d*)")

# What the history says of who was hit: the role, and the target that names those who play it.
_TOLD: dict[Role, dict[str, str]] = {
    "broker": {
        "leader": "leader",
        "follower": "followers",
        "last-isr": "last-isr",
        "controller": "controller",
        "preferred-leader": "preferred-leader",
        "group-coordinator": "group-coordinator",
        "transaction-coordinator": "transaction-coordinator",
    },
    "zookeeper": {"zk-leader": "zk-leader", "zk-follower": "zk-followers"},
    "client": {},
}


def roles_of(name: str, roles: Roles) -> list[str]:
    """Which roles a node plays now, as the history says it of who was hit."""
    told = _TOLD[role_of(name)]
    return [role for role, target in told.items() if name in TARGETS[target](roles)]


def resolve(target: str, roles: Roles) -> tuple[Node, ...]:
    """The nodes that `target` means now. Raises NoTarget when nobody plays the role."""
    by_name = {node.name: node for node in (*roles.nodes, *roles.clients)}
    if target in TARGETS:
        found = tuple(by_name[name] for name in TARGETS[target](roles) if name)
    else:
        found = tuple(n for name, n in by_name.items() if name == target or _heir(name, target))
    if not found:
        raise NoTarget(f"there is no {target} now")
    return found


def _heir(name: str, target: str) -> bool:
    """Whether `name` is the successor of the worker `target`: producer-0-2 of producer-0."""
    return re.fullmatch(rf"{re.escape(target)}-\d+", name) is not None


def role_of(target: str) -> Role:
    """What kind of node a target, or a node's name, means."""
    if target.startswith("zk"):
        return "zookeeper"
    workers = ("producer", "consumer", "group-consumer", "client")
    return "client" if target.startswith(workers) else "broker"


# What can never be


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a scenario says about who there is."""

    brokers: int
    zookeepers: int
    partitions: int
    replicas: int
    producers: int  # workers of a stream; none of another kind of workload can be hit alone
    consumers: int
    members: int  # of the consumer group
    transactions: bool  # whether some worker has a transactional.id
    any_broker: bool = False  # brokers are named by ids that are not known yet


_NO_WORKER = 'only a workload of kind "stream" has such workers'
_IMPOSSIBLE: dict[str, tuple[Callable[[Setting], bool], str]] = {
    **dict.fromkeys(
        ("follower", "followers"),
        (
            lambda s: s.replicas < 2,
            "with one replica there is no follower: raise topic.replication_factor",
        ),
    ),
    "leader-not-controller": (
        lambda s: s.brokers < 2,
        "one broker is leader and controller in one: raise cluster.brokers",
    ),
    "minority": (
        lambda s: minority(s.brokers) < 1,
        "fewer than three brokers have no minority: raise cluster.brokers",
    ),
    "zk-minority": (
        lambda s: minority(s.zookeepers) < 1,
        "fewer than three ZooKeepers have no minority: raise cluster.zookeepers",
    ),
    **dict.fromkeys(
        ("zk-leader", "zk-follower", "zk-followers"),
        (
            lambda s: s.zookeepers < 2,
            "one ZooKeeper neither leads nor follows: raise cluster.zookeepers, or name zk1",
        ),
    ),
    "transaction-coordinator": (
        lambda s: not s.transactions,
        "nobody uses transactions: set workload.producer.transactional.id",
    ),
    **dict.fromkeys(("producer", "producers"), (lambda s: s.producers < 1, _NO_WORKER)),
    **dict.fromkeys(
        ("consumer", "consumers"),
        (lambda s: s.consumers < 1, f"{_NO_WORKER}, and workload.consumers must be at least 1"),
    ),
    **dict.fromkeys(
        ("group-consumer", "group-consumers"),
        (lambda s: s.members < 1, "set workload.group_consumers, or there is no group"),
    ),
}


def is_known(target: str, setting: Setting) -> bool:
    """Whether it is the name of a target, of a node or of a worker that starts with the load."""
    if worker := _WORKER.fullmatch(target):
        counts = {
            "producer": setting.producers,
            "consumer": setting.consumers,
            "group-consumer": setting.members,
        }
        return int(worker[2]) < counts[worker[1]]
    if setting.any_broker and re.fullmatch(r"kafka\d+", target):
        return True
    return target in TARGETS or is_node_name(target, setting.brokers, setting.zookeepers)


def impossible(target: str, setting: Setting) -> str | None:
    """Why a known target can never mean anybody here, with the remedy; None when it can."""
    never, why = _IMPOSSIBLE.get(target, (lambda _: False, ""))
    return why if never(setting) else None


def is_node_name(name: str, broker_count: int, zookeeper_count: int) -> bool:
    """Whether `name` is kafka1..N or zk1..M."""
    match = re.fullmatch(r"(kafka|zk)([1-9]\d*)", name)
    if not match:
        return False
    count = broker_count if match[1] == "kafka" else zookeeper_count
    return int(match[2]) <= count
