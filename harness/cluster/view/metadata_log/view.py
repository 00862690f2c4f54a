"""What a KRaft cluster thinks of itself, read from its controllers' disks.

    controller1, controller2 have   t-0: leader kafka2, leader epoch 5, ISR kafka2 kafka3
    controller3, cut off, has       t-0: leader kafka1, leader epoch 4, ISR kafka1
    =>  leader kafka2, ISR kafka2 kafka3

Nobody is asked, so nobody need answer: the disks tell as much while all controllers are down. Shown
is what is committed (`commit` has the rule), and only that. A record counts once a majority of the
voters has it on disk, where a reader sees it; a broker acts by it when it has heard that it is
committed, which is later.

A quorum that is lost is not blindness: while nothing can be committed, the state that was committed
last is the state. Blind is who finds the log on no disk, or nothing committed in it yet, or a
record that this version of the harness cannot read. A disk that is gone or wiped takes back nothing
that was seen.

The controller is the leader of the newest epoch of which something is committed. Whether it still
lives the log does not say: it stays until another one's first record is committed. Where every copy
begins behind that record, nobody is named.

Nodes: kafkaN has the number N. Controllers have numbers of their own, or are brokers as well.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from harness.cluster.nodes import ClusterError, Node, brokers
from harness.cluster.view.coordinators import TOPICS, Coordinated, partition_of
from harness.cluster.view.last_known import Memory, recovered
from harness.cluster.view.metadata_log.reader import Reader
from harness.cluster.view.metadata_log.records import Partition
from harness.cluster.view.metadata_log.state import Metadata
from harness.cluster.view.state import Blind, PartitionState, View
from harness.waiting import WaitTimeout, wait_until


class MetadataLogView:
    """The view by the metadata log; `folders` are those of its copies (`__cluster_metadata-0`) by
    the nodes' names, and `static` names the voters where they are configured, None where the log
    alone names them (KIP-853)."""

    def __init__(
        self,
        nodes: Sequence[Node],
        topic: str,
        partitions: int,
        folders: Mapping[str, Path],
        static: Collection[str] | None,
    ) -> None:
        self.topic, self.partitions, self.follows_added = topic, partitions, False
        self._brokers = {node.id: node.name for node in brokers(nodes)}
        self._names = {node.id: node.name for node in nodes if node.name in folders}
        voters = [node.id for node in nodes if node.name in (static or ())]
        by_id = {id_: folders[name] for id_, name in self._names.items()}
        self._reader = Reader(by_id, voters)
        self._memory = Memory()
        self._lock = threading.RLock()

    def connect(self, timeout_s: float) -> None:
        """Wait until something is committed. Raises ClusterError where nothing is in time."""
        what = "the metadata log on the controllers' disks"
        try:
            wait_until(self.look, timeout_s=timeout_s, what=what, ignoring=(Blind,))
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None

    def close(self) -> None:
        """Nothing is open between two looks."""

    def live_brokers(self) -> tuple[str, ...]:
        """Names of the brokers that are registered and not fenced. Raises Blind."""
        with self._now() as metadata:
            return self._of(
                sorted(n for n, broker in metadata.brokers.items() if not broker.fenced)
            )

    def registration(self, broker: Node) -> int | None:
        """The broker's epoch, which every process gets anew; None while it is fenced or not
        registered. Raises Blind."""
        with self._now() as metadata:
            registered = metadata.brokers.get(broker.id)
            return registered.epoch if registered and not registered.fenced else None

    def controller(self) -> str | None:
        """The active controller's name; None where nobody knows it. Raises Blind."""
        with self._now():
            return self._controller()

    def features(self) -> dict[str, int]:
        """The finalized features and their levels. Raises Blind."""
        with self._now() as metadata:
            return dict(metadata.features)

    def went_back(self) -> tuple[int, ...]:
        """The topic's partitions whose state went back so far, in order; one as often as it did."""
        with self._lock:
            states = (state for back in self._reader.backs for state in back.states)
            return tuple(state.number for state in states if state.topic == self.topic)

    def coordinator(self, kind: Coordinated, name: str, *, ask: bool = True) -> str | None:
        """The coordinator of a group.id or transactional.id; the last known one while blind, or
        when nobody is to be asked."""
        question = partial(self._coordinator, TOPICS[kind], name) if ask else None
        return self._memory.coordinator(kind, name, question)

    def assignment_of(self, topic: str) -> tuple[tuple[str, ...], ...]:
        """Each partition's assigned replicas, preferred leader first; empty without such a topic.

        Raises Blind.
        """
        with self._now() as metadata:
            partitions = sorted(metadata.partitions(topic).items())
            return tuple(self._of(state.replicas) for _, state in partitions)

    def look(self) -> View:
        """The view now. Raises Blind."""
        with self._now() as metadata:
            partitions = metadata.partitions(self.topic)
            own = [partitions[number] for number in range(self.partitions) if number in partitions]
            return self._memory.keep(
                View(
                    partitions=self._states(metadata),
                    controller=self._controller(),
                    assignment=tuple(self._of(state.replicas) for state in own),
                    observers=self._observers(),
                )
            )

    def agreed(self) -> tuple[PartitionState, ...]:
        """Every partition's state as it is now or later, never older: whatever a broker acted by
        before the call was on a majority's disks before it.

        Raises Blind, too, where more may be committed than can be proved: a voter's copy is not
        there, or a new leader's first record is not on a majority yet. It cannot tell where a disk
        was wiped, and written anew, before anybody looked at what it had last.
        """
        with self._now() as metadata:
            if self._reader.may_have_more():
                raise Blind("more may be committed than the controllers' disks prove")
            return self._states(metadata)

    def look_or_last(self) -> View:
        """The view now, or the last one marked as not known."""
        return self._memory.look_or_last(self.look)

    def recovered(self, replicas: int) -> str | None:
        """The sentence that says so once leaders, ISRs and brokers are all there, and every voter
        has what is committed, or has lost its disk and its vote with it; else None."""
        said = recovered(self, self._brokers.values(), replicas, "registered")
        with self._lock:
            if not said or not self._reader.level():
                return None
            lost = [self._names.get(id_, f"node {id_}") for id_ in self._reader.replaced()]
            but = f" but {', '.join(lost)}, whose disk is another one" if lost else ""
            return f"{said}, every voter is level{but}"

    # Parts

    @contextmanager
    def _now(self) -> Iterator[Metadata]:
        """What is committed now; nobody looks again meanwhile. Raises Blind."""
        with self._lock:
            self._reader.look()
            yield self._reader.metadata

    def _coordinator(self, topic: str, name: str) -> str | None:
        with self._now() as metadata:
            partitions = metadata.partitions(topic)
            state = partitions.get(partition_of(name, len(partitions))) if partitions else None
            return self._leader(state)

    def _observers(self) -> tuple[str, ...]:
        vote = set(self._reader.voters()) - set(self._reader.replaced())
        return tuple(name for id_, name in sorted(self._names.items()) if id_ not in vote)

    def _controller(self) -> str | None:
        leader = self._reader.leader()
        return None if leader is None else self._names.get(leader)

    def _states(self, metadata: Metadata) -> tuple[PartitionState, ...]:
        partitions = metadata.partitions(self.topic)
        return tuple(self._state(partitions.get(number)) for number in range(self.partitions))

    def _state(self, partition: Partition | None) -> PartitionState:
        if partition is None:
            return PartitionState(leader=None, isr=(), leader_epoch=None)
        return PartitionState(
            leader=self._leader(partition),
            isr=self._of(sorted(partition.isr)),
            leader_epoch=partition.leader_epoch,
            elr=self._of(sorted(partition.elr)),
            partition_epoch=partition.partition_epoch,
        )

    def _leader(self, partition: Partition | None) -> str | None:
        if partition is None or partition.leader is None:
            return None
        return self._of((partition.leader,))[0]

    def _of(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Names of brokers, also of one that joined later."""
        return tuple(self._brokers.get(id_, f"kafka{id_}") for id_ in ids)
