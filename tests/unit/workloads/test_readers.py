"""Workers that read, against librdkafka's mock cluster: look-ups, consumers, the final read."""

from __future__ import annotations

from confluent_kafka import KafkaError, Producer

from harness.waiting import wait_until
from tests.support.log_segments import of_ours
from tests.support.mock_kafka import FETCH, LIST_OFFSETS, TOPIC, MockKafka, two_partitions
from tests.support.worker_processes import LONG_S, Starter


def test_every_round_writes_and_finds_its_record(start: Starter, kafka: MockKafka) -> None:
    """Each send is followed by its look-up, which begins at the ack; each record is read once."""
    worker = start("write_read", kafka.bootstrap, rounds=20)
    worker.go()
    assert "done" == worker.reason()

    sends, lookups, reads = (worker.operations(f) for f in ("send", "lookup", "read"))
    assert [20] * 3 == [len(sends), len(lookups), len(reads)]
    for send, lookup, read in zip(sends, lookups, reads, strict=True):
        assert send["intended_ns"] == send["start_ns"]
        assert ("ok", "ok", "ok") == (send["type"], lookup["type"], read["type"])
        assert send["value"] == lookup["value"] == read["value"]
        assert send["offset"] == lookup["offset"] == read["offset"]
        assert send["end_ns"] == lookup["start_ns"] <= lookup["end_ns"]
    assert all(b["start_ns"] >= a["end_ns"] for a, b in zip(lookups, sends[1:], strict=False))
    assert {1, 2, 3} >= {read["broker"] for read in reads if read["broker"] is not None}


def test_a_record_that_comes_too_late_is_not_found(start: Starter, kafka: MockKafka) -> None:
    """The look-up fails at its deadline; the record's own read says when it came."""
    worker = start("write_read", kafka.bootstrap, rounds=3, read_deadline_ms=1)
    assert worker.said() == {"event": "ready"}
    kafka.answer(FETCH, *[KafkaError.NOT_LEADER_FOR_PARTITION] * 2)
    worker.say("go")
    assert "done" == worker.reason()

    lookups = worker.operations("lookup")
    assert "fail" in [lookup["type"] for lookup in lookups]
    failed = [lookup for lookup in lookups if lookup["type"] == "fail"]
    assert {(None, None)} == {(lookup["offset"], lookup["error"]) for lookup in failed}
    assert all(f["end_ns"] - f["start_ns"] >= 1_000_000 for f in failed)


def test_a_consumer_records_what_it_is_given_and_who_serves(
    start: Starter, kafka: MockKafka
) -> None:
    """From the log's end at its start; records that are not ours are told apart."""
    sender = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
    sender.produce(TOPIC, of_ours(1), partition=0)
    sender.flush(10)
    worker = start("consumer", kafka.bootstrap)
    worker.go()
    for value in (of_ours(2), b"not ours", None, of_ours(3)):
        sender.produce(TOPIC, value, partition=0)
    sender.flush(10)
    wait_until(lambda: worker.progress.reads >= 4, timeout_s=LONG_S, what="four records")
    wait_until(lambda: worker.events("serving"), timeout_s=LONG_S, what="statistics")
    assert "stopped" == worker.stop()

    reads = worker.operations("read")
    assert [(1, 2), (2, None), (3, None), (4, 3)] == [(r["offset"], r["value"]) for r in reads]
    assert all(read["start_ns"] <= read["end_ns"] for read in reads)
    assert [(2, "b'not ours'"), (3, "None")] == [
        (event["offset"], event["text"]) for event in worker.events("unparsable")
    ]
    assert {0} == {event["partition"] for event in worker.events("serving")}


@two_partitions
def test_the_final_read_reads_everything_and_says_so(start: Starter, kafka: MockKafka) -> None:
    """Every partition from its start to its end."""
    sender = Producer({"bootstrap.servers": kafka.bootstrap})
    for n in range(300):
        sender.produce(TOPIC, of_ours(n), partition=0)
    sender.flush(10)
    worker = start("final_read", kafka.bootstrap, partitions=2)
    worker.go()
    assert "done" == worker.reason()

    assert list(range(300)) == [row["value"] for row in worker.operations("final-read")]
    for ends, end in zip(worker.events("ends"), (300, 0), strict=True):
        assert (0, end, end, end, True) == tuple(
            ends[name]
            for name in ("log_start", "committed_end", "uncommitted_end", "position", "complete")
        )


def test_a_final_read_that_cannot_learn_the_ends_is_incomplete(
    start: Starter, kafka: MockKafka
) -> None:
    """It ends at its limit, and what it does not know is null."""
    worker = start("final_read", kafka.bootstrap, limit_s=5)
    assert worker.said() == {"event": "ready"}
    kafka.answer(LIST_OFFSETS, *[KafkaError.NOT_LEADER_FOR_PARTITION] * 1000)
    worker.say("go")
    assert "time-limit" == worker.reason()

    (ends,) = worker.events("ends")
    assert (None, None, False) == (ends["log_start"], ends["uncommitted_end"], ends["complete"])
    assert worker.events("client-error")


def test_a_final_read_that_loses_its_place_ends_and_is_incomplete(
    start: Starter, kafka: MockKafka
) -> None:
    """Its offset is not in the log: it neither begins again elsewhere nor waits for its limit."""
    sender = Producer({"bootstrap.servers": kafka.bootstrap})
    for n in range(30):
        sender.produce(TOPIC, of_ours(n), partition=0)
    sender.flush(10)
    worker = start("final_read", kafka.bootstrap, limit_s=20)
    assert worker.said() == {"event": "ready"}
    kafka.answer(FETCH, KafkaError.OFFSET_OUT_OF_RANGE)
    worker.say("go")
    assert "done" == worker.reason()

    (ends,) = worker.events("ends")
    assert (0, 30, 0, False) == tuple(
        ends[name] for name in ("log_start", "uncommitted_end", "position", "complete")
    )
    assert [] == worker.operations("final-read")
    assert "_AUTO_OFFSET_RESET" in {event["name"] for event in worker.events("client-error")}
