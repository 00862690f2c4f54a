"""A member of the group: takes batches of records, commits, and records each poll, each commit and
each change of its membership.

A batch is what one `take` returns, up to `batch` records. If partitions are revoked before a batch
is processed, it drops their records: nothing of them was committed, so the next owner gets them
again. With `commit = "auto"` it drops nothing, because the client commits all that it has handed
over.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from harness.history.record_format import COMMIT, COMMITTED, INFO, NOTHING, OK, POLL
from workloads.client.make import Listeners, make_member
from workloads.client.membership import OUTSIDE, parse_membership
from workloads.client.reads import Reads, place_of
from workloads.client.resets import logger_of
from workloads.worker import Session, Spec

ASK_LIMIT_S = 5.0
START_LIMIT_S = 1.0  # it polls nothing meanwhile
# The membership has changed since the batch was taken: another commit would not help.
OUTDATED = frozenset(
    {
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError._ASSIGNMENT_LOST,
        KafkaError._STATE,
        KafkaError._NO_OFFSET,
    }
)


Leaving = Callable[[Sequence[int], bool], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec(Spec):
    """The SPEC of a member."""

    group: str = ""
    commit: str = "after"  # when it commits
    batch: int = 50  # records taken at a time
    process_ms: float = 0.0
    dies: str = ""  # where it ends itself: before-process, before-commit, or nowhere
    dies_after: int = 0  # records polled
    slow_every: int = 0  # each so many-th record takes slow_ms longer; 0: none
    slow_ms: float = 0.0
    pause_every: int = 0  # records polled, after which it pauses its partitions; 0: never
    pause_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A record of the current batch."""

    partition: int
    offset: int
    value: int  # NOTHING: none of ours


