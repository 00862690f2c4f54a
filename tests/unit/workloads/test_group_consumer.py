"""A group's member as a process, against librdkafka's mock cluster: its records, its deaths."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, Message, Producer, TopicPartition

from harness.history.record_format import Operation, read_operations
from harness.waiting import wait_until
from tests.support import worker_sessions
from tests.support.log_segments import of_ours
from tests.support.mock_kafka import MEMBER, OFFSET_COMMIT, TOPIC, MockKafka
from tests.support.worker_processes import LONG_S, Started, Starter
from tests.support.worker_sessions import FakeMessage
from workloads.client.member import MemberSpec
from workloads.group_consumer import GroupConsumer

RECORDS = 64  # the last batch is not full
CONFIG = {**MEMBER, "auto.commit.interval.ms": 300}


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    """A cluster with records in its one partition."""
    cluster = MockKafka()
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for value in range(RECORDS):
        producer.produce(TOPIC, of_ours(value, 20), partition=0)
    assert producer.flush(30) == 0
    yield cluster
    cluster.close()


def member(start: Starter, kafka: MockKafka, **spec: Any) -> Started:
    """A member that has begun."""
    told = {"batch": 10, "config": CONFIG, **spec}
    worker = start("group_consumer", kafka.bootstrap, group="a-group", **told)
    worker.go()
    return worker


def await_reads(worker: Started, count: int = RECORDS) -> None:
    wait_until(lambda: worker.progress.reads >= count, timeout_s=LONG_S, what=f"{count} polls")


def await_processed(start: Starter, worker: Started, count: int) -> None:
    """Until it has ended the processing of so many: reads count what is given again, too."""
    segment = start.run / f"history/{worker.name}.0000.seg"

    def processed() -> bool:
        ended = read_operations(segment.read_bytes())
        done = [each for each in ended if isinstance(each, Operation) and each.f == "process"]
        return sum(each.type == "ok" for each in done) >= count

    wait_until(processed, timeout_s=LONG_S, what=f"{count} to be processed")


def await_death(worker: Started) -> None:
    worker.process.communicate(timeout=LONG_S)
    assert worker.process.returncode == -signal.SIGKILL


def offsets(worker: Started, f: str) -> list[int]:
    """Those of its operations of a kind that are ok, in their order."""
    return [row["offset"] for row in worker.operations(f) if row["type"] == "ok"]


@pytest.mark.parametrize("commit", ["after", "before", "auto"])
def test_a_member_polls_processes_and_commits_everything_once(
    start: Starter, kafka: MockKafka, commit: str
) -> None:
    """Nobody dies: whenever it commits, all is processed once, and all is committed."""
    worker = member(start, kafka, commit=commit)
    await_reads(worker)
    assert "stopped" == worker.stop()

    assert list(range(RECORDS)) == offsets(worker, "poll")
    assert list(range(RECORDS)) == offsets(worker, "process")
    assert RECORDS == offsets(worker, "commit")[-1]
    assert [] == offsets(worker, "committed")
    assert ["0"] == [event["text"] for event in worker.events("assigned")]


@pytest.mark.parametrize(("commit", "first"), [("after", "process"), ("before", "commit")])
def test_the_order_of_processing_and_commit_is_what_was_asked_for(
    start: Starter, kafka: MockKafka, commit: str, first: str
) -> None:
    """Each batch's commit begins after its processing ended, or the other way round."""
    worker = member(start, kafka, commit=commit)
    await_reads(worker)
    assert "stopped" == worker.stop()

    commits = worker.operations("commit")
    assert len(commits) >= RECORDS / 10
    ended = {row["offset"]: row["end_ns"] for row in worker.operations("process")}
    for row in commits:
        processed_ns = ended[row["offset"] - 1]
        assert (processed_ns <= row["start_ns"]) == (first == "process")


