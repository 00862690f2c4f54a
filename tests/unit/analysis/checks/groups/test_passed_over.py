"""What a group passes over whose place is no longer in the log: by a reset, or as it is deleted."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    Part,
    committed,
    event,
    fault,
    final_read,
    found,
    polled,
    processed,
    sent,
    split,
    with_story,
)

Report = dict[str, Any]
GROUP = {"commit": "after", "history_format": 2, "topic": {"retention.ms": 1000}}
LATEST = {**GROUP, "consumer": {"auto.offset.reset": "latest"}}
EARLIEST = {**GROUP, "consumer": {"auto.offset.reset": "earliest"}}
SIX = tuple(sent(value, at=value, ms=10 * value) for value in range(6))
FIRST = (polled(0, 0, ms=300), processed(0, 0, ms=310), committed(1, ms=320))
LAST = (polled(5, 5, ms=500), processed(5, 5, ms=510), committed(6, ms=520))
ALL, END = final_read(0, 1, 2, 3, 4, 5), final_read(5, log_start=5)
MEMBER = "group-consumer-0"


def reset(*, to: str = "END", at: int = 1, log_start: int | None = None, ms: float = 400) -> Part:
    text = f"[0]: offset reset (at offset {at} (leader epoch 0), broker 1) to offset {to}: …"
    told = {"partition": 0, "position": at, "text": text, "log_start": log_start}
    return event("reset", process=MEMBER, ms=ms, **told)


# --- what is still in the log


@with_story(*SIX, *FIRST, reset(), *LAST, ALL, **LATEST)
def test_what_a_told_reset_to_latest_passed_over_is_permitted_by_it(report: Report) -> None:
    assert found(report, "skipped") == [1, 2, 3, 4]
    assert split(report, "skipped")["never_polled"] == 4
    assert report["verdict"] == "valid"
    (cause,) = report["causes"]
    assert (cause["kind"], cause["permitted"]) == ("reset-to-latest", {"skipped": 4})
    assert cause["words"] == (
        "group-consumer-0 was put to the end of partition 0 by auto.offset.reset=latest, from 1 to "
        "5"
    )


@with_story(*SIX, *FIRST, reset(at=3), *LAST, ALL, **LATEST)
def test_what_lies_before_the_position_that_it_left_is_not(report: Report) -> None:
    assert found(report, "skipped") == [1, 2, 3, 4]
    assert report["anomalies"]["skipped"]["judged"]["forbidden"] == 2
    assert report["verdict"] == "invalid"


# --- what a member began behind in an added partition

TWO = tuple(sent(value, at=value, partition=1, ms=300 + value) for value in range(4))
BEGUN = (polled(2, 2, partition=1, ms=400), polled(3, 3, partition=1, ms=401))
DONE = (processed(2, 2, partition=1, ms=410), processed(3, 3, partition=1, ms=411))
WENT_ON = (*BEGUN, *DONE, committed(4, partition=1, ms=420), final_read())
MORE = {"step": 0, "verb": "add-partitions", "target": "leader", "effects": {"adds_partitions": 1}}
ADDED = {"plan": [MORE], "use_added_partitions": True}


@with_story(
    *(fault("add-partitions", ms=200, healing_took=0), *TWO, *WENT_ON),
    final_read(0, 1, 2, 3, partition=1),
    **LATEST,
    **ADDED,
)
def test_what_lies_before_the_first_record_in_an_added_partition_was_passed_over(
    report: Report,
) -> None:
    """Nothing was there when the group had the topic's other partitions (KIP-842)."""
    assert found(report, "skipped") == [0, 1]
    assert report["anomalies"]["skipped"]["judged"]["permitted"] == 2
    assert report["causes"][0]["words"] == (
        "group-consumer-0 was put to the end of partition 1 by auto.offset.reset=latest, from 0 to "
        "2"
    )


@with_story(*TWO, *WENT_ON, final_read(0, 1, 2, 3, partition=1), **LATEST, partitions=2)
def test_in_one_that_was_there_from_the_start_the_group_may_have_begun_later(
    report: Report,
) -> None:
    assert found(report, "skipped") == []


