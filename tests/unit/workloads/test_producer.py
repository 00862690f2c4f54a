"""The producer against librdkafka's mock cluster: its rate, its records, its errors."""

from __future__ import annotations

import itertools
from contextlib import closing

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from harness.history.record_format import is_tombstone
from harness.waiting import wait_until
from tests.support.mock_kafka import PRODUCE, TOPIC, MockKafka, two_partitions
from tests.support.worker_processes import LONG_S, Starter


@two_partitions
def test_a_producer_keeps_its_rate_and_counts_from_due_times(
    start: Starter, kafka: MockKafka
) -> None:
    """Values dense, due times evenly spaced, nothing sent before it is due, partitions in turn."""
    worker = start("producer", kafka.bootstrap, rate=2000, index=3, partitions=2)
    worker.go()
    worker.acked(400)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert [(3 << 40) + n for n in range(len(sends))] == [send["value"] for send in sends]
    assert {500_000} == {b["intended_ns"] - a["intended_ns"] for a, b in itertools.pairwise(sends)}
    assert all(send["intended_ns"] <= send["start_ns"] <= send["end_ns"] for send in sends)
    assert [n % 2 for n in range(len(sends))] == [send["partition"] for send in sends]
    assert {"ok"} == {send["type"] for send in sends}
    (end,) = worker.events("end")
    assert (len(sends), len(sends), 0, 0) == tuple(
        end[name] for name in ("sends", "acked", "failed", "info")
    )
    for partition in (0, 1):
        offsets = [send["offset"] for send in sends if send["partition"] == partition]
        assert list(range(len(offsets))) == offsets


def test_tombstones_have_a_key_and_no_value_and_are_known_to_readers(
    start: Starter, kafka: MockKafka
) -> None:
    reader = start("consumer", kafka.bootstrap, name="consumer-0")
    reader.go()
    worker = start("producer", kafka.bootstrap, rate=1000, keys=3, tombstones=0.5, seed=7)
    worker.go()
    worker.acked(100)
    worker.stop()
    wait_until(lambda: reader.progress.reads >= 100, timeout_s=LONG_S, what="reads")
    reader.stop()

    in_log = messages(kafka, 100)
    assert list(range(100)) == [read["value"] for read in reader.operations("read")][:100]
    assert {b"0", b"1", b"2"} == {message.key() for message in in_log}
    without = [n for n, message in enumerate(in_log) if message.value() is None]
    assert without == [n for n in range(100) if is_tombstone(n, 7, 0.5)]
    assert 30 < len(without) < 70


def messages(kafka: MockKafka, count: int) -> list[Message]:
    """The first records of partition 0."""
    config = {"bootstrap.servers": kafka.bootstrap, "group.id": "any"}
    with closing(Consumer({**config, "auto.offset.reset": "earliest"})) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        return consumer.consume(count, LONG_S)


def test_an_outage_does_not_slow_a_producer_down(start: Starter, kafka: MockKafka) -> None:
    """While no broker answers it goes on sending as planned; afterwards all is acknowledged."""
    worker = start("producer", kafka.bootstrap, rate=1000, config={"reconnect.backoff.max.ms": 100})
    worker.go()
    worker.acked(50)
    kafka.down()
    stood = worker.progress.sends
    wait_until(
        lambda: worker.progress.sends > stood + 500, timeout_s=LONG_S, what="sends in the outage"
    )
    kafka.up()
    worker.acked(stood + 600)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert {"ok"} == {send["type"] for send in sends}
    gaps = [b["start_ns"] - a["start_ns"] for a, b in itertools.pairwise(sends)]
    waits = [send["end_ns"] - send["intended_ns"] for send in sends]
    assert max(gaps) < max(waits)
    assert worker.events("client-error")


def test_a_full_queue_is_a_failed_send(start: Starter, kafka: MockKafka) -> None:
    """It never left the client."""
    worker = start(
        "producer",
        kafka.bootstrap,
        rate=2000,
        flush_s=0.2,
        config={"queue.buffering.max.messages": 50},
    )
    worker.go()
    worker.acked(10)
    kafka.down()
    wait_until(lambda: worker.progress.failed > 50, timeout_s=LONG_S, what="refused sends")
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert {"_QUEUE_FULL"} == {send["error"] for send in sends if send["type"] == "fail"}
    still_open = [send for send in sends if send["end_ns"] is None]
    assert {"info"} == {send["type"] for send in still_open}
    assert 0 < len(still_open) <= 50


