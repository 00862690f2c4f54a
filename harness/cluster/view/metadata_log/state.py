"""The cluster's metadata, replayed from committed records of the metadata log.

    Topic t    Partition t-0: leader 1, ISR 1 2 3, epochs 0, 0    PartitionChange t-0: ISR 1 3
    =>  t-0: leader 1, ISR 1 3, leader epoch 0, partition epoch 1

A record that is about what is not there, as a broker's registration of an older epoch, changes
nothing. What lies in a transaction that has not ended does not count (KIP-868). Broken off, it
never will: that is what a new controller does to one that it finds open.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from uuid import UUID

from harness.cluster.view.metadata_log.commit import Copy
from harness.cluster.view.metadata_log.lineage import Place, behind, common_end
from harness.cluster.view.metadata_log.records import (
    BrokerChanged,
    BrokerGone,
    BrokerRegistered,
    ElrCleared,
    Feature,
    Partition,
    PartitionChanged,
    PartitionMade,
    Record,
    TopicGone,
    TopicMade,
    Transaction,
)

Load = Callable[[Place], Sequence[tuple[int, Record]]]  # the records of a copy's snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker that is registered."""

    epoch: int
    fenced: bool
    shutting_down: bool


class Metadata:
    """What the log says up to `end`."""

    def __init__(self) -> None:
        self.end = 0
        self.topics: dict[str, UUID] = {}
        self.brokers: dict[int, Registration] = {}
        self.features: dict[str, int] = {}
        self._partitions: dict[UUID, dict[int, Partition]] = {}
        self._open: list[Record] | None = None  # of a transaction

    def partitions(self, topic: str) -> dict[int, Partition]:
        """A topic's partitions by number; none without such a topic."""
        id_ = self.topics.get(topic)
        return {} if id_ is None else self._partitions.get(id_, {})

    def apply(self, record: Record) -> None:
        """Take the next record."""
        if isinstance(record, Transaction):
            kept = self._open if record.is_now == "ended" else None
            self._open = [] if record.is_now == "begun" else None
            for kept_record in kept or ():
                self._apply(kept_record)
        elif self._open is not None:
            self._open.append(record)
        else:
            self._apply(record)

    def _apply(self, record: Record) -> None:
        match record:
            case TopicMade(name=name, id=id_):
                self.topics[name] = id_
                self._partitions[id_] = {}
            case TopicGone(id=id_):
                self.topics = {name: id_of for name, id_of in self.topics.items() if id_of != id_}
                self._partitions.pop(id_, None)
            case PartitionMade(topic=topic, number=number, state=state):
                self._partitions.setdefault(topic, {})[number] = state
            case PartitionChanged(topic=topic, number=number):
                self._change(topic, number, record)
            case ElrCleared(topic=topic):
                self._clear_elr(topic)
            case BrokerRegistered(id=id_, epoch=epoch, fenced=fenced, shutting_down=down):
                self.brokers[id_] = Registration(epoch=epoch, fenced=fenced, shutting_down=down)
            case BrokerChanged(id=id_, epoch=epoch, fenced=fenced, shutting_down=down):
                broker = self.brokers.get(id_)
                if broker is not None and broker.epoch == epoch:
                    self.brokers[id_] = replace(
                        broker,
                        fenced=broker.fenced if fenced is None else fenced,
                        shutting_down=broker.shutting_down if down is None else down,
                    )
            case BrokerGone(id=id_, epoch=epoch):
                if id_ in self.brokers and self.brokers[id_].epoch == epoch:
                    del self.brokers[id_]
            case Feature(name=name, level=level):
                self.features.pop(name, None)
                self.features |= {name: level} if level else {}
            case _:  # control records: who leads and votes is asked of copies
                pass

    def _change(self, topic: UUID, number: int, change: PartitionChanged) -> None:
        partitions = self._partitions.get(topic, {})
        if number in partitions:
            partitions[number] = partitions[number].changed(change)

    def _clear_elr(self, topic: str) -> None:
        """As a change of each partition that has one (ReplicationControlManager)."""
        for id_ in [self.topics.get(topic)] if topic else list(self._partitions):
            for number, state in (self._partitions.get(id_, {}) if id_ else {}).items():
                if id_ and (state.elr or state.last_known_elr):
                    cleared = PartitionChanged(topic=id_, number=number, elr=(), last_known_elr=())
                    self._change(id_, number, cleared)


def advance(metadata: Metadata, copy: Copy, end: int) -> bool:
    """Go on to an offset by what a copy's log has; False where it does not go on from here.

    Raises Misread.
    """
    if not copy.start <= metadata.end <= end:
        return False
    first = bisect_right(copy.batches, metadata.end, key=lambda batch: batch.last_offset + 1)
    for batch in islice(copy.batches, first, None):
        if batch.base_offset >= end:
            break
        for offset, record in list(batch.records()):
            if metadata.end <= offset < end:
                metadata.apply(record)
        metadata.end = min(batch.last_offset + 1, end)
    return metadata.end == end


def replayed(copy: Copy, end: int, load: Load) -> Metadata | None:
    """What a copy says up to an offset: its log from the start on, or from the newest snapshot
    that is not behind that offset; None where it has neither. Raises OSError, Misread."""
    metadata = Metadata()
    if copy.start > 0:
        snapshots = [
            snapshot
            for snapshot in copy.snapshots
            if copy.start <= snapshot.end <= end
            and common_end(behind(snapshot), copy.lineage) >= snapshot.end
        ]
        if not snapshots:
            return None
        for _, record in load(max(snapshots)):
            metadata.apply(record)
        metadata.end = max(snapshots).end
    return metadata if advance(metadata, copy, end) else None
