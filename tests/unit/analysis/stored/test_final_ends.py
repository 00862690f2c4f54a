"""Several passes of the final read: what counts of them for each partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stored.stored_run import final_ends, open_run
from tests.support.histories import Part, final_read, sent, story
from tests.support.told_runs import write


def first_pass(log_start: int, complete: bool = True) -> Part:
    return final_read({5: 1}, log_start=log_start, complete=complete)


def second_pass(log_start: int, complete: bool = True) -> Part:
    return final_read({5: 1}, log_start=log_start, complete=complete, process="final-read-1")


def ends(folder: Path, *passes: Part) -> list[dict[str, Any]]:
    run = open_run(write(story(sent(1, at=5), *passes), folder / "run", "told/run"))
    return final_ends(run)


@pytest.mark.parametrize(("first", "second"), [(0, 5), (5, 0)])
def test_of_several_complete_passes_the_highest_log_start_counts(
    tmp_path: Path, first: int, second: int
) -> None:
    """In whichever order they come: what lies below it may have been deleted, not lost."""
    (end,) = ends(tmp_path, first_pass(first), second_pass(second))

    assert (end["log_start"], end["complete"]) == (5, True)


@pytest.mark.parametrize(("first", "second"), [(0, 5), (5, 0)])
def test_of_several_incomplete_passes_too(tmp_path: Path, first: int, second: int) -> None:
    (end,) = ends(tmp_path, first_pass(first, False), second_pass(second, False))

    assert (end["log_start"], end["complete"]) == (5, False)


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True)])
def test_one_complete_pass_is_enough(tmp_path: Path, first: bool, second: bool) -> None:
    (end,) = ends(tmp_path, first_pass(5, first), second_pass(5, second))

    assert (end["log_start"], end["complete"]) == (5, True)
