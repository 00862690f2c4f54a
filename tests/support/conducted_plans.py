"""A conductor over a cluster that does as it is told and a load that stands where it is put."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from harness.cluster.capabilities import Cluster
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import Node
from harness.cluster.view.state import ClusterView, PartitionState, View
from harness.model.plan import Step
from harness.nemesis.conductor.conductor import Conductor
from harness.nemesis.conductor.waits import Limits
from harness.nemesis.undo_record import Undo
from harness.waiting import wait_until

NODES = local_nodes(3, 3)
SHORT = Limits(proof_s=0.05, heal_s=0.05, target_s=0.05, trigger_s=0.3)


@dataclass
class FakeCluster:
    """A cluster that does as it is told, and a load that stands where it is put."""

    nodes: tuple[Node, ...] = NODES
    leader: str | None = "kafka1"
    isr: tuple[str, ...] = ("kafka1", "kafka2", "kafka3")
    down: set[str] = field(default_factory=set)
    sent: int = 0
    held: list[int | None] = field(default_factory=list)
    groups: list[list[str]] = field(default_factory=list)
    bites: bool = True
    breaks: bool = False
    returns: bool = True
    lines: list[dict[str, Any]] = field(default_factory=list)
    kept: list[tuple[tuple[str, ...], set[str]]] = field(default_factory=list)
    limits: Limits = SHORT

    def look(self) -> View:
        state = PartitionState(leader=self.leader, isr=self.isr, leader_epoch=0)
        return View(partitions=(state,), controller="kafka2")

    look_or_last = look

    def live_brokers(self) -> tuple[str, ...]:
        return tuple(n.name for n in NODES if n.role == "broker" and n.name not in self.down)

    def recovered(self, replicas: int) -> str | None:
        return None if self.down else f"every ISR has {replicas} members"

    def acks(self) -> int:
        return self.sent

    rounds = acks

    def hold_after(self, rounds: int | None) -> None:
        self.held.append(rounds)

    def write(self, event: str, **fields: Any) -> None:
        self.lines.append({"event": event, **fields})

    def keep(self, nodes: Sequence[Node]) -> None:
        """Note of whom it was to be kept, and who was down then."""
        self.kept.append((tuple(node.name for node in nodes), set(self.down)))

    def lines_of(self, event: str, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if (line["event"], line["type"]) == (event, kind)]


def step(number: int = 0, **changes: Any) -> Step:
    defaults: dict[str, Any] = {
        "step": number,
        "series": 0,
        "verb": "fell",
        "target": "leader",
        "unit": "rounds",
        "at": 10.0,
        "for_s": 0.0,
        "until": None,
        "options": {},
        "seed": 1,
    }
    return Step(**{**defaults, **changes})


def conductor(
    world: FakeCluster, *steps: Step, undo: Undo | None = None, clients: Any = None
) -> Conductor:
    made = Conductor(
        steps=steps,
        cluster=cast(Cluster, world),
        view=cast(ClusterView, world),
        load=world,
        replicas=3,
        write=world.write,
        tell=lambda line: None,
        undo=undo,
        clients=clients,
        keep=world.keep,
        limits=world.limits,
    )
    made.start(0)
    return made


def finish(made: Conductor) -> None:
    wait_until(made.done, timeout_s=10, what="the plan to end")