def test_a_send_may_wait_for_room_in_the_queue(start: Starter, kafka: MockKafka) -> None:
    """While it waits nothing else begins; due times stay, and none fails. The stretch is told."""
    queue = {"queue.buffering.max.messages": 50, "reconnect.backoff.max.ms": 100}
    worker = start("producer", kafka.bootstrap, rate=500, when_full="wait", config=queue)
    worker.go()
    worker.acked(10)
    kafka.down()
    stood = worker.progress.acked
    wait_until(
        lambda: worker.progress.sends - worker.progress.acked > 50, timeout_s=LONG_S, what="a wait"
    )
    kafka.up()
    worker.acked(stood + 300)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert {"ok"} == {send["type"] for send in sends}
    assert {2_000_000} == {
        b["intended_ns"] - a["intended_ns"] for a, b in itertools.pairwise(sends)
    }
    waited = worker.events("waited")
    longest = max(sends, key=lambda send: int(send["end_ns"] - send["start_ns"]))
    assert any(
        event["since_ns"] < longest["end_ns"] <= event["time_ns"] + 10**9 for event in waited
    )


def test_a_send_waits_for_room_for_so_long_at_most(start: Starter, kafka: MockKafka) -> None:
    worker = start(
        "producer",
        kafka.bootstrap,
        rate=500,
        when_full="wait",
        max_block_ms=20,
        flush_s=0.2,
        config={"queue.buffering.max.messages": 50},
    )
    worker.go()
    worker.acked(10)
    kafka.down()
    wait_until(lambda: worker.progress.failed > 5, timeout_s=LONG_S, what="refused sends")
    assert "stopped" == worker.stop()

    failed = [send for send in worker.operations("send") if send["type"] == "fail"]
    assert {"_QUEUE_FULL"} == {send["error"] for send in failed}
    assert min(send["end_ns"] - send["start_ns"] for send in failed) >= 20_000_000


