"""What a transformer does with its open transaction when something comes in between, which comes at
no moment that a cluster can be told: partitions that go, a membership that is over, an output that
the client refuses, a coordinator that does not answer. Its clients are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from tests.support import worker_sessions
from tests.support.mock_kafka import TOPIC
from tests.support.worker_sessions import FakeMessage
from workloads.transformer import Transformer, TransformerSpec

CONFIG = {"transactional.id": "t-0", "acks": "all", "retries": 5, "enable.idempotence": True}
NONE_COMMITTED = -1001


class GivenConsumer:
    """A consumer that is given these records; what was committed is told to it."""

    def __init__(self, *given: FakeMessage) -> None:
        self.left = list(given)
        self.generation = 3
        self.known: list[int | None] = []  # committed offsets; None: no answer
        self.went_to: list[tuple[int, int]] = []
        self.between: Callable[[], object] = lambda: None  # before the last of what is left

    def poll(self, _: float) -> Message | None:
        if len(self.left) == 1:
            between, self.between = self.between, lambda: None
            between()
        return cast(Message, self.left.pop(0)) if self.left else None

    def consumer_group_metadata(self) -> bytes:
        return b"CGMDv2:" + self.generation.to_bytes(4, "little", signed=True) + b"group\0me\0\1"

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)]

    def committed(self, asked: list[TopicPartition], **_: Any) -> list[TopicPartition]:
        known = self.known.pop(0)
        if known is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return [TopicPartition(TOPIC, each.partition, known) for each in asked]

    def seek(self, place: TopicPartition) -> None:
        self.went_to.append((place.partition, place.offset))


class GivenProducer:
    """A producer whose records are delivered when their transaction is committed."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.handed_in: list[tuple[list[tuple[int, int]], object]] = []
        self.full = False
        self._reports: list[Callable[..., None]] = []

    def produce(self, *given: Any) -> None:
        if self.full:
            raise BufferError
        self._reports.append(given[-1])

    def send_offsets_to_transaction(self, ends: list[TopicPartition], metadata: object) -> None:
        self.handed_in.append(([(end.partition, end.offset) for end in ends], metadata))

    def commit_transaction(self) -> None:
        self.calls.append("commit")
        for offset, report in enumerate(self._reports):
            report(None, FakeMessage(offset))
        self._reports.clear()

    def abort_transaction(self) -> None:
        self.calls.append("abort")
        self._reports.clear()

    def init_transactions(self, _: float) -> None: ...
    def begin_transaction(self) -> None: ...
    def poll(self, _: float) -> None: ...


class Case:
    """A transformer between its made-up clients."""

    def __init__(self, folder: Path, consumer: GivenConsumer, producer: GivenProducer) -> None:
        self.folder, self.consumer, self.producer = folder, consumer, producer
        session = worker_sessions.session(
            folder,
            TransformerSpec,
            commit="transaction",
            first_output=4000,
            config=CONFIG,
            partitions=2,
        )
        assert isinstance(session.spec, TransformerSpec)
        self.worker = Transformer(session, session.spec)

    def told(self, f: str) -> list[tuple[str, int | None, int | None]]:
        """How its operations of a kind ended: type, offset, generation."""
        rows = [row for row in worker_sessions.recorded_operations(self.folder) if row.f == f]
        return [(row.type, row.offset, row.generation) for row in rows]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Case]:
    def make(*given: FakeMessage) -> Case:
        consumer, producer = GivenConsumer(*given), GivenProducer()
        monkeypatch.setattr("workloads.client.member.make_member", lambda *_, **__: consumer)
        monkeypatch.setattr("workloads.client.sends.make_producer", lambda *_, **__: producer)
        return Case(tmp_path, consumer, producer)

    return make


Made = Callable[..., Case]


def test_before_partitions_go_what_was_processed_of_them_is_committed(made: Made) -> None:
    """And what was polled and not processed is dropped: whoever has them next is given it."""
    case = made(FakeMessage(0), FakeMessage(1))
    case.worker.go_round()
    case.consumer.left = [FakeMessage(2), FakeMessage(3, partition=1)]
    gone = [TopicPartition(TOPIC, 0)]
    case.consumer.between = lambda: case.worker.member.on_revoke(cast(Any, case.consumer), gone)
    case.worker.go_round()

    assert [([(0, 2)], case.consumer.consumer_group_metadata())] == case.producer.handed_in
    assert ["commit"] == case.producer.calls
    assert [("ok", 2, 3)] == case.told("commit")
    assert [("ok", 0, 3), ("ok", 1, 3)] == case.told("process")[:2]
    assert 3 == len(case.told("process"))


def test_with_partitions_that_are_lost_their_transaction_is_aborted(made: Made) -> None:
    """Its offsets are handed in no more, and nobody goes back in what he does not have."""
    case = made(FakeMessage(0), FakeMessage(1))
    case.worker.go_round()
    gone = [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)]
    case.worker.member.on_lost(cast(Any, case.consumer), gone)
    case.worker.go_round()

    assert ["abort"] == case.producer.calls
    assert [] == case.producer.handed_in
    assert [("fail", 0, 3), ("fail", 1, 3)] == case.told("process")
    assert [] == case.consumer.went_to


def test_who_was_expelled_commits_as_the_member_that_it_was(made: Made) -> None:
    """Offsets without a membership would be taken from anybody."""
    case = made(FakeMessage(0))
    member = case.consumer.consumer_group_metadata()
    case.worker.go_round()
    case.consumer.generation = -1
    case.consumer.left = [FakeMessage(1)]
    case.worker.go_round()
    case.worker._outputs.flush()

    assert [([(0, 2)], member)] == case.producer.handed_in
    assert [("ok", 2, 3)] == case.told("commit")


@pytest.mark.parametrize(("committed", "goes_to"), [(1, 1), (NONE_COMMITTED, 0)])
def test_an_output_that_the_client_refuses_takes_its_transaction_with_it(
    made: Made, committed: int, goes_to: int
) -> None:
    """Committed without it, its input would have no output. It goes on where the group stands, or
    at the first that it was given."""
    case = made(FakeMessage(0))
    case.worker.go_round()
    case.producer.full = True
    case.consumer.left = [FakeMessage(1), FakeMessage(2)]
    case.consumer.known = [committed]
    case.worker.go_round()

    assert ["abort"] == case.producer.calls
    assert [("fail", 0, 3), ("fail", 1, 3)] == case.told("process")
    assert [(0, goes_to)] == case.consumer.went_to
    (event,) = worker_sessions.events(case.folder, "position")
    assert (0, goes_to, "again") == (event["partition"], event["position"], event["text"])


def test_nothing_is_processed_until_it_is_known_where_the_group_stands(made: Made) -> None:
    """What is polled meanwhile lies behind what is to be done again."""
    case = made(FakeMessage(0))
    case.producer.full = True
    case.consumer.known = [None, None, 0]
    case.worker.go_round()
    case.producer.full = False
    case.consumer.left = [FakeMessage(1)]
    case.worker.go_round()
    assert [("fail", 0, 3)] == case.told("process")
    case.worker.go_round()
    case.consumer.left = [FakeMessage(0), FakeMessage(1)]
    case.worker.go_round()
    case.worker._outputs.flush()

    assert [(0, 0)] == case.consumer.went_to
    assert [("ok", 0, 3), ("ok", 1, 3)] == case.told("process")[1:]
    assert [([(0, 2)], case.consumer.consumer_group_metadata())] == case.producer.handed_in
