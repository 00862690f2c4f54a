"""A tail notes who serves it, which need not be who leads, and where it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import KafkaError, Message

from tests.support.mock_kafka import TOPIC
from tests.support.worker_sessions import FakeMessage, events, recorded_operations, session
from workloads.client.tail import Tail


@pytest.fixture
def tail(tmp_path: Path) -> Tail:
    """A tail whose consumer never gets to a broker."""
    made = session(tmp_path, config={"log_level": 0})
    return Tail(made, made.spec.config)


def statistics(broker: int, leader: int) -> str:
    partitions = {"0": {"broker": broker, "leader": leader}, "-1": {"broker": -1, "leader": -1}}
    return json.dumps({"topics": {TOPIC: {"partitions": partitions}}})


def take(tail: Tail, *given: FakeMessage) -> list[int]:
    return [tail._take(cast(Message, each), 1, 2) for each in given]


def test_a_record_is_of_the_broker_that_served_it(tail: Tail, tmp_path: Path) -> None:
    """A follower may: whoever leads says nothing of who gave a record."""
    take(tail, FakeMessage(0))
    for told in (statistics(3, 1), statistics(3, 1), statistics(1, 1)):
        tail._statistics(told)
        take(tail, FakeMessage(1))

    assert [None, 3, 3, 1] == [each.broker for each in recorded_operations(tmp_path)]
    serving = events(tmp_path, "serving")
    assert [(0, 3, 1), (0, 1, 1)] == [(e["partition"], e["broker"], e["leader"]) for e in serving]


def test_of_a_payload_that_is_none_of_ours_the_first_200_signs_are_kept(
    tail: Tail, tmp_path: Path
) -> None:
    """It may be of any length."""
    take(tail, FakeMessage(4, value=b"x" * 500), FakeMessage(5, value=b"short"))

    long, short = events(tmp_path, "unparsable")
    assert ("b'" + "x" * 198, 4) == (long["text"], long["offset"])
    assert "b'short'" == short["text"]


def test_it_stands_behind_what_it_took_or_at_the_end_it_was_told(tail: Tail) -> None:
    assert [1, 0] == take(tail, FakeMessage(4), FakeMessage(7, KafkaError._PARTITION_EOF))
    assert ({0: 7}, False) == (tail.positions, tail.lost_its_place)


@pytest.mark.parametrize(
    ("error", "lost"),
    [(KafkaError._AUTO_OFFSET_RESET, True), (KafkaError._ALL_BROKERS_DOWN, False)],
)
def test_it_has_lost_its_place_for_good_once_it_is_not_in_the_log(
    tail: Tail, tmp_path: Path, error: int, lost: bool
) -> None:
    """Another error after it changes nothing."""
    take(tail, FakeMessage(4), FakeMessage(0, error), FakeMessage(0, KafkaError._TRANSPORT))

    assert ({0: 5}, lost) == (tail.positions, tail.lost_its_place)
    assert 2 == len(events(tmp_path, "client-error"))
