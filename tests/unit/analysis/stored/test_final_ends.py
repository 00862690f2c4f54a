"""Several passes of the final read: what counts of them for each partition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.stored.damage import Damage
from analysis.stored.stored_run import Run, final_ends
from tests.support.histories import Part, final_read
from tests.support.stored_runs import run_of


def passed(number: int, log_start: int, *, complete: bool = True) -> Part:
    return final_read(
        {7: 1}, log_start=log_start, complete=complete, process=f"final-read-{number}"
    )


def of(*log_starts: int, complete: bool = True) -> Run:
    """A run with a pass of the final read for each of these log starts."""
    return run_of(*(passed(n, start, complete=complete) for n, start in enumerate(log_starts)))


def told(run: Run) -> tuple[Any, bool]:
    """The log start that counts, and whether the read is complete."""
    (end,) = final_ends(run)
    return end["log_start"], end["complete"]


@pytest.mark.parametrize("starts", [(0, 5), (5, 0), (3, 5, 0)])
def test_of_several_complete_passes_the_highest_log_start_counts(starts: tuple[int, ...]) -> None:
    """In whichever order they come: what lies below it may have been deleted, not lost."""
    assert told(of(*starts)) == (5, True)


@pytest.mark.parametrize("starts", [(2, 9), (9, 2)])
def test_of_several_incomplete_passes_too(starts: tuple[int, ...]) -> None:
    assert told(of(*starts, complete=False)) == (9, False)


def test_one_complete_pass_is_enough_and_has_the_say() -> None:
    first, second = passed(0, 2), passed(1, 9, complete=False)

    assert told(run_of(first, second)) == told(run_of(second, first)) == (2, True)


def test_a_partition_that_nobody_read_is_not_complete() -> None:
    _, end = final_ends(run_of(passed(0, 0), partitions=2))

    assert (end["partition"], end["log_start"], end["complete"]) == (1, None, False)


def test_a_damaged_pass_is_not_complete() -> None:
    """The twin has no damage."""
    damage = Damage(file="x", why="missing", process="final-read-1")

    assert told(replace(of(0, 5), damage=(damage,))) == (0, True)
    assert told(of(0, 5)) == (5, True)


@pytest.mark.parametrize("kind", ["torn", "no-end", "bad-record", "truncated-segment", "kept"])
def test_a_pass_of_which_anything_was_found_is_not_complete(kind: str) -> None:
    """Even a slot half written: it was a record of the final read."""
    findings: Any = tuple(
        {"process": f"final-read-{n}", "kind": kind, "text": "", "count": 1} for n in (0, 1)
    )

    assert told(replace(of(0, 5), findings=findings)) == (5, False)
