"""Stories of records that are not where they were seen."""

from __future__ import annotations

from tests.support.histories import final_read, read, sent, view, with_story
from tests.support.story_parts.kept_logs import kept_log, known, led, stories


@with_story(
    sent(0, at=0, ms=100),
    sent(1, at=1, ms=200),
    final_read({0: 0, 2: 1}),
    kept_log(1, 0, None, 1),
    retries=3,
)
def test_a_record_that_is_elsewhere_than_acknowledged_is_told_with_where_it_is(report):
    [story] = stories(report)

    assert "it is at offset 2 now, written with epoch 0" in story["sentence"]
    assert known(story, "now")["kafka1"] == "yes"


@with_story(
    sent(0, at=0, ms=100),
    read(0, at=2, ms=300),
    final_read(0),
    view("kafka1", ms=-1000),
)
def test_a_record_that_is_elsewhere_than_it_was_read_is_told_by_the_read(report):
    [story] = stories(report)

    assert story["sentence"].startswith(
        "A consumer was given what was at offset 2 of partition 0 at 0.300 s, "
        "when ZooKeeper showed kafka1 with epoch 0 leading; who wrote it is not known for certain; "
    )
    assert "it is at offset 0 now" in story["sentence"]
    assert "acknowledged" not in f"{story['sentence']}{story['life']}"
    assert [row["what"] for row in story["life"] if row["who"] == "a consumer"] == [
        "was given it at offset 2; ZooKeeper showed kafka1 leading then, epoch 0"
    ]


@with_story(
    sent(0, at=0, ms=100),
    read(5, at=0, ms=200),
    final_read(0),
    view("kafka1", ms=-1000),
)
def test_two_values_of_which_none_is_lost_are_told_without_guessing(report):
    [story] = stories(report)

    assert story["sentence"].startswith("Two records were seen at offset 0 of partition 0; when")


@with_story(
    sent(0, at=0, ms=100),
    sent(1, at=3, ms=200, took=1000),
    read(1, at=1, ms=205),
    sent(2, at=1, ms=300),
    sent(3, at=2, ms=400),
    read(2, at=1, ms=500),
    final_read(0, 2, 3, 1),
    kept_log(1, 0, 2, 3, 1),
    kept_log(2, 0, 2, 3, 1),
    led(1, epoch=0, at=0, ms=-1000),
    view("kafka1", ms=-1000),
)
def test_two_findings_at_one_place_have_two_stories_and_a_later_copy_proves_nothing(
    report,
):
    """Whether kafka2 had value 1 at offset 1, nothing tells: that it has it at 3 does not."""
    by_outcome = {story["outcome"]: story for story in stories(report)}
    rows = report["anomalies"]["inconsistent-offset"]["examples"]

    assert {"two_values", "read_elsewhere"} <= set(by_outcome)
    assert {row["outcome"]: row["story"] for row in rows} == {
        row["outcome"]: by_outcome[row["outcome"]]["number"] for row in rows
    }
    assert known(by_outcome["read_elsewhere"], "had")["kafka2"] == "unknown"
    assert "kafka1 and kafka2 have it at offset 3 now" in by_outcome["two_values"]["sentence"]
