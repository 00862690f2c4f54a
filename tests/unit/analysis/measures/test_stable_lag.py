"""How far the last stable offset was behind, and for how long: the smallest histories."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.histories import LOAD_MS, Part, event, final_read, read, sent, with_story

Report = dict[str, Any]
ONE = (sent(1, at=0, ms=0), read(1, 0, ms=10), final_read(1))
TRANSACTIONS: dict[str, Any] = {
    "isolation": "read_committed",
    "history_format": 2,
    "consumers": 1,
}


def ends(stable: int, high: int, ms: float, partition: int = 0) -> Part:
    """What a consumer is told of a partition's ends."""
    known: dict[str, Any] = {"committed_end": stable, "uncommitted_end": high}
    return event("undecided", ms=ms, partition=partition, **known)


@with_story(*ONE, ends(5, 9, 1000), ends(7, 12, 1200), ends(12, 12, 1300), **TRANSACTIONS)
def test_it_was_behind_by_so_many(report: Report) -> None:
    lag = report["stable_lag"]
    assert (lag["max"], lag["at_s"]) == (5, 1.2)
    assert (lag["stood_s"], lag["offset"], lag["since_s"]) == (pytest.approx(0.2), 5, 1.0)


@with_story(*ONE, ends(5, 9, 1000), ends(5, 12, 4000), ends(12, 12, 6000), **TRANSACTIONS)
def test_it_stands_while_the_log_grows(report: Report) -> None:
    assert report["stable_lag"]["stood_s"] == pytest.approx(5)


@with_story(*ONE, ends(5, 9, 1000), ends(5, 9, 1500, partition=1), partitions=2, **TRANSACTIONS)
def test_one_that_never_moves_stands_until_the_load_ends(report: Report) -> None:
    lag = report["stable_lag"]
    assert (lag["stood_s"], lag["partition"]) == (pytest.approx(LOAD_MS / 1000 - 1), 0)


@with_story(
    *ONE, ends(5, 9, 1000), ends(9, 9, 1200), ends(9, 12, 5000), ends(12, 12, 5100), **TRANSACTIONS
)
def test_where_it_was_not_behind_it_did_not_stand(report: Report) -> None:
    """From 1.2 s to 5 s nothing was undecided."""
    assert report["stable_lag"]["stood_s"] == pytest.approx(0.2)


@with_story(*ONE, **TRANSACTIONS)
def test_it_was_never_behind(report: Report) -> None:
    assert set(report["stable_lag"].values()) == {None}


@with_story(*ONE, history_format=2, consumers=1)
def test_without_transactions_there_is_none(report: Report) -> None:
    assert "stable_lag" not in report
