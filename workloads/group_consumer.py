"""A member of a consumer group: polls, processes, commits, and records each of the three.

It takes up to `batch` records, and then by `commit`:

    after     process them, commit: at least once        a member that dies in between: reprocessed
    before    commit, process them: at most once         a member that dies in between: skipped
    auto      process them; the client commits by itself, every auto.commit.interval.ms, what it has
              handed over, processed or not: neither     both

Processing a record means to record that (and to take `process_ms` for it): an effect that outlives
SIGKILL, done when its `process` is ok, in doubt while it is open. A batch is dropped unprocessed
when its commit before processing is refused, and of it the records of partitions that are taken
away before it is whole: nothing of them was committed, so whoever has the partition then is given
them again. What the member keeps it processes, since no poll would give it that again. With `auto`
nothing is dropped, since the client commits it as handed over.

`dies` ends the member by SIGKILL at a stated point, once `dies_after` records were polled; with
`auto` only when the coordinator says that the batch is committed (`before-process`) or is not
(`before-commit`), so that what must follow is certain. The event `dies` is written before.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from harness.history.record_format import COMMIT, COMMITTED, INFO, NOTHING, OK, POLL, PROCESS
from workloads.client.make import Listeners, make_member
from workloads.client.membership import OUTSIDE, membership
from workloads.client.reads import Reads, place_of
from workloads.client.resets import logger_of
from workloads.worker import Session, Spec, leave, main

ASK_LIMIT_S = 5.0
# The member is not what it was when it took the batch: committing it again would not help.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec(Spec):
    """What a member is to do."""

    group: str = ""
    commit: str = "after"  # auto, before or after processing
    batch: int = 50  # records taken at a time
    process_ms: float = 0.0
    dies: str = ""  # where it ends itself: before-process, before-commit, or nowhere
    dies_after: int = 0  # records polled


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A record of the current batch."""

    partition: int
    offset: int
    value: int  # NOTHING: none of ours


def group_consumer(session: Session) -> None:
    """Live in the group until told to stop."""
    assert isinstance(session.spec, MemberSpec)
    Member(session, session.spec).run()


Asked = Callable[[Sequence[TopicPartition]], list[TopicPartition]]


