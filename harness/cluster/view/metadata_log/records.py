"""What the metadata log says, record by record: who leads what, and who belongs to the cluster.

Numbers are those of nodes; topics are named by their ids, as their partitions name them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal
from uuid import UUID

NOBODY: Final = -1  # as a leader
Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition's state, in numbers of brokers."""

    leader: int | None
    leader_epoch: int
    partition_epoch: int
    replicas: Ids  # preferred leader first
    isr: Ids
    elr: Ids = ()
    last_known_elr: Ids = ()

    def changed(self, change: PartitionChanged) -> Partition:
        """The state after a change. Each raises the partition epoch; one that names a leader
        raises the leader epoch, be it the same leader or nobody (PartitionRegistration.merge)."""
        fields = {
            name: value
            for name in ("replicas", "isr", "elr", "last_known_elr")
            if (value := getattr(change, name)) is not None
        }
        if change.leader is not None:
            fields["leader"] = None if change.leader == NOBODY else change.leader
            fields["leader_epoch"] = self.leader_epoch + 1
        return replace(self, partition_epoch=self.partition_epoch + 1, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMade:
    """A partition's whole state: a new one, or of a snapshot."""

    topic: UUID
    number: int
    state: Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChanged:
    """What changed of a partition; None for what did not."""

    topic: UUID
    number: int
    leader: int | None = None  # NOBODY: it has none now
    replicas: Ids | None = None
    isr: Ids | None = None
    elr: Ids | None = None
    last_known_elr: Ids | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMade:
    """A topic, which its partitions name by its id."""

    name: str
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicGone:
    """A topic and all its partitions are no more."""

    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ElrCleared:
    """No partition of the topic, or of any, has an ELR now."""

    topic: str  # empty: of any


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistered:
    """A broker's process joined; the epoch is its own, and the offset of this record."""

    id: int
    epoch: int
    fenced: bool
    shutting_down: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerChanged:
    """A registered broker is fenced now, or not, or begins to shut down; None: as before."""

    id: int
    epoch: int
    fenced: bool | None = None
    shutting_down: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerGone:
    """A broker is registered no more."""

    id: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature's finalized level; 0: it has none."""

    name: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """What lies between `begun` and `ended` counts from there on, or never."""

    is_now: Literal["begun", "ended", "aborted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChange:
    """The first record of each epoch: who was elected."""

    leader: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """Who may vote: a node's number, and the id of its disk (KIP-853), None where any will do."""

    id: int
    directory: UUID | None = None

    def is_one(self, other: Voter) -> bool:
        """Whether this node, with the disk that it has, is that voter."""
        return self.id == other.id and other.directory in (None, self.directory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """All who may vote from this record on."""

    voters: tuple[Voter, ...]


Record = (
    PartitionMade
    | PartitionChanged
    | TopicMade
    | TopicGone
    | ElrCleared
    | BrokerRegistered
    | BrokerChanged
    | BrokerGone
    | Feature
    | Transaction
    | LeaderChange
    | Voters
)
