"""Real time: a record behind one that was sent after its ack, and twins without."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.histories import final_read, found, moved, sent, view, with_story

OTHER = 1 << 40  # the first value of another producer
RETRIED = {"retries": 3}
SAFE = {"idempotent": True, "retries": 3}


def counts(report: dict[str, Any]) -> tuple[int, int]:
    """How many records are reordered, and how many violate real time."""
    anomalies = report["anomalies"]
    return anomalies["reordered"]["count"], anomalies["real-time-violation"]["count"]


@with_story(
    sent(1, at=1, ms=0, took=5), sent(OTHER, at=0, ms=10, took=5), final_read(OTHER, 1), **RETRIED
)
def test_a_record_behind_one_that_was_sent_after_its_ack_violates_real_time(
    report: dict[str, Any],
) -> None:
    """Whichever client sent that, and with any configuration."""
    (row,) = report["anomalies"]["real-time-violation"]["examples"]
    assert counts(report) == (0, 1)
    assert (row["value"], row["other_value"], row["other_offset"]) == (1, OTHER, 0)
    assert report["verdict"] == "invalid"
    assert "is in the log behind records that were sent after the ack" in report["sentence"]


@with_story(
    sent(1, at=1, ms=0, took=10), sent(OTHER, at=0, ms=10, took=5), final_read(OTHER, 1), **RETRIED
)
def test_one_that_was_begun_at_the_ack_does_not(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(
    sent(1, at=2, ms=0, took=5),
    sent(OTHER, at=0, ms=10, took=50),
    sent(2 * OTHER, at=1, ms=3, took=50),
    final_read(OTHER, 2 * OTHER, 1),
    **RETRIED,
)
def test_any_before_it_counts(report: dict[str, Any]) -> None:
    """Not the next one only: the one whose send began last."""
    (row,) = report["anomalies"]["real-time-violation"]["examples"]
    assert (row["value"], row["other_value"]) == (1, OTHER)


@with_story(
    sent(1, at=5, ms=0, took=5), sent(OTHER, at=0, ms=10), final_read(OTHER, 1), acks="1", **RETRIED
)
def test_a_record_that_is_not_where_it_was_acked_does_not(report: dict[str, Any]) -> None:
    """What it shows is a wrong ack."""
    assert counts(report) == (0, 0)
    assert found(report, "inconsistent-offset") == [1]


@with_story(
    sent(1, at=1, ms=0, took=5),
    sent(OTHER, at=7, ms=10),
    final_read({0: OTHER, 1: 1, 7: OTHER}),
    **RETRIED,
)
def test_one_that_has_an_earlier_copy_is_not_known_to_lie_before(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(sent(1, ms=0, took=5), sent(OTHER, at=0, ms=10), final_read(OTHER, 1), **SAFE)
def test_an_ack_without_an_offset_does_not(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(
    sent(1, at=6, ms=0, took=5),
    sent(2, at=5, ms=10),
    final_read(2, 1, log_start=5, complete=False, position=5),
    **RETRIED,
)
def test_it_needs_neither_a_complete_final_read_nor_the_log_from_its_start(
    report: dict[str, Any],
) -> None:
    assert counts(report) == (0, 1)


# What permits them

UNCLEAN = {"unclean.leader.election.enable": "true"}
OUTSIDE = (
    view("kafka1", ms=-1000, isr=("kafka1",)),
    view("kafka2", ms=1000, isr=("kafka2",), epoch=1),
)
BEHIND = (sent(1, at=1, ms=0), sent(OTHER, at=0, ms=1100), final_read(OTHER, 1))


@pytest.mark.parametrize("anomaly", ["real-time-violation", "lost"])
@with_story(*BEHIND, *OUTSIDE, topic=UNCLEAN, **SAFE)
def test_what_may_be_cut_off_is_promised_no_place(report: dict[str, Any], anomaly: str) -> None:
    """A late copy of it may come to lie at the very offset. (Nothing is lost here.)"""
    assert not report["anomalies"][anomaly]["convicts"]
    assert report["verdict"] == "valid"


@with_story(*BEHIND, *moved(ms=1000), acks="1", **RETRIED)
def test_nor_what_one_replica_had(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 1)
    assert report["verdict"] == "valid"


@with_story(*BEHIND, *moved(ms=1000), **RETRIED)
def test_what_every_replica_had_is(report: dict[str, Any]) -> None:
    assert report["verdict"] == "invalid"
