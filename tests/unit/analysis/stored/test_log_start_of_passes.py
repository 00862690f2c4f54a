"""What the final reads of a run reached, of several passes together."""

from __future__ import annotations

import pytest

from analysis.stored.stored_run import final_ends
from tests.support.histories import Part, final_read
from tests.support.stored_runs import run_of


def passed(log_start: int, *, complete: bool = True) -> Part:
    return final_read(7, log_start=log_start, complete=complete)


@pytest.mark.parametrize("starts", [(0, 5), (5, 0), (3, 5, 0)])
def test_of_several_complete_passes_the_highest_log_start_counts(starts: tuple[int, ...]) -> None:
    """Nothing is called lost that may have been deleted."""
    (end,) = final_ends(run_of(*map(passed, starts)))

    assert (end["log_start"], end["complete"]) == (5, True)


def test_a_pass_that_is_not_complete_has_no_say_beside_one_that_is() -> None:
    (end,) = final_ends(run_of(passed(2), passed(9, complete=False)))

    assert (end["log_start"], end["complete"]) == (2, True)


def test_without_a_complete_pass_the_partition_is_not_complete() -> None:
    (end,) = final_ends(run_of(passed(2, complete=False), passed(9, complete=False)))

    assert (end["log_start"], end["complete"]) == (9, False)


def test_a_partition_that_nobody_read_is_not_complete() -> None:
    _, end = final_ends(run_of(passed(0), partitions=2))

    assert (end["partition"], end["log_start"], end["complete"]) == (1, None, False)
