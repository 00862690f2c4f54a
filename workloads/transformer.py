"""A transformer: a member of the group that makes an output of each input, in the same topic.

An *input* is a record that a producer sent. Its output goes to the next partition (the last one's
to the first). The group gets outputs too, as anything in the topic: they are processed, and nothing
is sent for them. So one transformer's outputs are read by another; in a topic of their own they
would not be.

    poll 7@0     process 7 begins at 81,234     send 1099511627776000000, due at 81,234

An output is due at the moment when the processing of its input began, and no two of a worker begin
at one moment: that links the two, and the payload has it.

With a transactional.id all processing belongs to the open transaction, which stays open over
several batches, for `transaction_sends` outputs or 100 ms. By `commit`:

    transaction   the offsets are committed with the outputs (KIP-98), by a member that the group
                  still takes for one (KIP-447): exactly once
    after         await the outputs (with transactions: commit them), then commit: at least once
    before        commit, then process: at most once
    auto          the client commits by itself what it has handed over: neither

A `process` ends with its effect: with its transaction; without transactions with its output, at
once if there is none. After an abort (also on purpose), or an output that failed or is in doubt,
the work is done again from the group's offsets; but with `before` and `auto` the group has gone on.
Nothing is processed before the consumer is ready.

Before partitions go to another member, the open transaction is committed; if they are lost already,
it is aborted. Its offsets carry the membership of the time when the records were polled: an
expelled consumer knows of no membership, and the coordinator accepts offsets without one from
anybody (Kafka 3.9: GroupCoordinator.validateOffsetCommit).

Cannot see: whether an output came from the input that it names; a checker decides that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from confluent_kafka import Producer, TopicPartition

from harness.history.record_format import COMMIT, FAIL, NOTHING, OK, PROCESS, value_of
from workloads.client.death import Death
from workloads.client.member import Member, MemberSpec, Taken, go_back
from workloads.client.membership import parse_membership
from workloads.client.sends import Sender
from workloads.client.transactions import Transactions
from workloads.worker import Session, leave, main


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerSpec(MemberSpec):
    """The SPEC of a transformer; `config` is its producer's, `consumer_config` its consumer's."""

    first_output: int = 0  # the index from which on values are outputs


def transform(session: Session) -> None:
    """Live in the group until told to stop."""
    assert isinstance(session.spec, TransformerSpec)
    Transformer(session, session.spec).run()


class Transformer:
    """A member that sends an output for each input."""

    def __init__(self, session: Session, spec: TransformerSpec) -> None:
        self._session, self._spec, self._recorder = session, spec, session.recorder
        self.member = Member(session, spec, spec.consumer_config, self._leaving)
        self._death = Death(session, spec, self.member)
        self._again_on_failure = spec.commit in ("after", "transaction")
        self._first_output = value_of(spec.first_output, 0)
        self._back: dict[int, int] = {}  # partition -> first offset of what is to be taken again
        self._last_ns = 0  # when the last processing began
        # With transactions: what the open one has processed, and the commits handed in with it.
        self._processed: list[tuple[int, Taken]] = []
        self._commits: list[tuple[int, TopicPartition]] = []
        self._refused = False  # an output of the open transaction never left the client
        # Without: the processing that a send belongs to, by their operations.
        self._waiting: dict[int, tuple[int, Taken]] = {}
        self._transactions: Transactions | None = None
        self._outputs: Sender | Transactions
        if "transactional.id" in spec.config:
            self._transactions = Transactions(
                session, self._sent_in_transaction, spec.transaction_sends, self
            )
            self._outputs = self._transactions
        else:
            self._outputs = Sender(session, self._sent)

    def run(self) -> None:
        """Join when the load begins, work until the end, finish what is open, leave in order."""
        session, member = self._session, self.member
        session.connect(self._outputs.producer, self._outputs.ready)
        session.connect(member.consumer)
        if not session.await_go(self._serve):
            return
        member.join()
        while not session.over() and not session.fatal:
            self.go_round()
            session.publish(time.monotonic_ns())
        self._outputs.flush()
        member.leave()

    def go_round(self) -> None:
        """Take a batch and work on it; go back if something must be done again."""
        self.member.take()
        batch = tuple(self.member.batch)
        if self._back:
            self._again(batch)
        elif batch:
            self._work(batch)
        self._outputs.poll(0)
        if self._back and self._may_go_back() and go_back(self.member, self._session, self._back):
            self._back.clear()

    def _serve(self) -> None:
        self._outputs.poll(0)
        self.member.consumer.poll(0)

    def _work(self, batch: Sequence[Taken]) -> None:
        if self._spec.commit == "before" and not self.member.commit_surely(batch):
            return
        self._death.come("before-process", batch)
        for number, record in enumerate(batch):
            self._process(record)
            if self._back:  # what comes after it must not be committed before it
                self._again(batch[number:])
                return
        if self._spec.commit == "after":
            self._outputs.flush()
            if self._waiting or self._back:  # an output that nobody knows of is sent again
                self._again(batch)
                return
        self._death.come("before-commit", batch)
        if self._spec.commit == "after":
            self.member.commit(batch)

    def _process(self, record: Taken) -> None:
        """Process a record, in the open transaction if there are any."""
        if self._transactions is not None:
            self._transactions.open()
            if self._back:  # the one before was aborted
                return
        start_ns = self._last_ns = max(time.monotonic_ns(), self._last_ns + 1)
        operation = self._recorder.invoke(
            PROCESS, record.partition, record.value, start_ns, start_ns
        )
        if self._transactions is not None:
            self._processed.append((operation, record))
        self.member.work()
        if 0 <= record.value < self._first_output:
            self._send(operation, record, start_ns)
        elif self._transactions is None:
            self._recorder.complete(operation, OK, record.offset, time.monotonic_ns(), NOTHING, 0)

    def _send(self, operation: int, record: Taken, start_ns: int) -> None:
        """Send the output of a record; `operation` is its processing."""
        if self._transactions is None:
            self._waiting[operation + 1] = operation, record  # ids count up, and a send comes next
        partition = (record.partition + 1) % self._spec.partitions
        self._outputs.send(partition, start_ns, max(start_ns, time.monotonic_ns()))
        if self._refused and self._transactions is not None:
            self._transactions.abort()

    def _sent(self, send: int, type_: int, _: int, end_ns: int) -> None:
        """An output has ended by itself, and with it the processing of its input."""
        operation, record = self._waiting.pop(send)
        self._recorder.complete(operation, type_, record.offset, end_ns, NOTHING, 0)
        if type_ != OK:
            self._again((record,))

    def _sent_in_transaction(self, _send: int, type_: int, _offset: int, _end_ns: int) -> None:
        """An output has ended: with its transaction or, refused by the client, before."""
        self._refused = self._refused or type_ == FAIL

    def hand_in(self, producer: Producer) -> None:
        """Add the group's next offsets to the transaction."""
        if self._spec.commit != "transaction":
            return
        if not self._commits:
            ends = self.member.ends_of(record for _, record in self._processed)
            self._commits = self._begin_commits(ends)
        ends = [end for _, end in self._commits]
        producer.send_offsets_to_transaction(ends, self.member.metadata)

    def _begin_commits(self, ends: Sequence[TopicPartition]) -> list[tuple[int, TopicPartition]]:
        """Record the begin of these commits, in the generation with which they are handed in."""
        now, before = time.monotonic_ns(), self._recorder.generation
        self._recorder.generation = parse_membership(self.member.metadata).generation
        begun = [
            (self._recorder.invoke(COMMIT, end.partition, NOTHING, now, now), end) for end in ends
        ]
        self._recorder.generation = before
        return begun

    def settle(self, type_: int, end_ns: int, code: int) -> None:
        """The transaction has ended, and with it all that was processed and committed in it."""
        processed, self._processed = self._processed, []
        commits, self._commits = self._commits, []
        self._refused = False
        for operation, record in processed:
            self._recorder.complete(operation, type_, record.offset, end_ns, NOTHING, code)
        for operation, end in commits:
            self._recorder.complete(operation, type_, end.offset, end_ns, NOTHING, code)
        if type_ != OK:
            self._again(record for _, record in processed)

    def _again(self, records: Iterable[Taken]) -> None:
        """Take these records again."""
        for record in records if self._again_on_failure else ():
            first = self._back.get(record.partition, record.offset)
            self._back[record.partition] = min(first, record.offset)

    def _may_go_back(self) -> bool:
        """Whether the group's offsets are settled: a new producer has the coordinator end what the
        previous one left open."""
        return self._transactions is None or self._transactions.ready()

    def _leaving(self, partitions: Sequence[int], lost: bool) -> None:
        """End what is open before partitions go; if they are lost, their offsets are outdated."""
        if lost and self._transactions is not None and self._spec.commit == "transaction":
            self._transactions.abort()
        else:
            self._outputs.flush()
        for partition in partitions or list(self._back):
            self._back.pop(partition, None)


if __name__ == "__main__":
    leave(main("transformer", transform, TransformerSpec))
