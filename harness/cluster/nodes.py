"""The nodes of a cluster: ZooKeepers or controllers, brokers; workers where a fault hits them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.model.plan import NodeKind
from harness.model.sections.cluster import ClusterPart

Role = NodeKind

CONTROLLER_PORT = 9093
CONTROLLER_IDS = 100  # controller1, of its own, is node 101

# Why a sound node may end itself while it starts: a broker's old session with ZooKeeper still
# lives, its new one expired on a starved host, or ZooKeeper was away for too long; a KRaft
# controller with an empty disk hears that it is the leader, and knows of no election.
TRANSIENT_EXITS = (
    *("NodeExists", "SessionExpired", "ZooKeeperClientTimeout"),
    "which is inconsistent with current leader",
)


class ClusterError(RuntimeError):
    """The cluster could not do its job; the message is one sentence for the user, `log` what a node
    wrote last, where that is why."""

    def __init__(self, message: str, *, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class NotInTime(ClusterError):
    """The cluster did not do a request in time, and did not say why."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Node:
    """One node, at one endpoint for the whole run, however often it restarts.

    Clients are nodes too where a fault hits them: the place that all workers share (`clients_of`),
    or a single worker (`Clients`).
    """

    name: str  # zk1, controller1, kafka2
    role: Role
    id: int  # ZooKeeper's myid, Kafka's broker.id or node.id
    address: str  # what its peers see as the source of its packets
    port: int  # of the listener for clients, at that address
    dialled: tuple[str, int] | None = None  # host and port, where clients must dial others
    worker: str | None = None  # the kind of a single worker: producer, consumer, …
    rack: str = ""  # a broker's `broker.rack`; empty: one of its own, called as it is
    combined: bool = False  # a broker that is a controller too, at CONTROLLER_PORT

    @property
    def dial(self) -> tuple[str, int]:
        """Host and port by which workers and the harness reach it."""
        return self.dialled or (self.address, self.port)

    @property
    def endpoint(self) -> str:
        """The address that a client is given: host:port."""
        host, port = self.dial
        return f"{host}:{port}"

    @property
    def quorum_endpoint(self) -> str:
        """Where the other nodes reach a controller: host:port."""
        return f"{self.address}:{CONTROLLER_PORT if self.combined else self.port}"


def to_come(wanted: ClusterPart, ports: Mapping[Role, int]) -> tuple[Node, ...]:
    """The nodes of a cluster that is not made yet, those that keep the metadata first, with their
    ports; their addresses are not known."""
    kept = {"zookeeper": wanted.zookeepers, "controller": wanted.controllers}
    keeper: Role = "zookeeper" if wanted.has_zookeeper else "controller"
    counts: dict[Role, int] = {keeper: kept[keeper], "broker": wanted.brokers}
    stems = {role: stem for stem, role in _ROLES.items()}
    return tuple(
        Node(
            name=f"{stems[role]}{i}",
            role=role,
            id=i + CONTROLLER_IDS * (role == "controller"),
            address="",
            port=ports[role],
        )
        for role, count in counts.items()
        for i in range(1, count + 1)
    )


def brokers(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The brokers among `nodes`, in order."""
    return tuple(node for node in nodes if node.role == "broker")


def zookeepers(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The ensemble's members among `nodes`, in order."""
    return tuple(node for node in nodes if node.role == "zookeeper")


def controllers(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The controllers of KRaft among `nodes`, combined ones too, in order."""
    return tuple(node for node in nodes if node.role == "controller" or node.combined)


def quorum(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes that keep the cluster's metadata: ZooKeepers or controllers, in order."""
    return zookeepers(nodes) or controllers(nodes)


def in_racks(nodes: Sequence[Node], racks: int) -> tuple[Node, ...]:
    """The nodes with their brokers in so many racks, in turn; 0: each in one of its own."""
    if not racks:
        return tuple(nodes)
    return tuple(
        replace(node, rack=f"rack{(node.id - 1) % racks + 1}") if node.role == "broker" else node
        for node in nodes
    )


def role_by_name(word: str) -> Role | None:
    """The role of a node of that name (kafka7, zk1), whether there is one or not; None for any
    other word."""
    match = re.fullmatch(r"(kafka|zk|controller)\d+", word)
    return _ROLES[match[1]] if match else None


_ROLES: dict[str, Role] = {"kafka": "broker", "zk": "zookeeper", "controller": "controller"}
