"""Reads with one long-lived consumer that has every partition, and records each record read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from harness.history.record_format import NOTHING, READ
from workloads.client.make import Listeners, make_consumer
from workloads.client.reads import Reads, place_of
from workloads.client.resets import logger_of
from workloads.worker import CONNECT_LIMIT_S, Session, WorkerError

DRAIN = 2000  # records taken at once when more than one is there

Observer = Callable[[int, int, int, int], None]


class Tail:
    """Reads what comes and records it as `f`; keeps positions and serving brokers.

    It calls `observe(value, offset, end_ns, broker)` for every record with a value of ours.
    """

    def __init__(
        self,
        session: Session,
        config: Mapping[str, Any],
        *,
        f: int = READ,
        observe: Observer | None = None,
    ) -> None:
        spec = session.spec
        self._session, self._counts, self._recorder = session, session.counts, session.recorder
        self._reads, self._observe = Reads(session.recorder, f, spec), observe
        self._topic = spec.topic
        self._serving: dict[int, tuple[int, int]] = {}
        self._brokers: dict[int, int] = {}
        self._ends: dict[int, tuple[int, int]] = {}  # of partitions with undecided records
        self.positions: dict[int, int] = {}  # partition -> the offset that is read next
        self.lost_its_place = False  # auto.offset.reset=error, and its position is not in the log
        self.consumer = make_consumer(
            config,
            group=f"{spec.run_id}/{spec.process}",
            listeners=Listeners(
                on_error=session.client_error,
                on_statistics=self._statistics,
                logger=logger_of(session.recorder),
            ),
        )

    def assign(self, positions: Mapping[int, int]) -> None:
        """Read each partition from its offset on."""
        self.positions, self.lost_its_place = dict(positions), False
        for partition, at in positions.items():
            self._recorder.event("position", partition=partition, position=at, text="assigned")
        self.consumer.assign(
            [TopicPartition(self._topic, partition, at) for partition, at in positions.items()]
        )

    def assign_at_end(self) -> None:
        """Read what is written from now on: asks for the ends first, so it misses nothing."""
        self.assign({p: self._end_of(p) for p in range(self._session.spec.partitions)})

    def take_up(self, partitions: int) -> None:
        """Read so many partitions: those that are new from their begin."""
        if partitions > len(self.positions):
            new = {p: 0 for p in range(partitions) if p not in self.positions}
            self.assign({**self.positions, **new})

    def _end_of(self, partition: int) -> int:
        """The high watermark; asked again, because a fresh topic's leader may not know yet that it
        leads.

        Raises WorkerError when no leader answers in time.
        """
        asked = TopicPartition(self._topic, partition)
        limit_ns = time.monotonic_ns() + int(CONNECT_LIMIT_S * 1e9)
        while True:
            try:
                return int(self.consumer.get_watermark_offsets(asked, timeout=5)[1])
            except KafkaException as error:
                if self._session.over() or time.monotonic_ns() >= limit_ns:
                    reason = error.args[0].str()
                    raise WorkerError(f"the end of partition {partition}: {reason}") from None
                self.consumer.poll(0.05)

    def poll(self, timeout_s: float) -> int:
        """Wait for a record for up to `timeout_s`, take all that are there; returns how many."""
        start_ns = time.monotonic_ns()
        first = self.consumer.poll(timeout_s)
        if first is None:
            self._reads.note_empty_poll(start_ns)
            return 0
        taken = self._take(first, start_ns, time.monotonic_ns())
        start_ns = time.monotonic_ns()
        more = self.consumer.consume(DRAIN, 0)
        end_ns = time.monotonic_ns()
        for message in more:
            taken += self._take(message, start_ns, end_ns)
        return taken

    def _take(self, message: Message, start_ns: int, end_ns: int) -> int:
        error = message.error()
        if error is not None:
            self._problem(error, message)
            return 0
        partition, offset = place_of(message)
        broker = self._brokers.get(partition, NOTHING)
        value = self._reads.record(message, start_ns, end_ns, broker)
        self._counts.reads += 1
        self.positions[partition] = offset + 1
        if self._observe is not None and value != NOTHING:
            self._observe(value, offset, end_ns, broker)
        return 1

    def close(self) -> None:
        """Record what is still open of the reads."""
        self._reads.close()

    def _problem(self, error: KafkaError, message: Message) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            partition, offset = place_of(message)
            self.positions[partition] = offset
            return
        self.lost_its_place = self.lost_its_place or error.code() == KafkaError._AUTO_OFFSET_RESET
        self._session.client_error(error)

    def _statistics(self, text: str) -> None:
        """Record changes of the broker that serves each partition, and of its last stable offset
        (librdkafka: STATISTICS.md)."""
        topic = json.loads(text).get("topics", {}).get(self._topic, {})
        for name, partition in topic.get("partitions", {}).items():
            number, now = int(name), (partition.get("broker", -1), partition.get("leader", -1))
            if number < 0:
                continue
            self._undecided(number, partition.get("ls_offset", -1), partition.get("hi_offset", -1))
            if self._serving.get(number) == now:
                continue
            self._serving[number] = now
            self._brokers[number] = now[0]
            self._recorder.event("serving", partition=number, broker=now[0], leader=now[1])

    def _undecided(self, partition: int, stable: int, high: int) -> None:
        """Record the last stable offset while it is below the high watermark, and when it no longer
        is."""
        if stable < 0 or stable > high or self._session.spec.id:
            return
        now, before = (stable, high), self._ends.get(partition)
        if now == before or (stable == high and before is None):
            return
        if stable < high:
            self._ends[partition] = now
        else:
            del self._ends[partition]
        self._recorder.event(
            "undecided", partition=partition, committed_end=stable, uncommitted_end=high
        )
