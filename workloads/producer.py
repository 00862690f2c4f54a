"""`stream`'s producer: an open loop of sends at a stated rate, each recorded from its due time.

Send n is due at start + n / rate, whatever the cluster does: a late loop sends more at once and
never slows down, so latency from the due time has no coordinated omission. The partition is that
of the workload's partitioner. A delivery report says how a send ended.

A full queue is a failed send. So is a send after a fatal error (an idempotent producer that lost
its sequence): the producer is not replaced, as in a simple application; its sends go on failing,
and the end says `fatal`.

With a transactional.id a send ends with its transaction, and a producer that cannot go on is
replaced (workloads/client/transactions.py).
"""

from __future__ import annotations

import time

from workloads.client.records import Partitions, partition_of
from workloads.client.sends import Sender
from workloads.client.transactions import Transactions, sender_of
from workloads.worker import Session, leave, main

BURST = 200  # sends between two polls when the loop is late
POLL_MOST_MS = 50


def stream(session: Session) -> None:
    """Send at the rate until told to stop, then await outstanding reports."""
    sender = sender_of(session)
    session.connect(sender.producer, sender.ready)
    if not session.await_go(lambda: sender.poll(0)):
        return
    with Partitions(session.spec, lambda: sender.producer) as partitions:
        Schedule(session, sender, partitions).run()
        sender.flush()


class Schedule:
    """The due times of sends."""

    def __init__(
        self, session: Session, sender: Sender | Transactions, partitions: Partitions
    ) -> None:
        self._session, self._sender = session, sender
        self._period_ns = 1e9 / session.spec.rate
        self._partition_of = partition_of(session.spec, partitions)
        self._begin_ns = time.monotonic_ns()

    def run(self) -> None:
        """Send what is due and serve reports in between, until the end."""
        session, counts, poll = self._session, self._session.counts, self._sender.poll
        while not session.over():
            now = time.monotonic_ns()
            due = int((now - self._begin_ns) / self._period_ns) + 1
            if session.held():
                self._hold()
                continue
            allowed = session.progress.allowed
            if 0 <= allowed < due:
                due = allowed
            self._send(min(due, counts.sends + BURST))
            poll(self._until_next(due))
            session.publish(now)

    def _send(self, due: int) -> None:
        send, clock, counts = self._sender.send, time.monotonic_ns, self._session.counts
        begin, period, partition_of = self._begin_ns, self._period_ns, self._partition_of
        for n in range(counts.sends, due):
            send(partition_of(n), begin + int(n * period), clock())

    def _until_next(self, due: int) -> float:
        """Seconds to poll until the next due time, rounded up to 1 ms, the client's shortest
        wait."""
        sends = self._session.counts.sends
        if sends < due:
            return 0
        ahead_ns = self._begin_ns + int(sends * self._period_ns) - time.monotonic_ns()
        return min(max(0, -(-ahead_ns // 1_000_000)), POLL_MOST_MS) / 1000

    def _hold(self) -> None:
        """Wait while the harness holds the load back; due times go on from the release."""
        session, counts = self._session, self._session.counts
        session.recorder.event("held", sends=counts.sends)
        while session.held() and not session.over():
            self._sender.poll(0.005)
            session.publish(time.monotonic_ns())
        self._begin_ns = time.monotonic_ns() - int(counts.sends * self._period_ns)
        session.recorder.event("released", sends=counts.sends)


if __name__ == "__main__":
    leave(main("producer", stream))