class Member:
    """One consumer of the group, and its current batch.

    It calls `leaving(partitions, lost)` before partitions go: the callee may still commit with the
    member's current membership, unless they are lost.
    """

    def __init__(
        self,
        session: Session,
        spec: MemberSpec,
        config: Mapping[str, Any],
        leaving: Leaving = lambda *_: None,
    ) -> None:
        self._leaving = leaving
        self._session, self._spec, self._recorder = session, spec, session.recorder
        self._auto = spec.commit == "auto"
        self.batch: list[Taken] = []
        self.consumer: Consumer = make_member(
            config,
            group=spec.group,
            auto_commit=self._auto,
            listeners=Listeners(
                on_error=session.client_error,
                on_commit=self._on_commit,
                logger=logger_of(session.recorder, self._start_of),
            ),
        )
        self._reads = Reads(session.recorder, POLL, session.spec)
        self._membership = OUTSIDE  # of the group
        self.metadata: object = None  # the group's, as the client told it while it was a member
        self._works = 0  # records worked on
        self._pause_at = spec.pause_every  # of the records polled; 0: never
        self._paused_ns = 0  # since when its partitions are paused; 0: they are not

    def join(self) -> None:
        """Become a member; assignments arrive while it takes records."""
        self.consumer.subscribe(
            [self._spec.topic],
            on_assign=self._on_assign,
            on_revoke=self.on_revoke,
            on_lost=self.on_lost,
        )

    def leave(self) -> None:
        """Leave the group in order."""
        self._reads.close()
        if self._auto:
            self._commit_handed_over()
        self.consumer.close()

    def take(self) -> None:
        """Take the records that are there, up to a batch; waits a little for the first."""
        self.batch.clear()
        if self._pause_at:
            self._pause_or_resume()
        start_ns = time.monotonic_ns()
        message = self.consumer.poll(0.05)
        if message is None:
            self._reads.note_empty_poll(start_ns)
        else:
            self._learn()
        while message is not None:
            self._receive(message, start_ns)
            if len(self.batch) >= self._spec.batch:
                break
            start_ns = time.monotonic_ns()
            message = self.consumer.poll(0)
        self._session.publish(time.monotonic_ns())

    def _receive(self, message: Message, start_ns: int) -> None:
        if (error := message.error()) is not None:
            self._session.client_error(error)
            return
        partition, offset = place_of(message)
        value = self._reads.record(message, start_ns, time.monotonic_ns(), NOTHING)
        self._session.counts.reads += 1
        self.batch.append(Taken(partition=partition, offset=offset, value=value))

    def work(self) -> None:
        """Let the time pass that the work on one record takes."""
        self._works += 1
        spec = self._spec
        is_slow = spec.slow_every and self._works % spec.slow_every == 0
        if takes_ms := spec.process_ms + (spec.slow_ms if is_slow else 0):
            select.select([], [], [], takes_ms / 1000)

    def _pause_or_resume(self) -> None:
        """Pause the partitions that it has, or resume them when their time is over. Those that it
        is given meanwhile are not paused."""
        now_ns, polled = time.monotonic_ns(), self._session.counts.reads
        if not self._paused_ns and polled >= self._pause_at and self.consumer.assignment():
            self.consumer.pause(self.consumer.assignment())
            self._paused_ns, self._pause_at = now_ns, polled + self._spec.pause_every
            self._tell("paused", self.consumer.assignment())
        elif self._paused_ns and now_ns >= self._paused_ns + self._spec.pause_ms * 1e6:
            self.consumer.resume(self.consumer.assignment())
            self._paused_ns = 0
            self._tell("resumed", self.consumer.assignment())

    def _learn(self) -> None:
        """Read the client's current membership: no callback reports a rebalance that changed no
        partition."""
        metadata = self.consumer.consumer_group_metadata()
        membership = parse_membership(metadata)
        if membership.generation >= 0:
            self.metadata = metadata
        if membership != self._membership:
            self._membership, self._recorder.generation = membership, membership.generation
            self._recorder.event("member", name=membership.member, generation=membership.generation)

    def commit_surely(self, batch: Sequence[Taken]) -> bool:
        """Commit a batch before processing it; False: the next owner of the partition gets it
        again."""
        while not self._session.over():
            error = self.commit(batch)
            if error is None:
                return True
            if error.code() in OUTDATED:
                return False
            self._session.publish(time.monotonic_ns())
        return False

    def commit(self, batch: Sequence[Taken]) -> KafkaError | None:
        """Commit a batch; returns the error, if there is one.

        An error is doubt: an attempt before the last may have arrived. The membership is read
        before and after: the commit was made in that generation if both agree.
        """
        self._learn()
        ends, now = self.ends_of(batch), time.monotonic_ns()
        begun = {
            end.partition: self._recorder.invoke(COMMIT, end.partition, NOTHING, now, now)
            for end in ends
        }
        try:
            committed = self.consumer.commit(offsets=ends, asynchronous=False)
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            for end in ends:
                self._complete(begun[end.partition], end, error)
            return error
        self._learn()
        for end in committed:
            self._complete(begun[end.partition], end, end.error)
        return next((end.error for end in committed if end.error is not None), None)

    def _commit_handed_over(self) -> None:
        """Commit what the client would commit next; nothing, if that is done already."""
        try:
            self._on_commit(None, self.consumer.commit(asynchronous=False))
        except KafkaException as raised:
            if raised.args[0].code() != KafkaError._NO_OFFSET:
                self._session.client_error(raised.args[0])

    def _complete(self, operation: int, end: TopicPartition, error: KafkaError | None) -> None:
        code = 0 if error is None else error.code()
        if error is not None:
            self._recorder.name_error(code, error.name())
        type_, now = OK if error is None else INFO, time.monotonic_ns()
        self._recorder.complete(operation, type_, max(end.offset, NOTHING), now, NOTHING, code)

    def _on_commit(self, error: KafkaError | None, partitions: Sequence[TopicPartition]) -> None:
        """Record a commit that the client made by itself, some time ago."""
        if not self._auto:
            return
        now = time.monotonic_ns()
        for end in partitions:
            if end.offset >= 0:
                operation = self._recorder.invoke(COMMIT, end.partition, NOTHING, now, now)
                self._complete(operation, end, error or end.error)

    def ends_of(self, batch: Iterable[Taken]) -> list[TopicPartition]:
        """The offsets at which the group goes on after these records."""
        ends = {record.partition: record.offset + 1 for record in batch}
        return [TopicPartition(self._spec.topic, p, offset) for p, offset in ends.items()]

    def committed_offsets(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """The committed offsets by the coordinator; nothing when it does not answer."""
        asked = [TopicPartition(self._spec.topic, end.partition) for end in partitions]
        try:
            return list(self.consumer.committed(asked, timeout=ASK_LIMIT_S))
        except KafkaException as error:
            self._session.client_error(error.args[0])
            return []

    def _start_of(self, partition: int) -> int | None:
        """Where the log of a partition starts, by its leader; None when it does not answer."""
        asked = TopicPartition(self._spec.topic, partition)
        try:
            return int(self.consumer.get_watermark_offsets(asked, timeout=START_LIMIT_S)[0])
        except KafkaException as error:
            self._session.client_error(error.args[0])
            return None

    def _on_assign(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Record the group's offsets: they show what the previous owner has really committed."""
        self._learn()
        self._tell("assigned", partitions)
        asked_ns = time.monotonic_ns()
        for end in self.committed_offsets(partitions):
            if end.offset >= 0:
                now = time.monotonic_ns()
                self._recorder.record(
                    COMMITTED, end.partition, NOTHING, asked_ns, end.offset, now, NOTHING
                )

    def on_revoke(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Partitions are about to go to another member: drop their records."""
        self._let_go(partitions, lost=False)

    def on_lost(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Partitions may already belong to another member."""
        self._let_go(partitions, lost=True)

    def _let_go(self, partitions: Sequence[TopicPartition], *, lost: bool) -> None:
        numbers = [end.partition for end in partitions]
        if lost:
            self._tell("revoked", partitions)
        self._leaving(numbers, lost)
        if not lost:
            self._tell("revoked", partitions)
        if not self._auto:
            self.batch = [record for record in self.batch if record.partition not in numbers]

    def _tell(self, event: str, partitions: Sequence[TopicPartition]) -> None:
        text = ", ".join(str(end.partition) for end in partitions)
        self._recorder.event(event, text=text, generation=self._recorder.generation)


def go_back(member: Member, session: Session, first: Mapping[int, int]) -> bool:
    """Take again what the group has not committed in these partitions; where it has committed
    nothing, take again from these offsets on. False: its offsets are unknown, or it cannot seek
    yet."""
    topic, consumer = session.spec.topic, member.consumer
    held = {end.partition for end in consumer.assignment()}
    asked = [TopicPartition(topic, partition) for partition in first if partition in held]
    committed = member.committed_offsets(asked) if asked else []
    if len(committed) < len(asked) or any(end.error is not None for end in committed):
        return False
    for end in committed:
        at = end.offset if end.offset >= 0 else first[end.partition]
        try:
            consumer.seek(TopicPartition(topic, end.partition, at))
        except KafkaException as raised:
            session.client_error(raised.args[0])
            return False
        session.recorder.event("position", partition=end.partition, position=at, text="again")
    return True