class Member:
    """One consumer of the group and its current batch."""

    def __init__(self, session: Session, spec: MemberSpec) -> None:
        self._session, self._spec, self._recorder = session, spec, session.recorder
        self._auto = spec.commit == "auto"
        self._batch: list[Taken] = []
        self._consumer: Consumer = make_member(
            spec.config,
            group=spec.group,
            auto_commit=self._auto,
            listeners=Listeners(
                on_error=session.client_error,
                on_commit=self._was_committed,
                logger=logger_of(session.recorder),
            ),
        )
        self._reads = Reads(session.recorder, POLL)
        self._known = OUTSIDE  # of the group
        self._death = Death(session, spec, self._committed)

    def run(self) -> None:
        """Join when the load begins, go round, leave in order."""
        session, consumer = self._session, self._consumer
        session.connect(consumer)
        if not session.await_go(lambda: consumer.poll(0)):
            return
        consumer.subscribe(
            [self._spec.topic],
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._revoked,
        )
        while not session.over():
            self._round()
            session.publish(time.monotonic_ns())
        self._reads.close()
        if self._auto:
            self._commit_handed_over()
        consumer.close()

    def _round(self) -> None:
        self._take()
        if not self._batch:
            return
        batch = tuple(self._batch)
        if self._spec.commit == "before" and not self._commit_surely(batch):
            return
        self._death.come("before-process", batch)
        for record in batch:
            self._process(record)
        self._death.come("before-commit", batch)
        if self._spec.commit == "after":
            self._commit(batch)

    # Polling

    def _take(self) -> None:
        """What is there, up to a batch; waits a little for the first."""
        self._batch.clear()
        start_ns = time.monotonic_ns()
        message = self._consumer.poll(0.05)
        if message is None:
            self._reads.found_nothing(start_ns)
        else:
            self._learn()
        while message is not None:
            self._polled(message, start_ns)
            if len(self._batch) >= self._spec.batch:
                break
            start_ns = time.monotonic_ns()
            message = self._consumer.poll(0)
        self._session.publish(time.monotonic_ns())

    def _polled(self, message: Message, start_ns: int) -> None:
        if (error := message.error()) is not None:
            self._session.client_error(error)
            return
        partition, offset = place_of(message)
        value = self._reads.record(message, start_ns, time.monotonic_ns(), NOTHING)
        self._session.counts.reads += 1
        self._batch.append(Taken(partition=partition, offset=offset, value=value))

    def _learn(self) -> None:
        """What the client knows of the group by now: a rebalance may leave all as it was, and is
        told to nobody then."""
        known = membership(self._consumer)
        if known != self._known:
            self._known, self._recorder.generation = known, known.generation
            self._recorder.event("member", name=known.member, generation=known.generation)

    # Processing

    def _process(self, record: Taken) -> None:
        now = time.monotonic_ns()
        operation = self._recorder.invoke(PROCESS, record.partition, record.value, now, now)
        if self._spec.process_ms:
            select.select([], [], [], self._spec.process_ms / 1000)  # the work that it stands for
        self._recorder.complete(operation, OK, record.offset, time.monotonic_ns(), NOTHING, 0)

    # Committing

    def _commit_surely(self, batch: Sequence[Taken]) -> bool:
        """Commit what is not yet processed; False: whoever has the partition gets it again."""
        while not self._session.over():
            error = self._commit(batch)
            if error is None:
                return True
            if error.code() in OUTDATED:
                return False
            self._session.publish(time.monotonic_ns())
        return False

    def _commit(self, batch: Sequence[Taken]) -> KafkaError | None:
        """Commit a batch; the error, if there is one.

        An error is doubt: an attempt before the last may have arrived. What the client knows of the
        group is learned before and after: the commit was made in that generation if both agree.
        """
        self._learn()
        ends, now = _ends(self._spec.topic, batch), time.monotonic_ns()
        begun = {
            end.partition: self._recorder.invoke(COMMIT, end.partition, NOTHING, now, now)
            for end in ends
        }
        try:
            committed = self._consumer.commit(offsets=ends, asynchronous=False)
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
        """Commit what the client would at its next turn; nothing, when that is done already."""
        try:
            self._was_committed(None, self._consumer.commit(asynchronous=False))
        except KafkaException as raised:
            if raised.args[0].code() != KafkaError._NO_OFFSET:
                self._session.client_error(raised.args[0])

    def _complete(self, operation: int, end: TopicPartition, error: KafkaError | None) -> None:
        code = 0 if error is None else error.code()
        if error is not None:
            self._recorder.name_error(code, error.name())
        type_ = OK if error is None else INFO
        at = max(end.offset, NOTHING)
        self._recorder.complete(operation, type_, at, time.monotonic_ns(), NOTHING, code)

    def _was_committed(
        self, error: KafkaError | None, partitions: Sequence[TopicPartition]
    ) -> None:
        """The client has committed by itself, some time ago."""
        if not self._auto:
            return
        now = time.monotonic_ns()
        for end in partitions:
            if end.offset >= 0:
                operation = self._recorder.invoke(COMMIT, end.partition, NOTHING, now, now)
                self._complete(operation, end, error or end.error)

    # The group's life

    def _assigned(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Note where the group stands: what it was that the member before had really committed."""
        self._learn()
        self._tell("assigned", partitions)
        asked_ns = time.monotonic_ns()
        for end in self._committed(partitions):
            if end.offset >= 0:
                now = time.monotonic_ns()
                self._recorder.record(
                    COMMITTED, end.partition, NOTHING, asked_ns, end.offset, now, NOTHING
                )

    def _revoked(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._tell("revoked", partitions)
        if not self._auto:
            lost = {each.partition for each in partitions}
            self._batch = [record for record in self._batch if record.partition not in lost]

    def _tell(self, event: str, partitions: Sequence[TopicPartition]) -> None:
        text, generation = _numbers(partitions), self._recorder.generation
        self._recorder.event(event, text=text, generation=generation)

    def _committed(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """What the coordinator says is committed; nothing when it does not answer."""
        asked = [TopicPartition(self._spec.topic, each.partition) for each in partitions]
        try:
            return list(self._consumer.committed(asked, timeout=ASK_LIMIT_S))
        except KafkaException as error:
            self._session.client_error(error.args[0])
            return []


class Death:
    """How a member ends itself where its SPEC plans it; `committed` asks the coordinator."""

    def __init__(self, session: Session, spec: MemberSpec, committed: Asked) -> None:
        self._session, self._spec, self._committed = session, spec, committed

    def come(self, point: str, batch: Sequence[Taken]) -> None:
        """Die, if it is to be here and now."""
        if self._spec.dies != point or self._session.counts.reads < self._spec.dies_after:
            return
        if self._spec.commit == "auto" and not self._stands(point, batch):
            return
        ends = ", ".join(f"{end.partition}@{end.offset}" for end in _ends(self._spec.topic, batch))
        words = f"{len(batch)} records polled, up to {ends}"
        self._session.recorder.event("dies", name=point, text=words)
        os.kill(os.getpid(), signal.SIGKILL)

    def _stands(self, point: str, batch: Sequence[Taken]) -> bool:
        """Whether the client has committed the batch, waited for, or certainly has not yet."""
        ends = _ends(self._spec.topic, batch)
        while not self._session.over():
            known = {end.partition: end.offset for end in self._committed(ends)}
            covered = [known.get(end.partition, 0) >= end.offset for end in ends]
            if point == "before-commit":
                return len(known) == len(ends) and not all(covered)
            if all(covered):
                return True
        return False


def _ends(topic: str, batch: Sequence[Taken]) -> list[TopicPartition]:
    """Where the group goes on after a batch."""
    ends = {record.partition: record.offset + 1 for record in batch}
    return [TopicPartition(topic, p, offset) for p, offset in ends.items()]


def _numbers(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(str(each.partition) for each in partitions)


if __name__ == "__main__":
    leave(main("group-consumer", group_consumer, MemberSpec))
