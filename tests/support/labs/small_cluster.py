"""One partition on three brokers, in a few dicts: cluster, view and whoever takes requests."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from kazoo.exceptions import ConnectionLoss

from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import Node
from harness.cluster.view.state import Blind, ClusterView, PartitionState, View
from harness.nemesis.options import Options
from harness.nemesis.targets import Roles
from harness.nemesis.verb import Injection

NODES = local_nodes(3, 3)
KAFKA1, KAFKA2, _ = NODES[3:]


@dataclass
class Small:
    """One partition of one topic and three brokers, all in a few dicts: cluster, view, and who
    takes requests."""

    nodes: tuple[Node, ...] = NODES
    topic: str = "t"
    partitions: int = 1
    follows_added: bool = False
    replicas: tuple[str, ...] = ("kafka1", "kafka2")
    leader: str | None = "kafka1"
    blind: bool = False
    pids: dict[str, int | None] = field(default_factory=lambda: {n.name: n.id for n in NODES})
    registered: dict[str, int] = field(default_factory=dict)
    asked: tuple[str, ...] | None = None  # the replicas that are on their way
    asks: int = 0
    deaf: bool = False  # no broker takes a request
    elections: list[str] = field(default_factory=list)
    signals: list[tuple[str, str]] = field(default_factory=list)
    starts: int = 0
    added: dict[int, Any] = field(default_factory=dict)
    said: str | None = None  # by a process that ended itself

    # What the view says

    def _see(self) -> None:
        if self.blind:
            raise ConnectionLoss

    def look(self) -> View:
        self._see()
        state = PartitionState(leader=self.leader, isr=self.replicas, leader_epoch=0)
        return View(partitions=(state,), controller="kafka3", assignment=(self.replicas,))

    def assignment_of(self, _: str) -> tuple[tuple[str, ...], ...]:
        self._see()
        return (self.replicas,)

    def live_brokers(self) -> tuple[str, ...]:
        return tuple(n.name for n in NODES[3:] if self.pids[n.name])

    def registration(self, node: Node) -> int | None:
        return self.registered.get(node.name)

    # Requests

    def _listen(self) -> None:
        if self.deaf:
            raise Blind("no broker takes the request: kafka1: timed out")

    def reassign(self, wanted: Mapping[tuple[str, int], Sequence[int]]) -> None:
        self._listen()
        self.asks += 1
        self.asked = tuple(f"kafka{i}" for i in wanted["t", 0])
        self.replicas = tuple(dict.fromkeys((*self.asked, *self.replicas)))

    def moving(self) -> frozenset[tuple[str, int]]:
        self._listen()
        return frozenset({("t", 0)} if self.asked else ())

    def elect(self, topic: str, partitions: Sequence[int], how: str) -> None:
        self._listen()
        assert (topic, list(partitions)) == ("t", [0])
        self.elections.append(how)
        self.leader = self.replicas[0]

    def metadata(self) -> Any:
        self._listen()
        known = {0: SimpleNamespace(leader=1)} | self.added
        return SimpleNamespace(topics={"t": known})

    # What the controller does

    def settle(self) -> None:
        assert self.asked is not None
        self.replicas, self.asked = self.asked, None

    # Processes

    def signal(self, node: Node, number: signal.Signals) -> None:
        self.signals.append((node.name, number.name))
        self.pids[node.name] = None

    def start_node(self, node: Node) -> None:
        self.starts += 1
        self.pids[node.name] = self.registered[node.name] = 100 + self.starts

    def state(self, node: Node) -> NodeState:
        return NodeState(pid=self.pids[node.name], stopped=False)

    def exited_early(self, node: Node) -> str | None:
        return self.said if self.pids[node.name] is None else None


def injection(small: Small, *nodes: Node, **options: Any) -> Injection:
    roles = Roles(nodes=NODES, view=small.look(), ensemble_leader=lambda: None, random=Random(1))
    return Injection(
        fault=0,
        nodes=nodes,
        roles=roles,
        cluster=cast(Cluster, small),
        view=cast(ClusterView, small),
        options=cast(Options, options),
        seed=1,
    )
