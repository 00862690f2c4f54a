"""Windows in which a consumer group had work and did none: the smallest history, and its twins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.histories import (
    committed,
    doubtful,
    final_read,
    polled,
    processed,
    read,
    sent,
    with_story,
)

Report = dict[str, Any]
FIRST = (sent(1, at=0, ms=900, took=0), processed(1, at=0, ms=1000))


def windows(report: Report, kind: str = "process") -> list[tuple[float, float | None]]:
    return [(w["start_s"], w["end_s"]) for w in report["windows"] if w["kind"] == kind]


@with_story(
    *FIRST,
    sent(2, at=1, ms=1200, took=0),
    read(1, at=0, ms=910),
    read(2, at=1, ms=1300),
    processed(2, at=1, ms=3000),
    final_read(1, 2),
    consumers=1,
    commit="after",
    expect={"process-gap-s": "<= 1.7"},
)
def test_a_group_that_stands_still_while_another_reader_goes_on_is_a_window(report: Report) -> None:
    """Acked at 1.2 s, read by the consumer at 1.3 s, and processed at 3.0 s."""
    assert windows(report) == [(1.2, 3.0)]
    assert windows(report, "consume") == []
    assert report["longest_window_s"]["process"] == pytest.approx(1.8)
    assert report["gap_demands"]["process-gap-s"]["demand_met"] is False
    assert (
        "The scenario demands that the consumer group stop for at most 1.7 s, but the longest "
        "stop was 1.8 s." in report["sentence"]
    )


@with_story(
    *FIRST,
    sent(2, at=1, ms=2900, took=0),
    read(1, at=0, ms=910),
    read(2, at=1, ms=2910),
    processed(2, at=1, ms=3000),
    final_read(1, 2),
    consumers=1,
    commit="after",
    expect={"process-gap-s": "<= 1.7"},
)
def test_without_anything_to_process_there_is_none(report: Report) -> None:
    """The twin: the same pause, but the record came at 2.9 s."""
    assert windows(report) == []
    assert report["longest_window_s"]["process"] == 0.0
    assert report["gap_demands"]["process-gap-s"]["demand_met"] is not False


@with_story(*FIRST, sent(2, at=1, ms=1200, took=0), processed(2, at=1, ms=3000), final_read(1, 2))
def test_without_a_group_there_are_no_such_windows(report: Report) -> None:
    assert windows(report) == []


@with_story(
    *FIRST,
    sent(2, at=1, ms=1200, took=0),
    polled(2, at=1, ms=1210),
    processed(2, at=None, ms=1220),
    final_read(1, 2),
    commit="after",
)
def test_processing_that_never_ended_is_no_success(report: Report) -> None:
    """Given to a member at once, which died over it; nobody processed it any more."""
    assert windows(report) == [(1.2, None)]


@with_story(
    *FIRST,
    sent(2, at=1, ms=1200, took=0),
    sent(3, at=2, ms=1300, took=0),
    processed(3, at=2, ms=1350),
    sent(4, at=3, ms=5000, took=0),
    processed(4, at=3, ms=5010),
    final_read(1, 2, 3, 4),
    commit="before",
)
def test_a_record_that_was_passed_over_waits_for_nobody(report: Report) -> None:
    """2 is skipped by 1.35 s: in the pause until 5 s there was nothing to do."""
    assert windows(report) == []


@with_story(
    *FIRST,
    sent(2, at=1, ms=1200, took=0),
    sent(3, at=2, ms=2900, took=0),
    processed(3, at=2, ms=3000),
    committed(3, ms=3010),
    final_read(1, 2, 3),
    commit="before",
)
def test_until_it_is_passed_over_it_waits(report: Report) -> None:
    """The twin: nobody went past 2 before 3.0 s."""
    assert windows(report) == [(1.2, 3.0)]


@with_story(
    sent(1, at=0, ms=100, took=0),
    sent(2, at=1, ms=5000, took=0),
    processed(2, at=1, ms=5010),
    sent(3, at=2, ms=9000, took=0),
    processed(3, at=2, ms=9010),
    final_read(1, 2, 3),
    commit="after",
)
def test_what_lies_before_the_first_that_a_group_processed_waits_for_nobody(report: Report) -> None:
    """auto.offset.reset=latest: the group began behind it."""
    assert windows(report) == []


@with_story(
    *FIRST, sent(2, at=1, ms=1200, took=0), doubtful(3, ms=1300), final_read(1), commit="after"
)
def test_lost_and_doubtful_records_wait_for_nobody(report: Report) -> None:
    assert windows(report) == []


@with_story(
    *FIRST,
    sent(2, at=0, ms=1200, took=0, partition=1),
    sent(3, at=1, ms=1300, took=0),
    *(processed(3, at=1, ms=ms) for ms in range(1400, 9900, 400)),
    processed(2, at=0, ms=4000, partition=1, process="group-consumer-1"),
    final_read(1, 3),
    final_read(2, partition=1),
    partitions=2,
    commit="after",
)
def test_each_partition_has_its_own(report: Report) -> None:
    """Nobody processed anything of partition 1 for 2.8 s, while partition 0 went on."""
    found = [(w["partition"], w["start_s"], w["end_s"]) for w in report["windows"]]

    assert found == [(1, 1.2, 4.0)]
