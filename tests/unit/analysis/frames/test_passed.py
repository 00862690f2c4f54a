"""How far the final read has read a partition: what lies before that, and is nowhere, is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.checks.run_row import run_row
from analysis.stored.damage import Damage
from tests.support.histories import Part, damage, final_read
from tests.support.stored_runs import run_of

PASSES = (
    final_read(complete=False, position=9),
    final_read(complete=False, position=5, process="final-read-1"),
)


def position(*parts: Part, **columns: Any) -> int | None:
    """Up to where partition 0 counts as read in a run of these parts."""
    (end,) = run_row(replace(run_of(*parts), **columns))["ends"]
    read: int | None = end["position"]
    return read


def test_of_several_passes_the_furthest_counts() -> None:
    assert position(*PASSES) == 9


@pytest.mark.parametrize("kind", ["torn", "no-end", "bad-record"])
def test_a_pass_about_which_sealing_found_something_passed_nothing(kind: str) -> None:
    assert position(*PASSES, damage(kind, "final-read-0")) == 5


def test_a_pass_whose_table_is_left_out_passed_nothing() -> None:
    """Whatever it read is not here: that a record was not there proves nothing."""
    missing = Damage(file="history/x", why="is missing", process="final-read-0")

    assert position(*PASSES, damage=(missing,)) == 5


def test_damage_elsewhere_takes_nothing_from_it() -> None:
    """The twin: another worker's table, and a file that is no worker's."""
    elsewhere = (
        Damage(file="history/x", why="is missing", process="producer-0"),
        Damage(file="history/y", why="is missing"),
    )

    assert position(*PASSES, damage("no-end", "producer-0"), damage=elsewhere) == 9
