"""Transactions: the smallest history of each anomaly, and its twin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import (
    LOAD_MS,
    Part,
    aborted,
    doubtful,
    fault,
    final_read,
    found,
    polled,
    read,
    sent,
    split,
    with_story,
)
from tests.support.story_parts.transactions import noted, within

Report = dict[str, Any]
COMMITTED = {
    "isolation": "read_committed",
    "retries": 9,
    "idempotent": True,
    "history_format": 2,
    "partitions": 2,
    "consumers": 1,
}
UNCOMMITTED = {**COMMITTED, "isolation": "read_uncommitted"}
KINDS = ("uncommitted-read", "torn", "hanging-transaction")


def pair(make: Any = sent, **more: Any) -> tuple[Part, Part]:
    """1 to partition 0 and 2 to partition 1, in one transaction: sent at 100 ms, ended at 300."""
    ok = make is sent
    one = make(1, ms=100, took=200, **({"at": 0} if ok else {}), **more)
    two = make(2, ms=110, took=190, partition=1, **({"at": 0} if ok else {}), **more)
    return within(one), within(two)


def counts(report: Report) -> dict[str, int]:
    """Those of the family that were seen."""
    seen = {name: report["anomalies"].get(name, {}).get("count", 0) for name in KINDS}
    return {name: count for name, count in seen.items() if count}


ASKED = (noted("begun", 100), noted("commit-asked", 200), noted("committed", 300))
NEVER = (noted("begun", 100), noted("unknown", 300))
BOTH = (final_read({0: 1}, position=2), final_read({0: 2}, partition=1, position=2))


@with_story(*pair(), *ASKED, read(1, 0, ms=150), *BOTH, **COMMITTED)
def test_a_record_read_before_its_commit_was_asked_for(report: Report) -> None:
    assert found(report, "uncommitted-read") == [1]
    assert split(report, "uncommitted-read")["before"] == 1
    assert report["verdict"] == "invalid"


@with_story(*pair(), *ASKED, read(1, 0, ms=205), *BOTH, **COMMITTED)
def test_a_record_read_before_the_commit_was_answered_is_nothing(report: Report) -> None:
    assert counts(report) == {}
    assert report["verdict"] == "valid"


@with_story(*pair(), *ASKED, read(1, 0, ms=150), *BOTH, **UNCOMMITTED)
def test_who_asks_for_what_is_not_committed_may_be_given_it(report: Report) -> None:
    assert counts(report) == {"uncommitted-read": 1}
    assert report["verdict"] == "valid"


@with_story(*pair(), *ASKED, read(1, 0, ms=150), *BOTH, **{**COMMITTED, "history_format": 1})
def test_a_history_of_format_1_does_not_tell(report: Report) -> None:
    assert "uncommitted-read" not in {
        name for name, each in report["anomalies"].items() if each["count"]
    }
    assert {"uncommitted-read", "torn", "hanging-transaction"} <= set(report["not_recorded"])


@with_story(*pair(doubtful), *NEVER, *BOTH, **COMMITTED)
def test_what_a_fenced_producer_never_asked_to_commit_is_not_read(report: Report) -> None:
    assert found(report, "uncommitted-read") == [1, 2]
    assert split(report, "uncommitted-read")["never"] == 2
    assert report["verdict"] == "invalid"


@with_story(
    *pair(doubtful),
    noted("begun", 100),
    noted("commit-asked", 200),
    noted("unknown", 300),
    *BOTH,
    **COMMITTED,
)
def test_a_doubtful_commit_may_have_been_carried_out(report: Report) -> None:
    assert counts(report) == {}


@with_story(*pair(aborted), noted("begun", 100), noted("abort-asked", 200), *BOTH, **COMMITTED)
def test_what_was_aborted_and_is_read_is_a_phantom_only(report: Report) -> None:
    assert counts(report) == {}
    assert found(report, "phantom") == [1, 2]


@with_story(*pair(doubtful), *BOTH, **COMMITTED)
def test_a_transaction_of_which_nothing_is_told_is_not_judged(report: Report) -> None:
    assert counts(report) == {}


@with_story(
    *pair(doubtful),
    noted("begun", 100),
    polled(2, 0, partition=1, ms=150),
    final_read(),
    final_read(partition=1),
    commit="after",
    **{**COMMITTED, "consumers": 0},
)
def test_a_member_of_a_group_may_not_be_given_it_either(report: Report) -> None:
    assert found(report, "uncommitted-read") == [2]


HALF = (final_read({0: 1}, position=2), final_read(partition=1))


@with_story(*pair(), *ASKED, *HALF, **COMMITTED)
def test_half_of_a_committed_transaction_is_torn_and_lost(report: Report) -> None:
    assert found(report, "torn") == [2]
    assert split(report, "torn") == {"committed": 1, "doubtful": 0}
    assert found(report, "lost") == [2]
    assert report["verdict"] == "invalid"


@with_story(
    *pair(doubtful),
    noted("begun", 100),
    noted("commit-asked", 200),
    noted("unknown", 300),
    *HALF,
    **COMMITTED,
)
def test_half_of_a_doubtful_transaction_is_torn(report: Report) -> None:
    assert found(report, "torn") == [2]
    assert split(report, "torn") == {"committed": 0, "doubtful": 1}
    assert counts(report) == {"torn": 1}
    assert report["verdict"] == "invalid"


@with_story(
    *pair(doubtful),
    noted("begun", 100),
    noted("commit-asked", 200),
    noted("unknown", 300),
    final_read(),
    final_read(partition=1),
    **COMMITTED,
)
def test_none_of_a_doubtful_transaction_was_aborted(report: Report) -> None:
    assert counts(report) == {}


@with_story(
    *pair(),
    *ASKED,
    final_read({0: 1}, position=2),
    final_read(partition=1, complete=False),
    **COMMITTED,
)
def test_what_was_not_read_to_the_end_is_not_torn(report: Report) -> None:
    assert counts(report) == {}
    assert found(report, "unseen") == [2]


@with_story(
    *pair(doubtful),
    noted("begun", 100),
    noted("commit-asked", 200),
    noted("unknown", 300),
    final_read({0: 1}, position=2),
    final_read(partition=1, log_start=5),
    **COMMITTED,
)
def test_what_may_lie_below_the_logs_start_is_not_torn(report: Report) -> None:
    assert counts(report) == {}


@with_story(
    within(sent(1, at=0, ms=100, took=200)),
    within(sent(2, at=0, ms=110, took=190, partition=1), transaction=1),
    *ASKED,
    noted("begun", 100, transaction=1),
    noted("commit-asked", 200, transaction=1),
    *HALF,
    **COMMITTED,
)
def test_another_transactions_record_is_lost_only(report: Report) -> None:
    assert counts(report) == {}
    assert found(report, "lost") == [2]


@with_story(
    within(doubtful(1, ms=100, took=200)),
    within(doubtful(2 + (1 << 40), ms=110, took=190, partition=1, process="producer-1")),
    noted("begun", 100),
    noted("commit-asked", 200),
    noted("begun", 100, process="producer-1"),
    noted("commit-asked", 200, process="producer-1"),
    *HALF,
    producers=2,
    **COMMITTED,
)
def test_two_producers_number_their_transactions_alike(report: Report) -> None:
    assert counts(report) == {}


@with_story(*pair(), *ASKED, *HALF, **UNCOMMITTED)
def test_torn_is_judged_where_readers_ask_for_committed_records(report: Report) -> None:
    assert counts(report) == {}
    assert found(report, "lost") == [2]


def standing(at_ms: float) -> Part:
    """A final read that got to the last stable offset, 1, of a log that ends at 4."""
    part = final_read(1, complete=False, position=1)
    ends = {"committed_end": 1, "uncommitted_end": 4}
    rows = tuple({**row, **ends} if "event" in row else row for row in part.rows)
    return replace(part, rows=rows, ms=at_ms)


@with_story(
    within(sent(1, at=0, ms=100, took=200)), *ASKED, standing(LOAD_MS + 11_000), **COMMITTED
)
def test_a_stable_offset_that_stands_is_a_hanging_transaction(report: Report) -> None:
    assert counts(report) == {"hanging-transaction": 1}
    row = report["anomalies"]["hanging-transaction"]["examples"][0]
    assert (row["partition"], row["offset"]) == (0, 1)


@with_story(within(sent(1, at=0, ms=100, took=200)), *ASKED, standing(LOAD_MS + 9_000), **COMMITTED)
def test_a_marker_may_come_a_little_later(report: Report) -> None:
    assert counts(report) == {}


@with_story(
    within(sent(1, at=0, ms=100, took=200)),
    *ASKED,
    noted("begun", LOAD_MS - 10, transaction=1),
    standing(LOAD_MS + 139_000),
    **COMMITTED,
)
def test_a_transaction_may_be_open_until_it_times_out(report: Report) -> None:
    """Its first record may have been on its way for as long, which began it."""
    assert counts(report) == {}


@with_story(
    within(sent(1, at=0, ms=100, took=200)),
    *ASKED,
    noted("commit-asked", LOAD_MS - 10, transaction=1),
    standing(LOAD_MS + 79_000),
    **COMMITTED,
)
def test_so_may_one_whose_commit_got_no_answer(report: Report) -> None:
    assert counts(report) == {}


@with_story(
    within(sent(1, at=0, ms=100, took=200)),
    *ASKED,
    noted("commit-asked", LOAD_MS - 10, transaction=1),
    standing(LOAD_MS + 80_001),
    **COMMITTED,
)
def test_whose_records_had_all_been_delivered(report: Report) -> None:
    assert counts(report) == {"hanging-transaction": 1}


@with_story(
    within(sent(1, at=0, ms=100, took=200)),
    *ASKED,
    noted("begun", LOAD_MS - 10, transaction=1),
    standing(LOAD_MS + 140_001),
    **COMMITTED,
)
def test_and_no_longer(report: Report) -> None:
    assert counts(report) == {"hanging-transaction": 1}


SKEWED = [
    {
        "step": 0,
        "verb": "skew-clock",
        "target": "leader",
        "options": {"offset_s": -60},
        "effects": {"leadership": "where-it-hits", "skews_clock_s": -60.0},
    }
]
BEHIND = fault("skew-clock", ms=50, evidence="the clock of kafka1 is -60 s ahead")


@with_story(
    within(sent(1, at=0, ms=100, took=200)),
    *ASKED,
    BEHIND,
    noted("begun", LOAD_MS - 10, transaction=1),
    standing(LOAD_MS + 199_000),
    plan=SKEWED,
    **COMMITTED,
)
def test_a_coordinator_whose_clock_was_set_back_waits_longer(report: Report) -> None:
    """By its own clock the time was not over yet."""
    assert counts(report) == {}


@with_story(
    within(sent(1, at=0, ms=100, took=200)),
    *ASKED,
    BEHIND,
    noted("begun", LOAD_MS - 10, transaction=1),
    standing(LOAD_MS + 200_001),
    plan=SKEWED,
    **COMMITTED,
)
def test_by_as_much_and_no_longer(report: Report) -> None:
    """The twin."""
    assert counts(report) == {"hanging-transaction": 1}
