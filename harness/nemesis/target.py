"""A target, and what it is resolved by: which node plays which role now.

    Target(name="controller", kind="broker", who="the controller", choose=_controller)

A role that no node plays at the moment raises NoTarget: it may come. A target that can never mean
a node in a scenario (a follower of one replica) says so by `impossible`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from harness.cluster.nodes import Node, Role
from harness.cluster.view.coordinators import Coordinated
from harness.cluster.view.state import PartitionState, View
from harness.model.worker_kinds import PROGRAM

_CONTROLLER = r"controller\d+"


class NoTarget(RuntimeError):
    """No node plays that role now: there is no leader, no controller…"""


def _nobody(_: Coordinated) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What a target is resolved by: the nodes, the cluster's view of itself, seeded randomness.

    `clients` are the workers that live now; `coordinator` gives the coordinator of the
    workload's group or transactions. `able` names the nodes that the verb would affect now, which
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
        """The state of the partition that targets mean; None while the view has none."""
        states = self.view.partitions
        return states[self.partition] if self.partition < len(states) else None


Chosen = Sequence[str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The nodes and workers that a scenario asks for."""

    brokers: int
    zookeepers: int  # 0: KRaft keeps the metadata
    partitions: int
    replicas: int
    workers: Mapping[str, int]  # by kind, how many can be hit alone (harness.model.worker_kinds)
    transactions: bool  # whether some worker has a transactional.id
    programs: Mapping[str, int] = field(default_factory=dict)  # by name, how many of it
    racks: int = 0  # that brokers share; 0: each has its own
    any_broker: bool = False  # brokers, and controllers, are named by ids that are not known yet
    controllers: int = 0  # of KRaft, nodes of their own or, `combined`, the first brokers
    combined: bool = False
    dynamic: bool = False  # whether the quorum's own log says who votes (KIP-853)
    elr: bool = False  # whether partitions have eligible leader replicas (KIP-966)

    @property
    def keeper(self) -> Role:
        """The role of the nodes that keep the metadata."""
        if self.controllers:
            return "broker" if self.combined else "controller"
        return "zookeeper"

    @property
    def keepers(self) -> int:
        """How many nodes keep the metadata."""
        return self.controllers or self.zookeepers

    @property
    def quorum(self) -> frozenset[str]:
        """The names of the nodes that keep the metadata."""
        if not self.controllers:
            return self.named("zk")
        if not self.combined:
            return self.named("controller")
        return frozenset(f"kafka{number}" for number in range(1, self.controllers + 1))

    @property
    def broker_controls(self) -> bool:
        """Whether the active controller is a broker."""
        return self.combined or not self.controllers

    @property
    def _kinds(self) -> dict[str, tuple[Role, range]]:
        kinds: dict[str, tuple[Role, range]] = {
            "kafka": ("broker", range(1, self.brokers + 1)),
            "zk": ("zookeeper", range(1, self.zookeepers + 1)),
            "controller": ("controller", range(1, self.controllers * (not self.combined) + 1)),
        }
        for kind, count in (*self.workers.items(), *self.programs.items()):
            kinds[f"{kind}-"] = ("client", range(count))
        return kinds

    def named(self, stem: str) -> frozenset[str]:
        """The nodes or workers whose names are this stem and a number."""
        _, numbers = self._kinds.get(stem, (None, ()))
        return frozenset(f"{stem}{number}" for number in numbers)

    def all_of(self, kind: str) -> frozenset[str]:
        """The workers of that kind; the programs for "program"."""
        if kind != PROGRAM.name:
            return self.named(f"{kind}-")
        return frozenset().union(*(self.named(f"{name}-") for name in self.programs))

    def kind_of(self, name: str) -> Role | None:
        """The kind of the node, or of the worker that starts with the load, of that name."""
        if self.any_broker and re.fullmatch(r"kafka\d+", name):
            return "broker"
        if self.any_broker and self.keeper == "controller" and re.fullmatch(_CONTROLLER, name):
            return "controller"
        kinds = (kind for stem, (kind, _) in self._kinds.items() if name in self.named(stem))
        return next(kinds, None)


def can_be(_: Setting) -> str | None:
    """Of a target that can mean a node in any scenario."""
    return None


def nobody_for_certain(_: Setting) -> frozenset[str]:
    """Of a target whose nodes are known only when it is resolved."""
    return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a fault is aimed at, by role, by kind or by name.

    `who` is its name in reports ("the leader was killed"); `many`: it means several nodes. `plays`
    is the role that the history gives to those nodes. `impossible` says why it can never mean a
    node in a scenario, with the remedy; `certain` names the nodes that it means in any case.
    """

    name: str
    kind: Role
    who: str
    choose: Callable[[Roles], Chosen]
    many: bool = False
    plays: str | None = None
    impossible: Callable[[Setting], str | None] = can_be
    certain: Callable[[Setting], frozenset[str]] = nobody_for_certain
