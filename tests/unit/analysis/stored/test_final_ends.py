"""Several passes of the final read: what counts of them for each partition."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.stored.stored_run import final_ends
from tests.support.histories import Part, final_read
from tests.support.stored_runs import run_of


def passed(log_start: int, *, complete: bool = True) -> Part:
    return final_read({9: 1}, log_start=log_start, complete=complete)


def ends(*passes: Part, partitions: int = 1) -> list[dict[str, Any]]:
    return final_ends(run_of(*passes, partitions=partitions))


@pytest.mark.parametrize("starts", [(0, 5), (5, 0), (3, 5, 0)])
def test_of_several_complete_passes_the_highest_log_start_counts(starts: tuple[int, ...]) -> None:
    """In whichever order they come: what lies below it may have been deleted, not lost."""
    (end,) = ends(*map(passed, starts))

    assert (end["log_start"], end["complete"]) == (5, True)


@pytest.mark.parametrize("starts", [(0, 5), (5, 0)])
def test_of_several_incomplete_passes_too(starts: tuple[int, ...]) -> None:
    (end,) = ends(*(passed(start, complete=False) for start in starts))

    assert (end["log_start"], end["complete"]) == (5, False)


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("other", [2, 5, 9])
def test_a_pass_that_is_not_complete_has_no_say_beside_one_that_is(other: int, turn: int) -> None:
    """One is enough, in whichever order they come."""
    (end,) = ends(*[passed(5), passed(other, complete=False)][::turn])

    assert (end["log_start"], end["complete"]) == (5, True)


def test_a_partition_that_nobody_read_is_not_complete() -> None:
    _, end = ends(passed(0), partitions=2)

    assert (end["partition"], end["log_start"], end["complete"]) == (1, None, False)