@with_story(
    *(fault("add-partitions", ms=200, healing_took=0), *TWO, *WENT_ON),
    committed(2, partition=1, found=True, ms=390),
    final_read(0, 1, 2, 3, partition=1),
    **LATEST,
    **ADDED,
)
def test_where_another_member_had_committed_before_no_reset_put_it_there(report: Report) -> None:
    assert report["anomalies"]["skipped"]["judged"]["permitted"] == 0


FETCHED = (polled(1, 1, ms=390), processed(1, 1, ms=391))


@with_story(*SIX, *FIRST, *FETCHED, reset(log_start=3), *LAST, END, **LATEST)
def test_what_was_fetched_before_the_reset_is_not_where_it_went(report: Report) -> None:
    """A client that stood still hands over what it had, and is told then."""
    assert found(report, "skipped") == [3, 4]
    assert report["counts"]["expired_unread"] == 1


def revoked(partition: int) -> Part:
    return event("revoked", process=MEMBER, text=str(partition), generation=1, ms=450)


@with_story(*SIX, *FIRST, reset(), revoked(1), *LAST, ALL, **LATEST)
def test_a_member_that_loses_another_partition_meanwhile_goes_on_here(report: Report) -> None:
    assert report["anomalies"]["skipped"]["judged"]["permitted"] == 4


@with_story(*SIX, *FIRST, reset(), revoked(0), *LAST, ALL, **LATEST)
def test_how_far_one_went_that_was_moved_again_is_not_known(report: Report) -> None:
    """The twin."""
    assert report["anomalies"]["skipped"]["judged"]["forbidden"] == 4


@with_story(*SIX, *FIRST, *LAST, ALL, **LATEST)
def test_without_a_reset_nothing_permits_it(report: Report) -> None:
    """A twin."""
    assert report["anomalies"]["skipped"]["judged"]["forbidden"] == 4


@with_story(*SIX, *FIRST, reset(to="3 (leader epoch 1)"), *LAST, ALL, **LATEST)
def test_nor_does_one_to_another_place(report: Report) -> None:
    """A twin: KIP-320."""
    assert report["anomalies"]["skipped"]["judged"]["forbidden"] == 4


# --- what was deleted


@with_story(*SIX, *FIRST, reset(log_start=3), *LAST, END, **LATEST)
def test_what_was_in_the_log_then_was_skipped_though_it_was_deleted_later(report: Report) -> None:
    """The rest was deleted before the reset."""
    assert found(report, "skipped") == [3, 4]
    assert report["anomalies"]["skipped"]["judged"]["permitted"] == 2
    assert report["counts"]["expired_unread"] == 2
    assert report["outcome"]["words"] == (
        "no acknowledged record lost, 2 skipped records, 2 deleted before the group was given them"
    )


@with_story(*SIX, *FIRST, reset(to="BEGINNING"), *LAST, END, **EARLIEST)
def test_what_was_deleted_before_the_group_came_to_it_is_expired_unread(report: Report) -> None:
    assert found(report, "skipped") == []
    assert report["counts"]["expired_unread"] == 4
    assert (report["verdict"], report["outcome"]["data"]) == ("valid", "disturbed")
    assert (
        "5 acknowledged records lie below the log's start, where records may be deleted. 4 of "
        "these were deleted before any member of the consumer group was given them, and the group "
        "has committed past them."
    ) in report["sentence"]


GIVEN = (polled(1, 1, ms=330), polled(2, 2, ms=330), processed(2, 2, ms=340))


@with_story(*SIX, *FIRST, *GIVEN, *LAST, END, **EARLIEST, expect={"expired-unread": "0"})
def test_what_a_member_was_given_is_not(report: Report) -> None:
    """A twin, processed or not: 1 was polled, 2 processed."""
    assert report["counts"]["expired_unread"] == 2
    assert report["reasons"] == ["expired-unread: 0 demanded, 2 were seen"]


@with_story(*SIX, *FIRST, END, **EARLIEST)
def test_what_the_group_has_not_committed_past_is_not(report: Report) -> None:
    """A twin."""
    assert report["counts"]["expired_unread"] == 0


@with_story(*SIX, *LAST, END, **LATEST)
def test_what_lies_before_the_begin_of_a_group_that_began_at_the_end_is_not(report: Report) -> None:
    """A twin."""
    assert report["counts"]["expired_unread"] == 0