@pytest.mark.parametrize(
    ("commit", "dies", "processed", "goes_on_at"),
    [
        ("after", "before-process", 10, 10),
        ("after", "before-commit", 20, 10),
        ("before", "before-process", 10, 20),
        ("before", "before-commit", 20, 20),
    ],
)
def test_a_member_dies_where_it_was_told_and_its_successor_goes_on_at_what_was_committed(  # noqa: PLR0917
    start: Starter, kafka: MockKafka, commit: str, dies: str, processed: int, goes_on_at: int
) -> None:
    """In its second batch: 10 to 19 are processed twice, never, or once."""
    dead = member(start, kafka, commit=commit, dies=dies, dies_after=15)
    await_death(dead)
    successor = member(start, kafka, commit=commit)
    await_reads(successor, RECORDS - goes_on_at)
    assert "stopped" == successor.stop()

    assert list(range(processed)) == offsets(dead, "process")
    assert [goes_on_at] == offsets(successor, "committed")
    (answer,), (given,) = successor.operations("committed"), successor.events("assigned")
    assert given["time_ns"] <= answer["start_ns"] < answer["end_ns"]
    assert list(range(goes_on_at, RECORDS)) == offsets(successor, "process")
    (event,) = dead.events("dies")
    assert (dies, "10 records polled, up to 0@20") == (event["name"], event["text"])
    assert [] == dead.events("end")


def test_the_client_commits_what_nobody_has_processed(start: Starter, kafka: MockKafka) -> None:
    """Auto-commit, dead before processing: it waited until the batch was committed."""
    dead = member(start, kafka, commit="auto", dies="before-process", dies_after=15)
    await_death(dead)
    successor = member(start, kafka, commit="auto")
    await_reads(successor, RECORDS - 20)
    assert "stopped" == successor.stop()

    assert list(range(10)) == offsets(dead, "process")
    assert [20] == offsets(successor, "committed")
    assert set(range(10, 20)).isdisjoint(offsets(successor, "process"))


def test_the_client_has_not_committed_all_that_was_processed(
    start: Starter, kafka: MockKafka
) -> None:
    """Auto-commit, dead before the next commit: what it had processed is processed again."""
    seldom = {**CONFIG, "auto.commit.interval.ms": 60_000}  # no tick comes between on any host
    dead = member(start, kafka, commit="auto", config=seldom, dies="before-commit", dies_after=15)
    await_death(dead)
    successor = member(start, kafka, commit="auto")
    await_reads(successor, RECORDS - 20)
    assert "stopped" == successor.stop()

    assert set(offsets(dead, "process")) & set(offsets(successor, "process"))


def test_a_refused_commit_before_processing_leaves_the_batch_to_others(
    start: Starter, kafka: MockKafka
) -> None:
    """Nothing of it is processed; it is given again, and processed once in all."""
    worker = start(
        "group_consumer",
        kafka.bootstrap,
        group="a-group",
        config=CONFIG,
        batch=10,
        commit="before",
    )
    kafka.answer(OFFSET_COMMIT, KafkaError.ILLEGAL_GENERATION)
    worker.go()
    await_processed(start, worker, RECORDS)
    assert "stopped" == worker.stop()

    assert "ILLEGAL_GENERATION" in {row["error"] for row in worker.operations("commit")}
    assert list(range(RECORDS)) == sorted(offsets(worker, "process"))


def test_processing_that_is_cut_off_is_info(start: Starter, kafka: MockKafka) -> None:
    """SIGKILL from outside while a record takes its time."""
    worker = member(start, kafka, process_ms=30_000)
    segment = start.run / f"history/{worker.name}.0000.seg"
    wait_until(
        lambda: (
            "process"
            in [
                each.f
                for each in read_operations(segment.read_bytes())
                if isinstance(each, Operation)
            ]
        ),
        timeout_s=LONG_S,
        what="processing to begin",
    )
    worker.process.kill()
    await_death(worker)

    (row,) = worker.operations("process")
    assert ("info", 0, None, None) == (row["type"], row["value"], row["offset"], row["end_ns"])


# --- a revocation in the middle of a batch, which comes at no moment that a cluster can be told


class Revoking:
    """A consumer that is given three records; before the last one it loses partition 0."""

    def __init__(self, *given: FakeMessage) -> None:
        self.worker: GroupConsumer | None = None
        self.left = list(given)
        self.committed: list[tuple[int, int]] = []
        self.generation = 3

    def poll(self, _: float) -> Message | None:
        if len(self.left) == 1 and self.worker is not None:
            self.worker.member.on_revoke(cast(Any, self), [TopicPartition(TOPIC, 0)])
        return cast(Message, self.left.pop(0)) if self.left else None

    def consumer_group_metadata(self) -> bytes:
        return b"CGMDv2:%c\0\0\0a-group\0me\0\1" % self.generation

    def commit(self, *, offsets: list[TopicPartition], **_: Any) -> list[TopicPartition]:
        self.generation += 1
        self.committed += [(end.partition, end.offset) for end in offsets]
        return offsets


