"""`stream`'s consumer: tails every partition and records every record that it gets.

Partitions are assigned, not subscribed, from the log's end at the start: no group, no rebalance, no
commits. When the log was cut it goes back (see `make_consumer`): it may read an offset twice, but
skips nothing. Partitions that are added are read from their begin (`use_added_partitions`).
"""

from __future__ import annotations

import time

from workloads.client.records import Partitions
from workloads.client.tail import Tail
from workloads.worker import Session, leave, main


def tail(session: Session) -> None:
    """Read until told to stop."""
    reader = Tail(session, session.spec.config)
    session.connect(reader.consumer)
    if session.over():
        return
    reader.assign_at_end()
    if not session.await_go(lambda: reader.poll(0)):
        return
    with Partitions(session.spec) as partitions:
        while not session.over():
            reader.poll(0.05)
            reader.take_up(partitions.count)
            session.publish(time.monotonic_ns())
    reader.close()


if __name__ == "__main__":
    leave(main("consumer", tail))
