"""What cannot be judged, or measured, where an imported history does not tell so much."""

from __future__ import annotations

from analysis.run_facts.untold import gaps_untold, not_judged, untold_words
from harness.model.untold import BEGINS, FAULTS, VALUES


def test_without_values_nobody_knows_of_copies() -> None:
    assert "duplicate" in not_judged([VALUES])
    assert untold_words([VALUES], ["duplicate", "lost"]) == [
        "the history does not tell which values were read: duplicate is unknown"
    ]


def test_outages_are_measured_only_where_begins_are_told_and_of_writes_alone() -> None:
    assert gaps_untold([]) == {}
    assert gaps_untold([FAULTS]).keys() == {"consume", "process"}
    assert gaps_untold([BEGINS]).keys() == {"produce", "consume", "process"}
