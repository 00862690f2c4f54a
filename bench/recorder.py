"""What recording costs: `python -m bench.recorder [--seconds S] [--pairs N]`.

**The cost of one operation**, recorded from invoke to completion, in µs of CPU: of the recorder
alone, without the client.

**A recorded producer beside a bare one**: the workers' open loop at a stated rate, with the sends
recorded, and the same loop with nothing recorded and an empty delivery callback. Same client, same
100-byte values, same polling; they take turns, and the median of the pairs' ratios counts. Beside
it stands what a send takes of CPU in µs, by all threads of the process, bare and recorded. A ratio
of 1 means that recording does not show at that rate. Up to 100,000 sends a second it may not fall
below 0.94: 1 is returned where it does. The last row has no rate: both loops go as fast as they
can, which shows where recording would begin to hold a producer back.

Where KAFKA names brokers (`kafka-harness up baseline -- python -m bench.recorder`, as `make bench`
does), these are used. Otherwise the brokers are librdkafka's mock cluster, inside this process,
which answers at once and keeps nothing: the client, and so the recording, is then as large a part
of the whole as it can be.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Message
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from harness.history.record_format import NOTHING, OK, SEND
from harness.history.recorder import Recorder
from workloads.client.records import Partitions
from workloads.client.sends import Sender
from workloads.producer import Schedule
from workloads.worker import Session, Spec

RATES = (1_000.0, 20_000.0, 50_000.0, 100_000.0, 200_000.0, math.inf)
LEAST, LEAST_UP_TO = 0.94, 100_000.0  # of a bare loop, and up to which rate
UNBOUNDED = 10_000_000.0  # more than any loop reaches
OPERATIONS = 300_000
TOPIC = "bench"
VALUE_BYTES = 100
CLIENT: dict[str, Any] = {
    "acks": "all",
    "retries": 2147483647,
    "enable.idempotence": False,
    "linger.ms": 0,
    "queue.buffering.max.messages": 5_000_000,
    "queue.buffering.max.kbytes": 2_000_000,
    "log_level": 0,
}


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one loop")
    parser.add_argument("--pairs", type=int, default=5, help="loops of each kind at each rate")
    asked = parser.parse_args()
    gc.disable()  # as the workers do
    costs = [cost_per_operation(OPERATIONS) for _ in range(5)]
    print(f"recorder alone: {statistics.median(costs):.2f} µs of CPU an operation (≤ 1 wanted)")
    brokers = os.environ.get("KAFKA")
    if brokers:
        make_topic(brokers)
    where = f"Kafka at {brokers}" if brokers else "librdkafka's mock cluster"
    print(f"\n{where}, 100-byte values, sends a second, loops taking turns:")
    heads = f"{'asked':>10} {'bare':>10} {'recorded':>10} {'bare µs':>8} {'rec. µs':>8}"
    print(f"{heads}  ratio (≥ {LEAST} wanted)")
    told = [compare(rate, asked.seconds, asked.pairs) for rate in RATES]
    return 0 if all(told) else 1


def make_topic(brokers: str) -> None:
    """The topic, on one broker: replication would only slow both loops down."""
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)


def compare(rate: float, seconds: float, pairs: int) -> bool:
    """Both loops at one rate, in turns; prints their medians and the median of their ratios.
    Returns whether that is within its bar."""
    kinds: tuple[type[Sender], ...] = (BareSender, Sender)
    reached: dict[type[Sender], list[float]] = {kind: [] for kind in kinds}
    took_us: dict[type[Sender], list[float]] = {kind: [] for kind in kinds}
    for pair in range(pairs):
        for kind in kinds[:: 1 if pair % 2 else -1]:
            sends, us = loop(kind, min(rate, UNBOUNDED), seconds)
            reached[kind].append(sends)
            took_us[kind].append(us)
    bare, recorded = reached[BareSender], reached[Sender]
    ratio = statistics.median(r / b for r, b in zip(recorded, bare, strict=True))
    asked = "-" if math.isinf(rate) else f"{rate:,.0f}"
    medians = f"{statistics.median(bare):10,.0f} {statistics.median(recorded):10,.0f}"
    met = within(rate, ratio)
    cpu = " ".join(f"{statistics.median(took_us[kind]):8.2f}" for kind in kinds)
    bar = "met" if met else "MISSED" if met is False else ""
    print(f"{asked:>10} {medians} {cpu}  {ratio:.2f} {bar}".rstrip())
    return met is not False


def within(rate: float, ratio: float) -> bool | None:
    """Whether a ratio at that rate is what it must be; None where nothing is asked of it."""
    return ratio >= LEAST if rate <= LEAST_UP_TO else None


def loop(kind: type[Sender], rate: float, seconds: float) -> tuple[float, float]:
    """Sends a second that the workers' loop reaches with this kind of sender, reports included, and
    how much CPU time a send takes, in µs."""
    with session(rate, seconds) as running:
        sender = kind(running)
        sender.producer.list_topics(TOPIC, timeout=10)
        running.begin()
        begin, before_s = time.perf_counter(), time.process_time()
        Schedule(running, sender, Partitions(running.spec)).run()
        sender.producer.flush()
        took_s, sends = time.perf_counter() - begin, running.counts.sends
        return sends / took_s, 1e6 * (time.process_time() - before_s) / max(1, sends)


class BareSender(Sender):
    """Sends the same and records nothing."""

    def send(self, partition: int, intended_ns: int, start_ns: int) -> int:  # noqa: ARG002
        """Begin the next send."""
        value = self._session.counts.sends
        self._session.counts.sends = value + 1
        self._produce(TOPIC, (b"%d" % value).ljust(VALUE_BYTES), None, partition, _delivered)
        return value


def _delivered(_error: KafkaError | None, _message: Message) -> None:
    pass


class _Session(Session):
    """A session whose time begins when the client is connected."""

    def begin(self) -> None:
        """Count the limit from now."""
        self._deadline_ns = time.monotonic_ns() + int(self.spec.limit_s * 1e9)


@contextmanager
def session(rate: float, seconds: float) -> Iterator[_Session]:
    """A worker's session in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        brokers = os.environ.get("KAFKA")
        where = {"bootstrap.servers": brokers} if brokers else {"test.mock.num.brokers": 1}
        spec = Spec(
            run_id="bench/bench",
            process="bench",
            history=Path(folder),
            topic=TOPIC,
            partitions=1,
            config={**CLIENT, **where},
            limit_s=seconds,
            rate=rate,
        )
        running = _Session("bench", spec)
        yield running
        running.recorder.close()


def cost_per_operation(count: int) -> float:
    """CPU µs for one invoke and its completion, the loop around them taken off."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder), "bench")

        def record(n: int) -> None:
            operation = recorder.invoke(SEND, 0, n, 1, 1)
            recorder.complete(operation, OK, n, 2, NOTHING, 0)

        def nothing(n: int) -> None:
            pass

        cost = _cpu_s(record, count) - _cpu_s(nothing, count)
        recorder.close()
    return cost / count * 1e6


def _cpu_s(operation: Callable[[int], None], count: int) -> float:
    begin = time.process_time()
    for n in range(count):
        operation(n)
    return time.process_time() - begin


if __name__ == "__main__":
    sys.exit(main())
