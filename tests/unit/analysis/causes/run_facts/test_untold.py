"""What cannot be judged, or measured, where an imported history does not tell so much."""

from __future__ import annotations

from analysis.causes.run_facts.untold import not_judged, unjudged_reasons, unmeasured_windows
from harness.model.untold import BEGINS, COPIES, FAULTS, SENDS, VALUES


def test_without_values_nobody_knows_of_copies() -> None:
    assert "duplicate" in not_judged([VALUES])
    assert unjudged_reasons([VALUES], ["duplicate", "lost"]) == [
        "the history does not tell which values were read: duplicate is unknown"
    ]


def test_copies_that_may_be_an_earlier_runs_are_no_duplicates_and_others_are() -> None:
    assert "duplicate" not in not_judged([COPIES])
    (why,) = unjudged_reasons([COPIES], ["duplicate", "lost"])
    assert why.endswith("are an earlier run's: there may be more duplicates")
    assert len(unjudged_reasons([COPIES, VALUES], ["duplicate", "lost"])) == 1


def test_without_sends_nobody_knows_what_was_written() -> None:
    assert unjudged_reasons([SENDS], ["duplicate", "phantom"]) == [
        "the history does not tell any send: phantom is unknown"
    ]


def test_outages_are_measured_only_where_begins_are_told_and_of_writes_alone() -> None:
    assert unmeasured_windows([]) == {}
    assert unmeasured_windows([FAULTS]).keys() == {"consume", "process"}
    assert unmeasured_windows([BEGINS]).keys() == {"produce", "consume", "process"}
