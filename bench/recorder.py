"""What recording costs: `python -m bench.recorder [--sends N] [--pairs N]`.

Two figures. The cost of one operation, recorded from invoke to completion, in µs of CPU. And the
rate of a producer whose sends are recorded beside the same loop with nothing recorded and an empty
delivery callback: same client, same 100-byte values, same polling, as fast as the loop goes. The
loops take turns; each pair gives a ratio, and the median of those counts.

The brokers are librdkafka's mock cluster, inside this process: no Kafka is needed, and a broker
that answers at once makes the client, and so the recording, as large a part as it can be.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from harness.history import NOTHING, OK, SEND, Recorder
from workloads import payload
from workloads.producer import BURST
from workloads.sends import Sender
from workloads.worker import Session, Spec

CLIENT = {
    "test.mock.num.brokers": 1,
    "acks": "all",
    "enable.idempotence": False,
    "linger.ms": 0,
    "queue.buffering.max.messages": 2_000_000,
    "queue.buffering.max.kbytes": 2_000_000,
    "log_level": 0,
}
TOPIC = "bench"
VALUE_BYTES = 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sends", type=int, default=200_000)
    parser.add_argument("--pairs", type=int, default=9)
    asked = parser.parse_args()
    costs = [cost_per_operation(asked.sends) for _ in range(5)]
    print(f"recorder alone: {statistics.median(costs):.2f} µs of CPU an operation (≤ 1 wanted)")
    print("producer loops on librdkafka's mock cluster, 100-byte values, taking turns:")
    ratios = []
    for pair in range(asked.pairs):
        loops = (bare, recorded) if pair % 2 else (recorded, bare)
        rates = {loop.__name__: loop(asked.sends) for loop in loops}
        ratios.append(rates["recorded"] / rates["bare"])
        print(f"  bare {rates['bare']:9,.0f}/s   recorded {rates['recorded']:9,.0f}/s"
              f"   ratio {ratios[-1]:.2f}")  # fmt: skip
    print(f"ratio, median of {len(ratios)} pairs: {statistics.median(ratios):.2f} (≥ 0.8 wanted)")


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


def bare(sends: int) -> float:
    """Sends a second with nothing recorded."""
    producer = Producer(CLIENT)
    producer.list_topics(TOPIC, timeout=10)

    def delivered(_error: KafkaError | None, _message: Message) -> None:
        pass

    begin = time.perf_counter()
    for burst in range(0, sends, BURST):
        for n in range(burst, burst + BURST):
            producer.produce(TOPIC, payload.of(n, VALUE_BYTES), None, 0, delivered)
        producer.poll(0)
    producer.flush()
    return sends / (time.perf_counter() - begin)


def recorded(sends: int) -> float:
    """Sends a second through the workers' own sender."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session("bench", _spec(Path(folder)))
        sender = Sender(session)
        sender.producer.list_topics(TOPIC, timeout=10)
        send, clock = sender.send, time.monotonic_ns
        begin = time.perf_counter()
        for burst in range(0, sends, BURST):
            for _ in range(burst, burst + BURST):
                now = clock()
                send(0, now, now)
            sender.poll(0)
        sender.flush()
        took_s = time.perf_counter() - begin
        assert session.counts.acked == sends
        session.recorder.close()
    return sends / took_s


def _spec(folder: Path) -> Spec:
    config: dict[str, Any] = CLIENT
    return Spec(
        run_id="bench/bench", process="bench", history=folder, topic=TOPIC, partitions=1,
        config=config, limit_s=600, value_bytes=VALUE_BYTES,
    )  # fmt: skip


if __name__ == "__main__":
    main()
