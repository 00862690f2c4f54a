"""Phantoms: the smallest history of each, and its twin."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.checks.phantoms import NOT_IN_LOG
from tests.support.histories import (
    aborted,
    failed,
    final_read,
    found,
    read,
    sent,
    split,
    with_story,
)

Report = dict[str, Any]


def seen(report: Report) -> dict[str, int]:
    """The outcomes that were seen at all."""
    return {name: count for name, count in split(report, "phantom").items() if count}


@with_story(failed(1), sent(2, at=0), final_read(2, 1))
def test_a_failed_send_that_is_read_is_a_phantom(report: Report) -> None:
    """It certainly did not happen, and there it is."""
    assert found(report, "phantom") == [1]
    assert seen(report) == {"send_failed": 1}


@with_story(failed(1), sent(2, at=0), final_read(2))
def test_a_failed_send_that_nobody_read_is_nothing(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["phantom"]["count"] == 0
    assert report["counts"]["failed"] == 1


TRANSACTIONS = {"retries": 9, "idempotent": True}


@with_story(
    sent(1, at=0), aborted(2), final_read({0: 1, 2: 2}), isolation="read_committed", **TRANSACTIONS
)
def test_an_aborted_send_that_is_read_as_committed_breaks_a_promise(report: Report) -> None:
    """Offset 1 is the commit's own."""
    assert found(report, "phantom") == [2]
    assert report["verdict"] == "invalid"
    assert (
        "1 record was read that was never committed, which Kafka promises cannot happen."
        in report["sentence"]
    )


@with_story(
    sent(1, at=0),
    aborted(2),
    final_read({0: 1, 2: 2}),
    isolation="read_uncommitted",
    **TRANSACTIONS,
)
def test_who_asks_for_uncommitted_records_may_be_given_aborted_ones(report: Report) -> None:
    """The twin: the same log, read by somebody who asked for it."""
    assert found(report, "phantom") == [2]
    assert report["verdict"] == "valid"
    assert "never committed, which this configuration allows." in report["sentence"]


@with_story(
    sent(1, at=0),
    aborted(2),
    sent(3, at=3),
    final_read({0: 1, 3: 3}),
    isolation="read_committed",
    **TRANSACTIONS,
)
def test_the_offsets_that_commits_take_are_gaps_and_nothing_else(report: Report) -> None:
    """So are those of aborted records."""
    assert report["verdict"] == "valid"
    assert report["anomalies"]["inconsistent-offset"]["count"] == 0


@pytest.mark.parametrize("error", ["_QUEUE_FULL", "_PURGE_QUEUE", "_STATE", "_FATAL"])
def test_a_send_that_never_left_its_client_is_never_in_the_log(error: str) -> None:
    assert error in NOT_IN_LOG


@pytest.mark.parametrize("error", ["_ABORTED", "_PURGE_INFLIGHT", "_MSG_TIMED_OUT", None])
def test_any_other_failed_send_may_be_in_the_log(error: str | None) -> None:
    """Its transaction was aborted, and its record may be there all the same."""
    assert error not in NOT_IN_LOG


@with_story(sent(1, at=0), read(7, at=1), final_read(1))
def test_a_value_that_nobody_sent_is_a_phantom(report: Report) -> None:
    """A consumer read 7."""
    assert found(report, "phantom") == [7]
    assert split(report, "phantom")["never_sent"] == 1


@with_story(sent(1, at=0), read(None, at=1), final_read(1, None))
def test_an_unparsable_payload_is_one_phantom_however_often_it_is_read(report: Report) -> None:
    """One place, read twice."""
    row = report["anomalies"]["phantom"]["examples"][0]

    assert seen(report) == {"unparsable": 1}
    assert (row["value"], row["partition"], row["offset"]) == (None, 0, 1)


@with_story(sent(1, at=0), sent(2, took=None, ended="info"), final_read(1, 2))
def test_a_send_that_never_ended_may_be_read(report: Report) -> None:
    """Its worker died; the record landed."""
    assert report["anomalies"]["phantom"]["count"] == 0
    assert report["counts"]["indeterminate_landed"] == 1
