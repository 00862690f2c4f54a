"""What format 2 of the history added: whose client, which transaction, generation and epoch; where
a reader was put, by whom; and for how long it was given nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer

from analysis.stored.groups.passed_over import TO_END
from harness.waiting import wait_until
from tests.support.log_segments import of_ours
from tests.support.mock_kafka import END_TXN, FETCH, TOPIC, MockKafka
from tests.support.worker_processes import LONG_S, Starter
from workloads.client.membership import OUTSIDE, parse_membership


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    """A cluster with one record."""
    cluster = MockKafka()
    yield cluster
    cluster.close()


def send(kafka: MockKafka, *payloads: bytes) -> None:
    """Some records in partition 0."""
    sender = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
    for payload in payloads:
        sender.produce(TOPIC, payload, partition=0)
    assert sender.flush(10) == 0


def test_a_read_tells_its_epoch_and_what_its_payload_tells(
    start: Starter, kafka: MockKafka
) -> None:
    """When it was due and its transaction, so that nobody must look its send up."""
    worker = start("consumer", kafka.bootstrap)
    worker.go()
    send(kafka, of_ours(7, intended_ns=81, transaction=3), of_ours(8, intended_ns=82))
    wait_until(lambda: worker.progress.reads >= 2, timeout_s=LONG_S, what="two records")
    worker.stop()

    reads = worker.operations("read")
    told = [(r["value"], r["intended_ns"], r["transaction"], r["epoch"]) for r in reads]
    assert told == [(7, 81, 3, 0), (8, 82, None, 0)]
    (put,) = worker.events("position")
    assert (put["partition"], put["position"], put["text"]) == (0, 0, "assigned")


def test_a_corrupt_payload_is_told_from_a_foreign_one(start: Starter, kafka: MockKafka) -> None:
    """One byte of ours is another one."""
    worker = start("consumer", kafka.bootstrap)
    worker.go()
    damaged = of_ours(7, intended_ns=81_234_567_890).replace(b"812", b"813")
    send(kafka, damaged, b"a stranger's")
    wait_until(lambda: worker.progress.reads >= 2, timeout_s=LONG_S, what="two records")
    worker.stop()

    assert [event["position"] for event in worker.events("corrupt-payload")] == [0]
    assert [event["offset"] for event in worker.events("unparsable")] == [1]
    assert [read["value"] for read in worker.operations("read")] == [None, None]


def test_how_long_nothing_was_there_is_one_stretch(start: Starter, kafka: MockKafka) -> None:
    """However many polls found nothing meanwhile."""
    worker = start("consumer", kafka.bootstrap)
    worker.go()
    begun = worker.events("position")[0]["time_ns"]
    wait_until(
        lambda: time.monotonic_ns() - begun > 500_000_000, timeout_s=LONG_S, what="half a second"
    )
    send(kafka, of_ours(7))
    wait_until(lambda: worker.progress.reads >= 1, timeout_s=LONG_S, what="a record")
    worker.stop()

    stretch = worker.events("nothing")[0]
    (read,) = worker.operations("read")
    assert begun <= stretch["since_ns"]
    assert stretch["time_ns"] - stretch["since_ns"] > 300_000_000
    assert stretch["time_ns"] <= read["end_ns"]


def test_a_position_that_the_client_resets_is_an_event(start: Starter, kafka: MockKafka) -> None:
    """Its fetch was out of range: it begins again elsewhere, and says so in its log alone."""
    worker = start("consumer", kafka.bootstrap)
    worker.go()
    send(kafka, of_ours(7))
    wait_until(lambda: worker.progress.reads >= 1, timeout_s=LONG_S, what="a record")
    kafka.answer(FETCH, KafkaError.OFFSET_OUT_OF_RANGE)
    wait_until(lambda: worker.progress.reads >= 2, timeout_s=LONG_S, what="the same again")
    worker.stop()

    (reset,) = worker.events("reset")
    assert (reset["partition"], reset["position"]) == (0, 1)
    assert "BEGINNING" in reset["text"]
    assert "log_start" not in reset
    assert [read["offset"] for read in worker.operations("read")] == [0, 0]


def test_a_member_that_is_put_to_the_end_tells_where_the_log_starts(
    start: Starter, kafka: MockKafka
) -> None:
    """What it passes over from there on is still in the log."""
    config = {"auto.offset.reset": "latest"}
    worker = start("group_consumer", kafka.bootstrap, group="g", config=config)
    worker.go()

    def is_given_one_more() -> bool:
        send(kafka, of_ours(7))
        return worker.progress.reads >= 1

    wait_until(is_given_one_more, timeout_s=LONG_S, what="a record behind where it began")
    kafka.answer(FETCH, KafkaError.OFFSET_OUT_OF_RANGE)
    wait_until(lambda: worker.events("reset"), timeout_s=LONG_S, what="its reset")
    worker.stop()

    (reset,) = worker.events("reset")
    assert (TO_END in reset["text"], reset["log_start"]) == (True, 0)


def test_an_idempotent_producer_tells_its_id(start: Starter, kafka: MockKafka) -> None:
    """As the broker gave it."""
    worker = start("producer", kafka.bootstrap, config={"enable.idempotence": True}, rate=100)
    worker.go()
    worker.acked(5)
    wait_until(lambda: worker.events("producer-id"), timeout_s=LONG_S, what="its id")
    worker.stop()

    assert worker.events("client")[0]["instance"] == 0
    assert worker.events("producer-id")[0]["instance"] == 0
    assert worker.events("producer-id")[0]["text"].startswith("id ")
    assert {send["instance"] for send in worker.operations("send")} == {0}


def test_a_transaction_is_told_from_its_begin_to_its_end(start: Starter, kafka: MockKafka) -> None:
    """Every third is aborted; sends bear its number, and the payload does."""
    worker = start(
        "producer",
        kafka.bootstrap,
        config={"transactional.id": "t"},
        rate=200,
        transaction_sends=5,
        transaction_abort_every=3,
    )
    worker.go()
    worker.acked(30)
    worker.stop()

    told = worker.events("transaction")
    first = [line["name"] for line in told if line["transaction"] == 0]
    third = [line["name"] for line in told if line["transaction"] == 2]
    assert first == ["begun", "commit-asked", "committed"]
    assert third == ["begun", "abort-asked", "aborted"]
    sends = worker.operations("send")
    by_number: dict[int, set[str]] = {}
    for send_ in sends:
        by_number.setdefault(send_["transaction"], set()).add(send_["type"])
    assert by_number[0] == {"ok"}
    assert by_number[2] == {"fail"}
    assert sorted(by_number) == list(range(len(by_number)))


def test_a_replaced_client_is_another_instance(start: Starter, kafka: MockKafka) -> None:
    """It was fenced: whatever it had sent is its own, and its successor's is not."""
    worker = start("producer", kafka.bootstrap, config={"transactional.id": "t"}, rate=100)
    worker.go()
    worker.acked(5)
    kafka.answer(END_TXN, KafkaError.PRODUCER_FENCED)
    wait_until(lambda: len(worker.events("client")) > 1, timeout_s=LONG_S, what="a successor")
    worker.acked(50)
    worker.stop()

    assert [event["instance"] for event in worker.events("client")][:2] == [0, 1]
    instances = [send_["instance"] for send_ in worker.operations("send")]
    assert instances == sorted(instances)
    assert set(instances) >= {0, 1}


