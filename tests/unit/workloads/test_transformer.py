"""A transformer as a process, against librdkafka's mock cluster: outputs, links, commits, and what
is done again.

The mock cluster keeps what a transaction has handed in, whether it is committed or aborted, and
hides nothing. What becomes of aborted offsets and outputs on real brokers: tests/live.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from harness.waiting import wait_until
from tests.support.log_segments import of_ours
from tests.support.mock_kafka import MEMBER, PRODUCE, TOPIC, TXN_OFFSET_COMMIT, MockKafka
from tests.support.worker_processes import LONG_S, Started, Starter

RECORDS = 24  # in each of two partitions
FIRST = 4000
PLAIN = {"enable.idempotence": True}
TRANSACTIONS = {
    **PLAIN,
    "transactional.id": "t-2",
    "transaction.timeout.ms": 20000,
    "message.timeout.ms": 10000,
    "socket.timeout.ms": 10000,
}


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    """A cluster with inputs in both of its partitions."""
    cluster = MockKafka(partitions=2)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for value in range(2 * RECORDS):
        producer.produce(TOPIC, of_ours(value, 20), partition=value % 2)
    assert producer.flush(30) == 0
    yield cluster
    cluster.close()


def transformer(start: Starter, kafka: MockKafka, **spec: Any) -> Started:
    """A transformer that has begun."""
    consumer = {"bootstrap.servers": kafka.bootstrap, "fetch.wait.max.ms": 5, **MEMBER}
    usual = {
        "batch": 10,
        "transaction_sends": 7,
        "commit": "transaction",
        "config": TRANSACTIONS,
        "index": FIRST,
    }
    worker = start(
        "transformer",
        kafka.bootstrap,
        group="a-group",
        partitions=2,
        first_output=FIRST,
        consumer_config=consumer,
        **{**usual, **spec},
    )
    worker.go()
    return worker


def await_all(worker: Started, count: int = 4 * RECORDS) -> None:
    """Wait until it was given so many records: inputs, and the outputs that it made of them."""
    wait_until(lambda: worker.progress.reads >= count, timeout_s=LONG_S, what=f"{count} polls")


Rows = list[dict[str, Any]]


def linked(worker: Started) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each output with the processing that it names as its input's."""
    begun = {row["start_ns"]: row for row in worker.operations("process")}
    assert len(begun) == len(worker.operations("process"))
    return [(send, begun[send["intended_ns"]]) for send in worker.operations("send")]


def done(worker: Started) -> Counter[tuple[int, int]]:
    """How often each place was processed for good."""
    rows = worker.operations("process")
    return Counter((row["partition"], row["offset"]) for row in rows if row["type"] == "ok")


@pytest.mark.parametrize(
    ("commit", "config"),
    [
        ("transaction", TRANSACTIONS),
        ("after", TRANSACTIONS),
        ("after", PLAIN),
        ("before", PLAIN),
        ("auto", PLAIN),
    ],
    ids=["transaction", "after-in-transactions", "after", "before", "auto"],
)
def test_each_input_has_one_output_in_the_next_partition_and_outputs_have_none(
    start: Starter, kafka: MockKafka, commit: str, config: dict[str, Any]
) -> None:
    worker = transformer(start, kafka, commit=commit, config=config)
    await_all(worker)
    assert "stopped" == worker.stop()

    pairs = linked(worker)
    assert sorted(range(2 * RECORDS)) == sorted(process["value"] for _, process in pairs)
    for send, process in pairs:
        assert ("ok", "ok") == (send["type"], process["type"])
        assert FIRST == send["value"] >> 40
        assert (process["partition"] + 1) % 2 == send["partition"]
        assert process["transaction"] == send["transaction"]
        assert process["start_ns"] <= send["start_ns"] <= send["end_ns"]
        assert (process["transaction"] is None) == ("transactional.id" not in config)
    places = done(worker)
    assert [1] * 4 * RECORDS == list(places.values())
    ends = {row["partition"]: row["offset"] for row in worker.operations("commit")}
    assert {p: max(at for q, at in places if p == q) + 1 for p in (0, 1)} == ends


