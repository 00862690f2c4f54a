"""The final read from its first question to its last word, with brokers that answer as told.

A mock cluster cannot have an open transaction, nor a log that grows or shrinks while it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition

from tests.support import worker_sessions
from workloads.client import whole_read as final_read
from workloads.client.whole_read import EARLIEST, Asker, Ends
from workloads.worker import Session

Answer = tuple[int, int, int] | None  # log start, committed and uncommitted end; None: no leader


class Leaders:
    """Answers each question for ends as told, the last answer from then on."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers, self.asked, self.known = answers, 0, False

    def list_topics(self, topic: str, **_: Any) -> SimpleNamespace:
        self.known = True
        told = SimpleNamespace(error=None, partitions={0: SimpleNamespace(leader=1)})
        return SimpleNamespace(topics={topic: told})

    def list_offsets(
        self, wanted: Mapping[TopicPartition, Any], *, isolation_level: IsolationLevel, **_: Any
    ) -> dict[TopicPartition, Future[Any]]:
        assert self.known  # else librdkafka may take seconds
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        if answer is None:
            self.asked += 1
            raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
        start, committed, uncommitted = answer
        everything = isolation_level == IsolationLevel.READ_UNCOMMITTED
        latest = all(spec is not EARLIEST for spec in wanted.values())
        self.asked += latest and everything  # the last of the three questions
        future: Future[Any] = Future()
        end = uncommitted if everything else committed
        future.set_result(SimpleNamespace(offset=end if latest else start))
        return dict.fromkeys(wanted, future)

    def poll(self, _: float) -> None:
        """Serve nothing."""


class Reader:
    """Is given a record at each poll, as long as the log has any for its isolation level."""

    def __init__(self, leaders: Leaders, *, committed: bool, stops_at: int | None) -> None:
        self.leaders, self.committed, self.stops_at = leaders, committed, stops_at
        self.positions: dict[int, int] = {}
        self.lost_its_place = False

    def assign(self, positions: Mapping[int, int]) -> None:
        self.positions, self.lost_its_place = dict(positions), False

    def poll(self, _: float) -> None:
        if self.positions[0] == self.stops_at:
            self.lost_its_place = True
            return
        ends = [answer for answer in self.leaders.answers[: self.leaders.asked] if answer]
        self.positions[0] = min(self.positions[0] + 1, ends[-1][1 if self.committed else 2])


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return worker_sessions.session(tmp_path)


def carried_out(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    *answers: Answer,
    isolation: str = "read_committed",
    stops_at: int | None = None,
) -> tuple[Any, ...]:
    """Log start, uncommitted end, position and complete of the partition's `ends` event."""
    leaders = Leaders(list(answers))
    monkeypatch.setattr(final_read, "AdminClient", lambda _: leaders)
    cast(dict[str, Any], session.spec.config)["isolation.level"] = isolation
    reader = Reader(leaders, committed=isolation == "read_committed", stops_at=stops_at)
    final_read._read_all(session, cast(Any, reader), Asker(session))
    (ends,) = worker_sessions.events(session.spec.history, "ends")
    return tuple(ends[name] for name in ("log_start", "uncommitted_end", "position", "complete"))


def test_ends_are_asked_for_as_what_they_are(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log start, end of what is committed, end of everything; asked again of who does not lead."""
    monkeypatch.setattr(final_read, "AdminClient", lambda _: Leaders([None, (2, 6, 10)]))

    assert {0: Ends(log_start=2, committed_end=6, uncommitted_end=10)} == Asker(session).ends()


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_log_that_stays_is_read_whole(
    session: Session, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    told = carried_out(session, monkeypatch, (2, 10, 10), isolation=isolation)

    assert (2, 10, 10, True) == told


def test_a_log_that_grows_is_read_on(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A send of doubtful fate lands late."""
    told = carried_out(session, monkeypatch, (2, 10, 10), (2, 12, 12), (2, 13, 13))

    assert (2, 13, 13, True) == told


@pytest.mark.parametrize("after", [(2, 9, 9), (2, 9, 12)])
def test_a_log_whose_end_went_back_is_not_complete(
    session: Session, monkeypatch: pytest.MonkeyPatch, after: Answer
) -> None:
    told = carried_out(session, monkeypatch, (2, 10, 10), after)

    assert (2, 10, 10, False) == told


@pytest.mark.parametrize("start", [3, 10])
def test_what_was_deleted_after_it_was_read_leaves_the_rest_complete(
    session: Session, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    """From the last log start on; also where nothing is left."""
    told = carried_out(session, monkeypatch, (2, 10, 10), (start, 10, 10))

    assert (start, 10, 10, True) == told


@pytest.mark.parametrize("start", [8, 10])
def test_a_reader_whose_place_was_deleted_goes_on_at_the_new_start(
    session: Session, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    told = carried_out(session, monkeypatch, (2, 10, 10), (start, 10, 10), stops_at=7)

    assert (start, 10, 10, True) == told


def test_a_start_below_where_it_went_on_leaves_a_gap(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new leader has not deleted so much yet: nobody read 7 of it."""
    answers = ((2, 10, 10), (8, 10, 10), (7, 10, 10))

    assert (8, 10, 10, False) == carried_out(session, monkeypatch, *answers, stops_at=7)


def test_behind_an_open_transaction_a_committed_reader_is_not_complete(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets to offset 6 and no further."""
    assert (2, 10, 6, False) == carried_out(session, monkeypatch, (2, 6, 10))


def test_who_reads_everything_reads_an_open_transaction_too(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = carried_out(session, monkeypatch, (2, 6, 10), isolation="read_uncommitted")

    assert (2, 10, 10, True) == told


def test_a_reader_that_lost_its_place_stops_there(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (2, 10, 7, False) == carried_out(session, monkeypatch, (2, 10, 10), stops_at=7)