def test_a_member_tells_its_generation(start: Starter, kafka: MockKafka) -> None:
    """Of its polls, its processing and its commits."""
    send(kafka, *map(of_ours, range(20)))
    worker = start("group_consumer", kafka.bootstrap, group="g", batch=5)
    worker.go()
    wait_until(lambda: worker.progress.reads >= 20, timeout_s=LONG_S, what="twenty records")
    worker.stop()

    (assigned,) = worker.events("assigned")
    (member,) = worker.events("member")
    assert assigned["generation"] == member["generation"] >= 1
    assert member["name"]
    for f in ("poll", "process", "commit"):
        assert {row["generation"] for row in worker.operations(f)} == {member["generation"]}


@pytest.mark.parametrize(
    "metadata",
    [None, b"", b"CGMDv9:\1\0\0\0g\0m\0", b"CGMDv2:\1\0", b"CGMDv2:\1\0\0\0g"],
)
def test_metadata_of_another_form_tells_nothing(metadata: object) -> None:
    """A librdkafka to come may write it otherwise."""
    assert parse_membership(metadata) == OUTSIDE


def test_metadata_is_generation_and_names() -> None:
    """As librdkafka 2 writes it; -1 is no generation."""
    assert parse_membership(b"CGMDv2:\3\1\0\0g\0me\0\1") == (259, "me")
    assert parse_membership(b"CGMDv2:\xff\xff\xff\xffg\0\0\1") == (-1, "")
