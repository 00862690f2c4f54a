"""What cannot be judged, or measured, where an imported history does not tell so much."""

from __future__ import annotations

from analysis.causes.run_facts.untold import not_judged, unjudged_reasons, unmeasured_windows
from harness.model.untold import BEGINS, FAULTS, VALUES


def test_without_values_nobody_knows_of_copies() -> None:
    assert "duplicate" in not_judged([VALUES])
    assert unjudged_reasons([VALUES], ["duplicate", "lost"]) == [
        "the history does not tell which values were read: duplicate is unknown"
    ]


def test_outages_are_measured_only_where_begins_are_told_and_of_writes_alone() -> None:
    assert unmeasured_windows([]) == {}
    assert unmeasured_windows([FAULTS]).keys() == {"consume", "process"}
    assert unmeasured_windows([BEGINS]).keys() == {"produce", "consume", "process"}