GoneRound = Callable[[Revoking, str], dict[str, list[int]]]


@pytest.fixture
def gone_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoneRound:
    """A member goes round once with such a consumer; the offsets of what it records, by f."""

    def go(consumer: Revoking, commit: str) -> dict[str, list[int]]:
        monkeypatch.setattr("workloads.client.member.make_member", lambda *_, **__: consumer)
        session = worker_sessions.session(tmp_path, MemberSpec, commit=commit)
        assert isinstance(session.spec, MemberSpec)
        consumer.worker = GroupConsumer(session, session.spec)
        consumer.worker.go_round()
        told = worker_sessions.recorded_operations(tmp_path)
        return {
            f: [each.offset for each in told if each.f == f and each.offset is not None]
            for f in ("poll", "process")
        }

    return go


@pytest.mark.parametrize(
    ("commit", "processed", "committed"),
    [("after", [2], [(0, 3)]), ("before", [2], [(0, 3)]), ("auto", [0, 1, 2], [])],
)
def test_a_batch_is_dropped_when_its_partitions_are_taken_away(
    gone_round: GoneRound, commit: str, processed: list[int], committed: list[tuple[int, int]]
) -> None:
    """Whoever has them then is given it too; with auto the client commits it as handed over.

    The partition comes back with one record more.
    """
    consumer = Revoking(FakeMessage(0), FakeMessage(1), FakeMessage(2))

    assert {"poll": [0, 1, 2], "process": processed} == gone_round(consumer, commit)
    assert committed == consumer.committed


@pytest.mark.parametrize("commit", ["after", "before"])
def test_what_was_polled_of_a_partition_that_the_member_keeps_is_processed(
    gone_round: GoneRound, commit: str
) -> None:
    """No poll would give it that again, and its next commit would pass it over."""
    consumer = Revoking(FakeMessage(0), FakeMessage(1, partition=1), FakeMessage(2, partition=1))

    assert {"poll": [0, 1, 2], "process": [1, 2]} == gone_round(consumer, commit)
    assert [(1, 3)] == consumer.committed


def test_what_is_known_of_the_group_is_learned_before_a_commit_and_before_its_end(
    gone_round: GoneRound, tmp_path: Path
) -> None:
    """This client comes into another generation in its commit."""
    gone_round(Revoking(FakeMessage(0), FakeMessage(1, partition=1)), "after")

    (commit,) = (
        each for each in worker_sessions.recorded_operations(tmp_path) if each.f == "commit"
    )
    members = worker_sessions.events(tmp_path, "member")
    told = [(event["generation"], event["time_ns"]) for event in members]
    assert [3, 4] == [generation for generation, _ in told]
    assert 3 == commit.generation
    assert told[0][1] < commit.start_ns < told[1][1] <= (commit.end_ns or 0)


def test_each_so_many_th_record_may_take_longer(start: Starter, kafka: MockKafka) -> None:
    worker = member(start, kafka, slow_every=20, slow_ms=30)
    await_processed(start, worker, RECORDS)
    assert "stopped" == worker.stop()

    took = [row["end_ns"] - row["start_ns"] for row in worker.operations("process")]
    slow = [number for number, ns in enumerate(took, 1) if ns >= 30_000_000]
    assert {20, 40, 60} <= set(slow)
    assert len(slow) < 10


def test_a_member_may_pause_its_partitions(start: Starter, kafka: MockKafka) -> None:
    """Nothing is given while it does, and nothing is passed over or given twice."""
    worker = member(start, kafka, pause_every=25, pause_ms=300)
    await_processed(start, worker, RECORDS)
    assert "stopped" == worker.stop()

    assert list(range(RECORDS)) == [row["offset"] for row in worker.operations("poll")]
    paused, resumed = worker.events("paused"), worker.events("resumed")
    assert [{"0"}, {"0"}] == [{each["text"] for each in events} for events in (paused, resumed)]
    given = [row["end_ns"] for row in worker.operations("poll")]
    for since, until in zip(paused, resumed, strict=False):
        assert until["time_ns"] - since["time_ns"] >= 300_000_000
        assert not [ns for ns in given if since["time_ns"] < ns < until["time_ns"]]
