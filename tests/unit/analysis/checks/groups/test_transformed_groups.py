"""What is judged of any group, of one whose offsets go with transactions."""

from __future__ import annotations

from tests.support.histories import committed, event, final_read, with_story
from tests.support.story_parts.transformers import (
    DIRTY,
    EXACT,
    ONE,
    OTHER,
    OUT_X,
    READ,
    A,
    Report,
    X,
)

GIVEN = (
    event("assigned", process=ONE, ms=10, generation=3, text="0"),
    event("assigned", process=OTHER, ms=300, generation=4, text="0"),
)


@with_story(
    *GIVEN,
    *A,
    *OUT_X,
    committed(1, ms=400, took=5, process=ONE, generation=3),
    READ,
    final_read(X, partition=1),
    **EXACT,
)
def test_a_transaction_of_an_older_generation_that_was_committed(report: Report) -> None:
    assert report["anomalies"]["zombie-commit"]["convicts"] is True


@with_story(
    *GIVEN,
    *A,
    *OUT_X,
    committed(1, ms=400, took=5, process=ONE, generation=3, ended="fail"),
    committed(1, ms=250, took=5, process=ONE, generation=3),
    READ,
    final_read(X, partition=1),
    **EXACT,
)
def test_one_that_was_aborted_is_no_commit(report: Report) -> None:
    assert report["anomalies"]["zombie-commit"]["count"] == 0
    assert report["verdict"] == "valid", report["reasons"]


BACK = (
    *A,
    *OUT_X,
    committed(7, ms=400, took=5, process=ONE),
    committed(1, ms=500, took=5, process=OTHER, found=True),
    READ,
    final_read(X, partition=1),
)


@with_story(*BACK, **EXACT)
def test_offsets_of_a_transaction_that_are_set_back(report: Report) -> None:
    assert report["anomalies"]["commit-back"]["convicts"] is True


@with_story(*BACK, **DIRTY)
def test_they_may_be_open_still_for_who_does_not_wait(report: Report) -> None:
    assert report["anomalies"]["commit-back"]["count"] == 1
    assert report["anomalies"]["commit-back"]["convicts"] is False


@with_story(*BACK, committed(1, ms=390, took=50, process=ONE, ended="fail"), **EXACT)
def test_an_aborted_commit_is_no_reason_to_go_back(report: Report) -> None:
    assert report["anomalies"]["commit-back"]["convicts"] is True
