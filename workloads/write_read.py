"""`write-read`: rounds of one send and one look-up of what was acknowledged, one after the other.

A round sends one record and awaits its delivery report. After an ack, a look-up of its value
begins: ok when the tailing consumer gets the record, fail when `read_deadline_ms` passes without
it. That ends the round; if the record comes later, its `read` row says when.

With a transactional.id each round's send is a transaction of its own.

The loop is closed (nothing is sent before the round is over), so a send is due when it begins. The
consumer's configuration decides who reads, and from where: it may know a single broker that is not
the leader, or be served by a follower (client.rack, KIP-392).
"""

from __future__ import annotations

import time

from harness.history.record_format import FAIL, LOOKUP, NOTHING, OK
from workloads.client import records
from workloads.client.records import Partitions
from workloads.client.tail import Tail
from workloads.client.transactions import sender_of
from workloads.worker import Session, leave, main

SERVE_EVERY_S = 0.02  # the other client's callbacks, while one client is waited for


def write_read(session: Session) -> None:
    """Run all rounds, or as many as come before a stop."""
    Rounds(session).run()


class Rounds:
    """The one send and the one look-up that may be open."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sender = sender_of(session, self._sent, most=1)
        self._reader = Tail(session, session.spec.consumer_config, observe=self._was_read)
        self._ended: tuple[int, int, int] | None = None  # how the open send ended
        self._wanted = NOTHING  # the value of the open send or look-up
        self._found: tuple[int, int, int] | None = None  # offset, end_ns, broker of its read

    def run(self) -> None:
        """Connect both clients, then run the rounds."""
        session, sender, reader = self._session, self._sender, self._reader
        session.connect(sender.producer, sender.ready)
        session.connect(reader.consumer)
        if session.over():
            return
        reader.assign_at_end()
        if not session.await_go(self._serve):
            return
        partition_of = records.partition_of(session.spec, Partitions(session.spec))
        while session.counts.sends < session.spec.rounds and self._may_go_on():
            self._round(partition_of(session.counts.sends))
            session.publish(time.monotonic_ns())
        sender.flush()
        reader.close()

    def _may_go_on(self) -> bool:
        """False at the end; waits while the harness holds the load back."""
        session = self._session
        while session.held() and not session.over():
            self._reader.poll(0.002)
            self._sender.poll(0)
            session.publish(time.monotonic_ns())
        return not session.over() and not session.fatal

    def _round(self, partition: int) -> None:
        self._ended = self._found = None
        now = time.monotonic_ns()
        self._wanted = NOTHING
        self._wanted = self._sender.send(partition, now, now)
        self._await_report()
        if self._ended is not None and self._ended[0] == OK:
            self._look_up(partition, self._ended[2])

    def _await_report(self) -> None:
        """Wait until the send has ended. After the worker's time limit flush() waits for it."""
        while self._ended is None and not self._session.over():
            self._sender.poll(SERVE_EVERY_S)
            if self._ended is None:
                self._reader.poll(0)
                self._session.publish(time.monotonic_ns())

    def _look_up(self, partition: int, acked_ns: int) -> None:
        recorder = self._session.recorder
        operation = recorder.invoke(LOOKUP, partition, self._wanted, acked_ns, acked_ns)
        limit_ns = acked_ns + self._session.spec.read_deadline_ms * 1_000_000
        while self._found is None:
            left_ns = limit_ns - time.monotonic_ns()
            if left_ns <= 0:
                break
            self._reader.poll(min(left_ns / 1e9 + 0.001, SERVE_EVERY_S))
            self._sender.poll(0)
        if self._found is None:
            recorder.complete(operation, FAIL, NOTHING, time.monotonic_ns(), NOTHING, 0)
            return
        offset, end_ns, broker = self._found
        # The record may have come before its ack: then the look-up ends at once.
        recorder.complete(operation, OK, offset, max(end_ns, acked_ns), broker, 0)

    def _sent(self, _: int, type_: int, offset: int, end_ns: int) -> None:
        self._ended = (type_, offset, end_ns)

    def _was_read(self, value: int, offset: int, end_ns: int, broker: int) -> None:
        if value == self._wanted and self._found is None:
            self._found = (offset, end_ns, broker)

    def _serve(self) -> None:
        self._sender.poll(0)
        self._reader.poll(0)


if __name__ == "__main__":
    leave(main("write-read", write_read))
