"""What an entry of a list of tables is called."""

from __future__ import annotations

import pytest

from harness.model.scenario import FaultPart
from harness.scenario.entries import entry_name, ordinal


def test_a_fault_is_named_by_its_verb_and_target_as_far_as_it_has_them() -> None:
    fault = FaultPart(verb="kill", target="leader", at_s=1)

    assert entry_name("faults", 0, fault) == "first [[faults]] (kill leader)"
    assert entry_name("mixed.faults", 1, {"verb": "kill"}) == "second [[mixed.faults]] (kill)"
    assert entry_name("faults", 2, {}) == "third [[faults]]"


def test_a_campaign_s_cell_is_named_by_its_name_or_its_scenario() -> None:
    named = {"name": "short", "scenario": "study-1"}

    assert entry_name("cells", 0, named) == "first [[cells]] (short)"
    assert entry_name("cells", 0, {"scenario": "study-1"}) == "first [[cells]] (study-1)"


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (9, "tenth"),
        (10, "11th"),
        (12, "13th"),
        (20, "21st"),
        (21, "22nd"),
        (22, "23rd"),
        (110, "111th"),
    ],
)
def test_after_the_tenth_there_are_numbers(number: int, word: str) -> None:
    assert word == ordinal(number)