@pytest.mark.parametrize(
    ("acks", "answers", "type_", "error"),
    [
        ("all", [KafkaError.REQUEST_TIMED_OUT], "info", "REQUEST_TIMED_OUT"),
        (
            "all",
            [KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND],
            "info",
            "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        ),
        ("all", [KafkaError.INVALID_TIMESTAMP], "fail", "INVALID_TIMESTAMP"),
        ("all", [KafkaError.MSG_SIZE_TOO_LARGE], "info", "MSG_SIZE_TOO_LARGE"),
        ("1", [KafkaError.MSG_SIZE_TOO_LARGE], "fail", "MSG_SIZE_TOO_LARGE"),
    ],
)
def test_without_retries_the_table_decides(  # noqa: PLR0917
    start: Starter, kafka: MockKafka, acks: str, answers: list[int], type_: str, error: str
) -> None:
    """One answer to one send, as a broker gives it."""
    worker = start("write_read", kafka.bootstrap, rounds=2, config={"retries": 0, "acks": acks})
    assert worker.said() == {"event": "ready"}
    kafka.answer(PRODUCE, *answers)
    worker.say("go")
    assert "done" == worker.reason()

    first, second = worker.operations("send")
    assert (type_, error, None) == (first["type"], first["error"], first["offset"])
    assert first["end_ns"] is not None
    assert ("ok", None) == (second["type"], second["error"])
    assert [second["value"]] == [lookup["value"] for lookup in worker.operations("lookup")]


def test_retries_zero_does_not_mean_one_attempt(start: Starter, kafka: MockKafka) -> None:
    """librdkafka sends again, uncounted, after NOT_LEADER_OR_FOLLOWER: why so little is certain."""
    worker = start("write_read", kafka.bootstrap, rounds=1, config={"retries": 0})
    assert worker.said() == {"event": "ready"}
    kafka.answer(PRODUCE, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NOT_ENOUGH_REPLICAS)
    worker.say("go")
    assert "done" == worker.reason()

    (send,) = worker.operations("send")
    assert ("info", "NOT_ENOUGH_REPLICAS") == (send["type"], send["error"])


def test_under_acks_zero_nothing_is_acknowledged(start: Starter, kafka: MockKafka) -> None:
    """The client reports success once it has written the request: that is told apart."""
    worker = start("producer", kafka.bootstrap, rate=500, config={"acks": 0})
    worker.go()
    wait_until(lambda: worker.progress.info > 50, timeout_s=LONG_S, what="written sends")
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    assert {("info", "_NO_ACK", None)} == {(s["type"], s["error"], s["offset"]) for s in sends}
    assert all(send["end_ns"] is not None for send in sends)


def test_an_ack_of_a_duplicate_is_an_ack_without_an_offset(
    start: Starter, kafka: MockKafka
) -> None:
    """librdkafka counts offsets up from -1 for such a batch; none of them is believed."""
    worker = start(
        "producer",
        kafka.bootstrap,
        rate=2000,
        config={"enable.idempotence": True, "linger.ms": 20},
    )
    assert worker.said() == {"event": "ready"}
    kafka.answer(PRODUCE, KafkaError.DUPLICATE_SEQUENCE_NUMBER)
    worker.say("go")
    worker.acked(300)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    unplaced = [send["value"] for send in sends if send["offset"] is None]
    assert {"ok"} == {send["type"] for send in sends}
    assert list(range(len(unplaced))) == unplaced
    assert len(unplaced) > 1
    placed = [send["offset"] for send in sends[len(unplaced) :]]
    assert list(range(len(placed))) == placed


def test_a_fatal_error_is_a_result(start: Starter, kafka: MockKafka) -> None:
    """An idempotent producer that lost its sequence fails from then on, at its rate, in order."""
    worker = start("producer", kafka.bootstrap, rate=500, config={"enable.idempotence": True})
    worker.go()
    worker.acked(20)
    kafka.answer(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    wait_until(lambda: worker.progress.failed > 20, timeout_s=LONG_S, what="failed sends")
    assert "fatal" == worker.stop()

    sends = worker.operations("send")
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in [s["error"] for s in sends if s["type"] == "info"]
    assert {"_FATAL"} == {send["error"] for send in sends if send["type"] == "fail"}
    assert {500} == {
        round(1e9 / (b["intended_ns"] - a["intended_ns"])) for a, b in itertools.pairwise(sends)
    }


def test_a_producer_that_is_held_back_sends_no_more(start: Starter, kafka: MockKafka) -> None:
    """It stops at the number allowed; due times go on from its release, so no wait is counted."""
    worker = start("producer", kafka.bootstrap, rate=1000)
    worker.progress.allow(100)
    worker.go()
    worker.acked(100)
    wait_until(lambda: worker.events("held"), timeout_s=LONG_S, what="the hold")
    assert 100 == worker.progress.sends
    worker.progress.allow(None)
    worker.acked(200)
    assert "stopped" == worker.stop()

    sends = worker.operations("send")
    (held,), (released,) = worker.events("held"), worker.events("released")
    assert sends[99]["start_ns"] < held["time_ns"]
    assert held["time_ns"] < sends[100]["intended_ns"] <= released["time_ns"]
    assert sends[101]["intended_ns"] - sends[100]["intended_ns"] == 1_000_000


def test_a_killed_worker_leaves_what_was_complete(start: Starter, kafka: MockKafka) -> None:
    """SIGKILL with sends outstanding: acked ones are ok, open ones info, no end is told."""
    worker = start("producer", kafka.bootstrap, rate=2000)
    worker.go()
    worker.acked(200)
    kafka.slow(5_000)
    stood = worker.progress.sends
    wait_until(lambda: worker.progress.sends > stood + 200, timeout_s=LONG_S, what="open sends")
    acked = worker.progress.acked
    worker.process.kill()
    worker.process.wait()

    sends = worker.operations("send")
    types = [send["type"] for send in sends]
    assert types.count("ok") >= acked
    assert types.count("info") >= 100
    assert all((send["end_ns"] is None) == (send["type"] == "info") for send in sends)
    findings = pq.read_table(worker.run / "history/findings.parquet").to_pylist()
    mine = {finding["kind"] for finding in findings if finding["process"] == "producer-0"}
    assert "no-end" in mine
    assert {"no-end", "torn"} >= mine
