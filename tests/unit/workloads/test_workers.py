"""The workers as processes, against librdkafka's mock cluster: their protocol, their records."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError, Producer

from harness.checkout import ROOT
from harness.waiting import wait_until
from tests.support.mock_kafka import FETCH, LIST_OFFSETS, PRODUCE, TOPIC, MockKafka
from tests.support.worker_processes import LONG_S, Starter
from workloads.client import payload
from workloads.client.sends import AckedOffsets
from workloads.worker import Spec, SpecError

NOBODY = "127.0.0.1:1"


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> Iterator[MockKafka]:
    cluster = MockKafka(partitions=getattr(request, "param", 1))
    yield cluster
    cluster.close()


two_partitions = pytest.mark.parametrize("kafka", [2], indirect=True)


# The protocol


@pytest.mark.parametrize("module", ["producer", "consumer", "write_read", "final_read"])
def test_sigterm_before_go_ends_a_worker_in_order(
    start: Starter, kafka: MockKafka, module: str
) -> None:
    """It is ready, it never began, and says so."""
    worker = start(module, kafka.bootstrap)
    assert worker.said() == {"event": "ready"}

    assert "stopped" == worker.stop()
    (begun,) = worker.events("start")
    assert module.replace("_", "-") == begun["role"]
    assert kafka.bootstrap == begun["config"]["bootstrap.servers"]


@pytest.mark.parametrize("module", ["producer", "consumer", "write_read", "final_read"])
def test_what_comes_by_the_pipe_is_used_and_written_nowhere(
    start: Starter, kafka: MockKafka, module: str
) -> None:
    """The address itself is private here: without it nobody would be ready."""
    nobody = {"bootstrap.servers": NOBODY}
    worker = start(module, NOBODY, private=True, config=nobody, consumer_config=nobody)
    assert worker.process.stdin is not None
    worker.process.stdin.write(json.dumps({"bootstrap.servers": kafka.bootstrap}) + "\n")
    worker.process.stdin.flush()
    assert worker.said() == {"event": "ready"}

    assert "stopped" == worker.stop()
    (begun,) = worker.events("start")
    assert NOBODY == begun["config"]["bootstrap.servers"]
    written = b"".join(file.read_bytes() for file in worker.run.rglob("*") if file.is_file())
    assert kafka.bootstrap.encode() not in written


def test_the_end_of_stdin_before_go_ends_a_worker(start: Starter, kafka: MockKafka) -> None:
    """The harness died: nobody will ever say go."""
    worker = start("producer", kafka.bootstrap)
    assert worker.said() == {"event": "ready"}
    worker.process.stdin.close()  # type: ignore[union-attr]
    worker.process.stdin = None

    assert "stopped" == worker.reason()
    assert [] == worker.operations("send")


def test_sigint_is_the_harness_s_business(start: Starter, kafka: MockKafka) -> None:
    """Ctrl-C reaches every process of a terminal; workers go on until they are told."""
    worker = start("producer", kafka.bootstrap, rate=500)
    worker.go()
    worker.acked(10)
    worker.process.send_signal(signal.SIGINT)
    worker.acked(worker.progress.acked + 100)

    assert "stopped" == worker.stop()


def test_a_worker_ends_by_itself_at_its_limit(start: Starter, kafka: MockKafka) -> None:
    """Whatever the harness does."""
    worker = start("producer", kafka.bootstrap, rate=100, limit_s=5)
    worker.go()

    assert "time-limit" == worker.reason()


@pytest.mark.parametrize("module", ["producer", "consumer", "write_read", "final_read"])
def test_an_unreachable_broker_ends_a_worker_in_words(start: Starter, module: str) -> None:
    """Bounded in time, one line on stderr, the same in the history, and an end."""
    worker = start(module, NOBODY, limit_s=1)

    err = worker.ended(70)
    assert NOBODY in next(line for line in err.splitlines() if "WorkerError" in line)
    assert "Traceback" not in err
    assert ["fatal"] == [event["reason"] for event in worker.events("end")]
    assert "WorkerError" in [event["name"] for event in worker.events("client-error")]
    assert "_TRANSPORT" in [event["name"] for event in worker.events("client-error")]


def test_sigterm_while_connecting_ends_a_worker_in_order(start: Starter) -> None:
    """It need not wait for a broker that never answers."""
    worker = start("write_read", NOBODY)
    wait_until(
        lambda: (
            worker.progress.state == 0
            and worker.run.joinpath(f"history/{worker.name}.jsonl").exists()
        ),
        timeout_s=LONG_S,
        what="its start",
    )

    wait_until(lambda: worker.events("client-error"), timeout_s=LONG_S, what="a refused connection")
    assert "stopped" == worker.stop()


def test_an_impossible_configuration_is_told(start: Starter, kafka: MockKafka) -> None:
    """librdkafka refuses the key: no traceback on stderr, the history has the words."""
    worker = start("producer", kafka.bootstrap, config={"no.such.key": "1"})

    err = worker.ended(70)
    assert "no.such.key" in err
    assert "Traceback" not in err
    assert "no.such.key" in worker.events("client-error")[0]["text"]


def test_a_spec_that_is_no_good_is_refused(tmp_path: Path) -> None:
    """Exit 64 and one sentence."""
    (tmp_path / "SPEC.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "workloads.consumer", str(tmp_path / "SPEC.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (64, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "run_id is missing" in done.stderr


def test_a_name_that_is_taken_is_refused(start: Starter, kafka: MockKafka) -> None:
    """A second worker of the same name would write over the first one's history."""
    taken = start("producer", kafka.bootstrap)
    assert taken.said() == {"event": "ready"}
    second = subprocess.run(
        taken.process.args, cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert 70 == second.returncode
    assert "cannot record" in second.stderr
    assert "stopped" == taken.stop()


# Sending


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
    worker.process.stdin.write("go\n")  # type: ignore[union-attr]
    worker.process.stdin.flush()  # type: ignore[union-attr]
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
    worker.process.stdin.write("go\n")  # type: ignore[union-attr]
    worker.process.stdin.flush()  # type: ignore[union-attr]
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
    worker.process.stdin.write("go\n")  # type: ignore[union-attr]
    worker.process.stdin.flush()  # type: ignore[union-attr]
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
    assert "no-end" in [finding["kind"] for finding in findings]
    assert {"no-end", "torn"} >= {finding["kind"] for finding in findings}


# Reading


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
    worker.process.stdin.write("go\n")  # type: ignore[union-attr]
    worker.process.stdin.flush()  # type: ignore[union-attr]
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
    sender.produce(TOPIC, payload.of(1, 100), partition=0)
    sender.flush(10)
    worker = start("consumer", kafka.bootstrap)
    worker.go()
    for value in (payload.of(2, 100), b"not ours", None, payload.of(3, 100)):
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
        sender.produce(TOPIC, payload.of(n, 100), partition=0)
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
    worker.process.stdin.write("go\n")  # type: ignore[union-attr]
    worker.process.stdin.flush()  # type: ignore[union-attr]
    assert "time-limit" == worker.reason()

    (ends,) = worker.events("ends")
    assert (None, None, False) == (ends["log_start"], ends["uncommitted_end"], ends["complete"])
    assert worker.events("client-error")


# Parts that need no process


def test_a_spec_is_read_and_what_it_does_not_know_is_passed_over(tmp_path: Path) -> None:
    """The harness hands over the whole workload; a worker takes what it needs."""
    path = tmp_path / "SPEC.json"
    given = {
        "run_id": "a/b",
        "process": "p",
        "history": "/h",
        "topic": "t",
        "partitions": 2,
        "config": {"acks": 1},
        "limit_s": 9,
        "rate": 5,
        "consumers": 7,
    }
    path.write_text(json.dumps(given))

    spec = Spec.read(path)

    assert (Path("/h"), 2, {"acks": 1}, 9, 5, 30.0) == (
        spec.history,
        spec.partitions,
        spec.config,
        spec.limit_s,
        spec.rate,
        spec.flush_s,
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topic": None}, "topic: str is needed, not None"),
        ({"partitions": "2"}, "partitions: int is needed, not '2'"),
        ({"partitions": True}, "partitions: int is needed, not True"),
        ({"limit_s": "soon"}, "limit_s: float is needed, not 'soon'"),
        ({"limit_s": -1}, "limit_s: -1 is negative"),
        ({"config": []}, "config: Mapping[str, Any] is needed, not []"),
    ],
)
def test_a_wrong_spec_is_refused_by_name(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    """One sentence: the file, the key, what would be right."""
    path = tmp_path / "SPEC.json"
    good = {
        "run_id": "a/b",
        "process": "p",
        "history": "/h",
        "topic": "t",
        "partitions": 2,
        "config": {},
        "limit_s": 9,
    }
    path.write_text(json.dumps({**good, **change}))

    with pytest.raises(SpecError) as error:
        Spec.read(path)
    assert f"{path}: {words}" == str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_spec_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    """So is a file that is not there."""
    path = tmp_path / "SPEC.json"
    path.write_text(text)
    for each in (path, tmp_path / "gone"):
        with pytest.raises(SpecError, match="not a worker's SPEC"):
            Spec.read(each)


@pytest.mark.parametrize("value", [0, 7, (5 << 40) + 12, 2**63 - 1])
def test_a_payload_is_its_value(value: int) -> None:
    """Padded to its width, and longer where the number is."""
    wire = payload.of(value, 100)

    assert (100, value) == (len(wire), payload.parse(wire))
    assert str(value).encode() == payload.of(value, 1)


@pytest.mark.parametrize("wire", [None, b"", b"   ", b"x", b"-1", b"9223372036854775808", b"\xff"])
def test_what_no_producer_of_ours_writes_has_no_value(wire: bytes | None) -> None:
    """It is recorded as unparsable, never as some number."""
    assert payload.parse(wire) is None


def test_offsets_counted_from_none_are_not_believed() -> None:
    """A batch answered DUPLICATE_SEQUENCE_NUMBER, between two that were appended."""
    offsets = AckedOffsets()
    told = [41, None, 0, 1, 42, 43, 2]

    assert [41, None, None, None, 42, 43, 2] == [offsets.believed(0, each) for each in told]


def test_partitions_are_judged_apart() -> None:
    """What one partition's batch lacks says nothing of another's."""
    offsets = AckedOffsets()

    assert None is offsets.believed(0, None)
    assert 0 == offsets.believed(1, 0)
    assert None is offsets.believed(0, 0)