def test_everything_of_a_transaction_ends_with_it(start: Starter, kafka: MockKafka) -> None:
    """Sends, what was processed, and the commits that were begun before it was asked for."""
    worker = transformer(start, kafka)
    await_all(worker)
    assert "stopped" == worker.stop()

    events = worker.events("transaction")
    ended = {e["transaction"]: e["time_ns"] for e in events if e["name"] == "committed"}
    asked = {e["transaction"]: e["time_ns"] for e in events if e["name"] == "commit-asked"}
    for f in ("send", "process", "commit"):
        for row in worker.operations(f):
            assert row["end_ns"] >= ended[row["transaction"]]
            assert f != "commit" or row["start_ns"] < asked[row["transaction"]]
    sends = Counter(row["transaction"] for row in worker.operations("send"))
    assert 7 == max(sends.values())


def test_what_was_refused_with_its_offsets_has_failed_and_is_done_again(
    start: Starter, kafka: MockKafka
) -> None:
    """No commit was asked for: the abort is certain, and the group stands where it stood."""
    kafka.answer(TXN_OFFSET_COMMIT, KafkaError.ILLEGAL_GENERATION)
    worker = transformer(start, kafka)
    await_all(worker)
    wait_until(
        lambda: any(e["text"] == "again" for e in worker.events("position")),
        timeout_s=LONG_S,
        what="going back",
    )
    assert "stopped" == worker.stop()

    failed = [row for row in worker.operations("process") if row["type"] == "fail"]
    assert failed
    assert {0} == {row["transaction"] for row in failed}
    assert {"ILLEGAL_GENERATION"} == {row["error"] for row in failed}
    assert {"fail"} == {r["type"] for r in worker.operations("commit") if r["transaction"] == 0}
    names = [e["name"] for e in worker.events("transaction") if e["transaction"] == 0]
    assert ["begun", "abort-asked", "aborted"] == names
    inputs = {(p, at) for p in (0, 1) for at in range(RECORDS)}
    assert {1} == {done(worker)[place] for place in inputs}


def test_an_output_that_failed_is_made_again_before_anything_is_committed(
    start: Starter, kafka: MockKafka
) -> None:
    """Its input is processed a second time, and what was polled behind it too."""
    kafka.answer(PRODUCE, KafkaError.INVALID_RECORD)
    config = {"enable.idempotence": False, "retries": 0, "linger.ms": 0}
    worker = transformer(start, kafka, commit="after", config=config)
    wait_until(lambda: worker.progress.acked >= 2 * RECORDS, timeout_s=LONG_S, what="all outputs")
    assert "stopped" == worker.stop()

    pairs = linked(worker)
    assert "fail" in {send["type"] for send, _ in pairs}
    assert all(send["type"] == process["type"] for send, process in pairs)
    made = {process["value"] for send, process in pairs if send["type"] == "ok"}
    assert set(range(2 * RECORDS)) == made


def test_a_transformer_dies_between_its_outputs_and_their_commit(
    start: Starter, kafka: MockKafka
) -> None:
    """Its successor makes the same outputs again, with values of its own."""
    dead = transformer(
        start, kafka, commit="after", config=PLAIN, dies="before-commit", dies_after=15
    )
    dead.process.communicate(timeout=LONG_S)
    assert dead.process.returncode == -signal.SIGKILL
    successor = transformer(start, kafka, commit="after", config=PLAIN, index=FIRST + 1)
    await_all(successor, 2 * RECORDS)
    assert "stopped" == successor.stop()

    twice = done(dead).keys() & done(successor).keys()
    assert len(twice) >= 10
    both = [*linked(dead), *linked(successor)]
    made = Counter(process["value"] for send, process in both if send["type"] == "ok")
    assert 2 in made.values()
    assert set(range(2 * RECORDS)) == made.keys()
    assert len({send["value"] for send, _ in both}) == len(both)
