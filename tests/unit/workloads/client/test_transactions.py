"""Transactional producers as processes, against librdkafka's mock cluster: how their sends end.

The mock cluster answers the coordinator's requests and keeps every record, but hides nothing from
readers of committed records. What readers are given of real transactions: tests/live.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from confluent_kafka import KafkaError

from harness.history.record_format import FAIL, INFO, OK
from harness.waiting import wait_until
from tests.support.mock_kafka import END_TXN, INIT_PRODUCER_ID, PRODUCE, MockKafka
from tests.support.worker_processes import LONG_S, Started, Starter
from workloads.client.transactions import fate

CONFIG = {
    "transactional.id": "t-0",
    "enable.idempotence": True,
    "transaction.timeout.ms": 20000,
    "message.timeout.ms": 10000,
    "socket.timeout.ms": 10000,
}


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    cluster = MockKafka()
    yield cluster
    cluster.close()


def producer(start: Starter, kafka: MockKafka, **spec: Any) -> Started:
    worker = start(
        "producer", kafka.bootstrap, config=CONFIG, **{"rate": 500, "transaction_sends": 10, **spec}
    )
    worker.go()
    return worker


def transactions(sends: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Sends that ended at the same moment: those of one transaction."""
    grouped = itertools.groupby(sends, key=lambda send: send["end_ns"] // 1_000_000)
    return [list(group) for _, group in grouped]


def told(sends: list[dict[str, Any]]) -> set[tuple[str, str | None]]:
    return {(send["type"], send["error"]) for send in sends}


def test_sends_end_with_their_transaction(start: Starter, kafka: MockKafka) -> None:
    """All of them are acknowledged, in order and at their offsets, none before the commit."""
    worker = producer(start, kafka)
    worker.acked(200)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert {("ok", None)} == told(sends)
    assert all(a["offset"] < b["offset"] for a, b in itertools.pairwise(sends))
    firsts = [group[0] for group in transactions(sends)]
    assert len(firsts) < len(sends) / 2
    assert max(send["end_ns"] - send["start_ns"] for send in firsts) > 1_000_000


def test_a_transaction_is_committed_in_time_when_few_sends_come(
    start: Starter, kafka: MockKafka
) -> None:
    """Held back after three sends, of the ten that would fill it."""
    worker = start("producer", kafka.bootstrap, rate=500, transaction_sends=10, config=CONFIG)
    worker.progress.allow(3)
    worker.go()
    worker.acked(3)
    assert "stopped" == worker.stop()

    assert {("ok", None)} == told(worker.operations("send"))


def test_every_so_many_transactions_one_is_aborted_on_purpose(
    start: Starter, kafka: MockKafka
) -> None:
    """Its sends fail, although the log has their records: who reads them reads phantoms."""
    worker = producer(start, kafka, transaction_abort_every=3)
    worker.acked(60)
    assert "stopped" == worker.stop()
    reader = start("final_read", kafka.bootstrap)
    reader.go()
    assert "done" == reader.reason()
    sends = worker.operations("send")

    assert {("ok", None), ("fail", "_ABORTED")} == told(sends)
    types = [kind for kind, _ in itertools.groupby(send["type"] for send in sends)]
    assert ["ok", "fail", "ok"] == types[:3]
    failed = [send for send in sends if send["type"] == "fail"]
    assert 10 <= len(failed) < len(sends) / 2
    in_log = {row["value"] for row in reader.operations("final-read")}
    assert {send["value"] for send in sends} == in_log
    (end,) = worker.events("end")
    assert (len(sends), len(failed), 0) == (end["sends"], end["failed"], end["info"])


def test_a_share_is_aborted_by_the_run_s_seed(start: Starter, kafka: MockKafka) -> None:
    """Which ones follows from the seed and the worker's name alone, so it can be had again."""
    worker = producer(start, kafka, transaction_abort_share=0.5, seed=7)
    worker.acked(60)
    assert "stopped" == worker.stop()

    ended = [
        e["name"] for e in worker.events("transaction") if e["name"] in ("committed", "aborted")
    ]
    random = Random(f"7/{worker.name}")
    assert len(ended) >= 10
    assert ended == ["aborted" if random.random() < 0.5 else "committed" for _ in ended]
    assert {"aborted", "committed"} == set(ended)


def test_what_fails_within_a_transaction_fails_all_of_it(start: Starter, kafka: MockKafka) -> None:
    """One batch is refused, so no commit is asked for; the abort succeeds, the next one begins."""
    worker = producer(start, kafka)
    worker.acked(20)
    kafka.answer(PRODUCE, KafkaError.INVALID_RECORD)
    wait_until(lambda: worker.progress.failed > 0, timeout_s=LONG_S, what="failed sends")
    worker.acked(worker.progress.acked + 20)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert {"ok", "fail"} == {send["type"] for send in sends}
    assert "INVALID_RECORD" in {send["error"] for send in sends}


@pytest.mark.parametrize("error", [KafkaError.PRODUCER_FENCED, KafkaError.INVALID_TXN_STATE])
def test_a_producer_that_is_fenced_is_replaced(
    start: Starter, kafka: MockKafka, error: int
) -> None:
    """Whether its transaction was committed nobody can tell it; a new producer goes on."""
    worker = producer(start, kafka)
    worker.acked(20)
    kafka.answer(END_TXN, error)
    wait_until(lambda: worker.progress.info > 0, timeout_s=LONG_S, what="sends in doubt")
    worker.acked(worker.progress.acked + 20)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert {"ok", "info"} == {send["type"] for send in sends}
    doubtful = [send for send in sends if send["type"] == "info"]
    assert 1 <= len(doubtful) <= 10
    assert all(send["end_ns"] is not None and send["offset"] is None for send in doubtful)
    assert worker.events("client-error")


def test_an_abort_after_a_commit_that_was_asked_for_proves_nothing(
    start: Starter, kafka: MockKafka
) -> None:
    """Every record was delivered and the commit was sent: its answer is no proof of its failure."""
    worker = producer(start, kafka)
    worker.acked(20)
    kafka.answer(END_TXN, KafkaError.INVALID_PRODUCER_ID_MAPPING)
    wait_until(lambda: worker.progress.info > 0, timeout_s=LONG_S, what="sends in doubt")
    worker.acked(worker.progress.acked + 20)
    assert "stopped" == worker.stop()

    assert {"ok", "info"} == {send["type"] for send in worker.operations("send")}


def test_a_commit_that_may_be_tried_again_is_no_end(start: Starter, kafka: MockKafka) -> None:
    """The coordinator moves: the client asks again, and all is well."""
    worker = producer(start, kafka)
    worker.acked(20)
    kafka.answer(END_TXN, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR)
    worker.acked(60)
    assert "stopped" == worker.stop()

    assert {("ok", None)} == told(worker.operations("send"))


def test_it_is_not_ready_before_the_coordinator_is(start: Starter, kafka: MockKafka) -> None:
    """The first send would seem to take as long."""
    kafka.answer(INIT_PRODUCER_ID, *[KafkaError.CONCURRENT_TRANSACTIONS] * 3)
    worker = producer(start, kafka)
    worker.acked(20)
    assert "stopped" == worker.stop()

    assert {("ok", None)} == told(worker.operations("send"))


def test_a_round_of_write_read_is_a_transaction(start: Starter, kafka: MockKafka) -> None:
    worker = start("write_read", kafka.bootstrap, rounds=5, config=CONFIG)
    worker.go()
    assert "done" == worker.reason()

    assert {("ok", None)} == told(worker.operations("send"))
    assert ["ok"] * 5 == [lookup["type"] for lookup in worker.operations("lookup")]


# --- what the mock cluster cannot bring about: a commit that succeeds all the same


@pytest.mark.parametrize(
    ("ended", "error", "send"),
    [
        (OK, None, OK),
        (OK, KafkaError._MSG_TIMED_OUT, INFO),
        (OK, KafkaError.INVALID_RECORD, INFO),
        (FAIL, None, FAIL),
        (FAIL, KafkaError.INVALID_RECORD, FAIL),
        (INFO, None, INFO),
        (INFO, KafkaError.INVALID_RECORD, INFO),
    ],
)
def test_a_send_that_was_not_delivered_is_not_ok_though_its_transaction_is(
    ended: int, error: int | None, send: int
) -> None:
    assert send == fate(ended, None if error is None else KafkaError(error))
