"""What is known of a partition from its ends before and after a read: complete, grown, or gone."""

from __future__ import annotations

import pytest

from workloads.client.whole_read import Ends, behind, ends_fields, same_ends, went_back


def ends(log_start: int = 0, committed_end: int = 10, uncommitted_end: int = 10) -> Ends:
    return Ends(log_start=log_start, committed_end=committed_end, uncommitted_end=uncommitted_end)


OPEN = ends(committed_end=6)  # a transaction is open from offset 6 on


# --- complete


@pytest.mark.parametrize(
    ("before", "after", "position"),
    [
        (ends(), ends(), 10),
        (ends(), ends(), 11),
        (ends(), ends(4), 10),
        (ends(4), ends(4), 10),
        (ends(0, 0, 0), ends(0, 0, 0), 0),
        (OPEN, OPEN, 10),
    ],
)
def test_a_partition_read_to_an_end_that_stays_is_complete(
    before: Ends, after: Ends, position: int
) -> None:
    assert ends_fields(before, after, position)["complete"] is True


@pytest.mark.parametrize("position", [None, 0, 9])
def test_a_read_that_stopped_before_the_end_is_not_complete(position: int | None) -> None:
    assert ends_fields(ends(), ends(), position)["complete"] is False


@pytest.mark.parametrize("position", [6, 9])
def test_the_end_of_what_is_committed_is_not_the_log_s_end(position: int) -> None:
    """What lies in an open transaction may be committed yet: nobody has read it."""
    assert ends_fields(OPEN, OPEN, position)["complete"] is False


@pytest.mark.parametrize(
    "after", [None, ends(1), ends(2, 10, 11), ends(2, 9, 10), ends(2, 9, 9), ends(2, 11, 11)]
)
def test_ends_that_are_others_afterwards_make_no_read_complete(after: Ends | None) -> None:
    """An end moved, or the start is lower than where the read began, or nobody could tell: what was
    read is not what is there."""
    assert ends_fields(ends(2), after, 10)["complete"] is False


def test_what_could_not_be_learned_is_null_and_not_complete() -> None:
    unknown = dict.fromkeys(("log_start", "committed_end", "uncommitted_end", "position"))

    assert {**unknown, "complete": False} == ends_fields(None, None, None)
    assert {**unknown, "position": 10, "complete": False} == ends_fields(None, ends(), 10)


def test_an_event_tells_the_ends_that_the_read_was_to_reach() -> None:
    """And the last log start."""
    assert {
        "log_start": 3,
        "committed_end": 6,
        "uncommitted_end": 10,
        "position": 9,
        "complete": False,
    } == ends_fields(ends(2, 6, 10), ends(3, 12, 12), 9)


# --- whether to read on


@pytest.mark.parametrize(
    ("after", "same", "back"),
    [
        (ends(), True, False),
        (ends(1), True, False),
        (ends(0, 10, 11), False, False),
        (ends(1, 12, 15), False, False),
        (ends(0, 9, 10), False, True),
        (ends(0, 9, 11), False, True),
        (ends(0, 10, 9), False, True),
    ],
)
def test_ends_stayed_grew_or_went_back(after: Ends, same: bool, back: bool) -> None:
    """One partition counts, whatever the others do."""
    before = {0: ends(), 1: ends()}

    assert (same, back) == (
        same_ends(before, {**before, 1: after}),
        went_back(before, {**before, 1: after}),
    )


# --- how far to read


def test_a_reader_is_behind_until_it_is_at_the_end_everywhere() -> None:
    goals = {0: ends(), 1: ends(0, 3, 3)}

    assert behind({0: 9, 1: 3}, goals, committed=True)
    assert behind({0: 10, 1: 2}, goals, committed=True)
    assert not behind({0: 10, 1: 3}, goals, committed=True)
    assert not behind({0: 12, 1: 3}, goals, committed=False)


def test_a_reader_of_committed_records_gets_no_further_than_these() -> None:
    """One of all records has those of the open transaction to read as well."""
    assert not behind({0: 6}, {0: OPEN}, committed=True)
    assert behind({0: 6}, {0: OPEN}, committed=False)
