"""What a cluster says of itself at one moment, and what whoever is asked for it can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from harness.cluster.nodes import Node
from harness.cluster.view.coordinators import Coordinated


class Blind(Exception):
    """Nobody who could tell what the cluster thinks of itself has answered."""


BLIND = (KazooException, KazooTimeoutError, Blind)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """One partition as the controller last wrote it; names of nodes, not numbers.

    An empty ISR with a leader epoch is a state: nobody is in sync. Without one nothing is known.
    """

    leader: str | None
    isr: tuple[str, ...]
    leader_epoch: int | None
    elr: tuple[str, ...] | None = None  # who may lead though not in the ISR (KIP-966)
    partition_epoch: int | None = None  # of each change; both None where nobody tells them


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Every partition's state and the controller at one moment."""

    partitions: tuple[PartitionState, ...]
    controller: str | None
    known: bool = True  # False: nobody could be asked; this is the last known view
    assignment: tuple[
        tuple[str, ...], ...
    ] = ()  # each partition's replicas, preferred leader first
    # KRaft's controllers that do not vote as they are: removed, or with another disk than the one
    # that votes (KIP-853). None where nobody tells.
    observers: tuple[str, ...] | None = None

    @property
    def whole(self) -> bool:
        """Whether every partition has a leader and all its assigned replicas in the ISR."""
        return len(self.partitions) == len(self.assignment) and all(
            state.leader and set(state.isr) == set(replicas)
            for state, replicas in zip(self.partitions, self.assignment, strict=True)
        )

    def short_of(self, replicas: int) -> str:
        """`the ISR of partition 0 is kafka1, kafka3, of 3 replicas` of the first that is not full;
        empty where all are."""
        for number, state in enumerate(self.partitions):
            if state.leader is None:
                return f"partition {number} has no leader"
            if len(state.isr) < replicas:
                isr = ", ".join(state.isr)
                return f"the ISR of partition {number} is {isr}, of {replicas} replicas"
        return ""

    def as_record(self) -> dict[str, Any]:
        """The view as the nemesis writes it beside each fault."""
        return {
            "leader": {str(i): state.leader for i, state in enumerate(self.partitions)},
            "isr": {str(i): list(state.isr) for i, state in enumerate(self.partitions)},
            "controller": self.controller,
            "known": self.known,
        }


@runtime_checkable
class TellsFeatures(Protocol):
    """A view that knows at which levels the cluster's features are finalized (KIP-584)."""

    def features(self) -> dict[str, int]:
        """By their names; what cannot be told now raises one of BLIND."""


class ClusterView(Protocol):
    """A cluster's view of itself, whoever is asked for it; of one topic's first partitions.

    What cannot be told now raises one of BLIND.
    """

    topic: str
    partitions: int
    follows_added: bool  # whether partitions that a fault adds are its as well

    def connect(self, timeout_s: float) -> None:
        """Begin. Raises ClusterError when nobody answers in time."""

    def close(self) -> None:
        """End; safe when nobody answers any more."""

    def live_brokers(self) -> tuple[str, ...]:
        """Names of the brokers that are members of the cluster."""

    def registration(self, broker: Node) -> int | None:
        """A number that another process of the broker has another one of; None for no member."""

    def controller(self) -> str | None:
        """The controller's name; None while there is none."""

    def coordinator(self, kind: Coordinated, name: str, *, ask: bool = True) -> str | None:
        """The coordinator of a group.id or transactional.id; the last known one while blind, or
        when nobody is to be asked."""

    def assignment_of(self, topic: str) -> tuple[tuple[str, ...], ...]:
        """Each partition's assigned replicas, preferred leader first; empty for no topic."""

    def look(self) -> View:
        """The view now."""

    def agreed(self) -> tuple[PartitionState, ...]:
        """Every partition's state as it is now or later, never older."""

    def look_or_last(self) -> View:
        """The view now, or the last one marked as not known."""

    def recovered(self, replicas: int) -> str | None:
        """The sentence that says so once leaders, ISRs and brokers are all there; else None."""


class QuorumView(ClusterView, Protocol):
    """A view that is told how far controllers have got, which nobody else may ask."""

    def follows(self, controller: Node) -> bool:
        """Whether a controller has all that its quorum has committed."""
