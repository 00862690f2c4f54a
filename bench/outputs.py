"""What outputs of programs cost: `python -m bench.outputs [--pairs N] [--operations N]`.

**Reading them.** A topic of the harness's own records and one of JSON are read to their ends by a
consumer that follows the log and by the reader of outputs, taking turns; each records what it
reads. Told is the median of the pairs' ratios of records a second, at least 0.9 of the consumer's.

**Checking them.** A made-up history and the same one with two outputs of each input that the final
read has, one read during the load and one after it, are checked taking turns, in one session.
Told is the median of the pairs' ratios of time, at most 1.3.

KAFKA names the brokers (`kafka-harness up baseline -- python -m bench.outputs`, as `make bench`
does); without it only checks are timed. 1 is returned where a ratio is not within its bar.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from analysis.job.job import check
from analysis.spark.session import session
from bench.checker.histories import write
from harness.history.record_format import OUTPUT, READ, value_of
from workloads.client import payload
from workloads.client.tail import Tail
from workloads.worker import Session, Spec

RECORDS = 200_000
LEAST_READ, MOST_CHECK = 0.9, 1.3
KINDS = {"consumer": (READ, ""), "outputs": (OUTPUT, "json:/order_id")}


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--operations", type=int, default=1_000_000, help="of the history")
    asked = parser.parse_args()
    met = []
    if brokers := os.environ.get("KAFKA"):
        ratio = read_ratio(brokers, asked.pairs)
        met.append(ratio >= LEAST_READ)
        print(
            f"outputs read, of a consumer's records a second: {ratio:.2f} (≥ {LEAST_READ} wanted)"
        )
    ratio = check_ratio(asked.operations, asked.pairs)
    met.append(ratio <= MOST_CHECK)
    print(f"a check with outputs, of the time of one without: {ratio:.2f} (≤ {MOST_CHECK} wanted)")
    return 0 if all(met) else 1


def read_ratio(brokers: str, pairs: int) -> float:
    """Of the reader of outputs beside a consumer."""
    admin, producer = AdminClient({"bootstrap.servers": brokers}), _producer(brokers)
    for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in KINDS]).values():
        made.result(30)
    for n in range(RECORDS):
        value = value_of(1, n)
        producer.produce("consumer", payload.of(value, 1, -1, 100))
        producer.produce("outputs", json.dumps({"order_id": value, "note": "x" * 60}))
        producer.poll(0)
        if n % 50_000 == 0:
            producer.flush()
    producer.flush()
    ratios = []
    for pair in range(pairs):
        took = {kind: _read(brokers, kind) for kind in [*KINDS][:: 1 if pair % 2 else -1]}
        ratios.append(took["consumer"] / took["outputs"])
    return statistics.median(ratios)


def _producer(brokers: str) -> Producer:
    return Producer({"bootstrap.servers": brokers, "linger.ms": 20})


def _read(brokers: str, kind: str) -> float:
    """The seconds that a reader of this kind takes."""
    f, form = KINDS[kind]
    config: dict[str, Any] = {"bootstrap.servers": brokers, "enable.partition.eof": True}
    with tempfile.TemporaryDirectory() as folder:
        spec = Spec(
            run_id="bench",
            process="reader-0",
            history=Path(folder),
            topic=kind,
            partitions=1,
            config=config,
            limit_s=600,
            id=form,
        )
        reader = Tail(Session("bench", spec), config, f=f)
        reader.assign({0: 0})
        while not reader.poll(1):
            pass
        begin_s = time.monotonic()
        while reader.positions[0] < RECORDS:
            reader.poll(1)
        return time.monotonic() - begin_s


def check_ratio(operations: int, pairs: int) -> float:
    """Of a history with outputs beside the same one without."""
    with tempfile.TemporaryDirectory() as scratch, session(None, operations):
        folders = {with_outputs: Path(scratch, str(with_outputs)) for with_outputs in (False, True)}
        for with_outputs, folder in folders.items():
            write(folder, operations, outputs=with_outputs)
        took: dict[bool, list[float]] = {False: [], True: []}
        for pair in range(pairs + 1):  # the first warms up
            for kind in [*folders][:: 1 if pair % 2 else -1]:
                begin_s = time.monotonic()
                check([folders[kind]])
                took[kind] += [time.monotonic() - begin_s] if pair else []
        return statistics.median(o / p for p, o in zip(took[False], took[True], strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
