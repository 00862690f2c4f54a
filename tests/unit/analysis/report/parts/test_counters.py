"""Every number of "What was counted" is told in words."""

from __future__ import annotations

from analysis.report.found import COUNTED
from analysis.report.parts.counters import MEANINGS, counters


def test_each_count_of_a_report_has_its_words_and_no_words_are_left_over() -> None:
    assert MEANINGS.keys() == {*COUNTED, "torn_records", "worker_errors"}


def test_a_count_is_named_as_people_write_it() -> None:
    assert counters({"acked_isr_alone": 7, "reads": 2}) == [
        ("acknowledged by the leader alone", 7, MEANINGS["acked_isr_alone"]),
        ("reads", 2, MEANINGS["reads"]),
    ]


def test_a_count_from_another_version_is_shown_without_words() -> None:
    assert counters({"new_thing": 1}) == [("new thing", 1, "")]
