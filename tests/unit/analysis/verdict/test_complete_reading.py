"""Complete reading: log starts, groups and replicas."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict.complete_reading import may_delete, reading_doubts
from tests.support.histories import (
    final_read,
    ns_of,
    planned,
    polled,
    processed,
    replica,
    sent,
    unasked,
    with_story,
)
from tests.support.stored_runs import COUNTS, did, run_of, work

Report = dict[str, Any]
TEN = tuple(sent(value, at=value) for value in range(10))
KEPT_FOR_A_SECOND = {"retention.ms": 1000}


# --- a moved log start


@with_story(*TEN, sent(10, at=10), final_read(10, log_start=10))
def test_acks_below_a_log_start_that_nothing_may_have_moved_are_doubt(report: Report) -> None:
    assert report["counts"]["acked_below_log_start"] == 10
    assert (report["verdict"], report["anomalies"]["lost"]["count"]) == ("unknown", 0)
    assert report["reasons"] == [
        "10 acknowledged records lie below the log's start, though nothing in the configuration "
        "deletes records within the run"
    ]


@with_story(*TEN, sent(10, at=10), final_read(10, log_start=10), topic=KEPT_FOR_A_SECOND)
def test_where_records_may_be_deleted_the_headline_says_how_many(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])
    assert report["counts"]["acked_below_log_start"] == 10
    assert report["sentence"].startswith(
        "No data was lost: 1 of 11 acknowledged records was read back, and no fault was injected. "
        "10 acknowledged records lie below the log's start, where records may be deleted."
    )


@with_story(*TEN, final_read(log_start=10), topic=KEPT_FOR_A_SECOND)
def test_where_all_acks_lie_below_it_nothing_was_read_back(report: Report) -> None:
    """10 acks below the start and an empty final read, whatever may be deleted."""
    assert report["verdict"] == "unknown"
    assert report["reasons"] == [
        "all 10 acknowledged records lie below the log's start, where nothing can be read back"
    ]


@with_story(*TEN, final_read())
def test_an_empty_log_that_starts_at_0_has_lost_them(report: Report) -> None:
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["lost"]["count"] == 10
    assert report["counts"]["acked_below_log_start"] == 0


MOVED = (
    "the log of partition 0 begins at offset {}, though nothing in the configuration deletes "
    "records within the run"
)


UNASKED = (*(unasked(n) for n in range(1, 100)), final_read(99, log_start=98))


@with_story(*UNASKED, acks="0")
def test_a_log_start_that_nothing_may_have_moved_is_doubt_without_any_ack(report: Report) -> None:
    """With acks=0 nothing was acknowledged below it; 98 records are gone all the same."""
    assert (report["verdict"], report["reasons"]) == ("unknown", [MOVED.format(98)])


@with_story(*UNASKED, acks="0", topic=KEPT_FOR_A_SECOND)
def test_where_records_may_be_deleted_it_is_none(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(sent(1, at=10), sent(2, at=11), final_read(1, 2, log_start=10))
def test_so_it_is_where_all_acks_lie_above_it(report: Report) -> None:
    """What vanished below it cannot be told."""
    assert (report["verdict"], report["reasons"]) == ("unknown", [MOVED.format(10)])


# Partition 0 was read back, and partition 1 has acks at 0 to 2.
TWO_PARTITIONS = (
    *(sent(n, at=n) for n in range(3)),
    *(sent(n + 9, at=n, partition=1) for n in range(3)),
    final_read(0, 1, 2),
)


@with_story(
    *TWO_PARTITIONS,
    final_read(log_start=3, partition=1),
    partitions=2,
    topic=KEPT_FOR_A_SECOND,
)
def test_where_all_acks_of_a_partition_lie_below_it_nothing_of_it_was_read_back(
    report: Report,
) -> None:
    assert report["verdict"] == "unknown"
    assert report["reasons"] == [
        "all acknowledged records of partition 1 lie below the log's start, where nothing can be "
        "read back"
    ]


@with_story(
    *TWO_PARTITIONS,
    final_read(11, log_start=2, partition=1),
    partitions=2,
    topic=KEPT_FOR_A_SECOND,
)
def test_where_one_of_them_was_read_back_the_others_may_be_deleted(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(sent(1, at=4), sent(2, at=5), final_read({5: 1, 6: 2}, log_start=5))
def test_a_record_that_is_found_above_the_start_does_not_lie_below_it(report: Report) -> None:
    assert report["counts"]["acked_below_log_start"] == 0


@pytest.mark.parametrize(
    ("topic", "server", "deletes"),
    [
        ({}, {}, False),  # seven days, no limit of size
        ({"retention.ms": 9_999}, {}, True),
        ({"retention.ms": 11_000}, {}, False),  # the run lasted ten seconds
        ({"retention.ms": -1}, {}, False),
        ({"retention.bytes": 1000}, {}, True),
        ({"retention.bytes": -1}, {"log.retention.bytes": 1000}, False),
        ({}, {"log.retention.bytes": "1000"}, True),
        ({}, {"log.retention.ms": 1000}, True),
        ({}, {"log.retention.hours": 0}, True),
        ({}, {"log.retention.minutes": 1, "log.retention.hours": 0}, False),
        ({"retention.ms": 100_000}, {"log.retention.ms": 1000}, False),
        ({"retention.ms": 1000, "cleanup.policy": "compact"}, {}, False),
        ({"retention.ms": 1000, "cleanup.policy": "compact,delete"}, {}, True),
        ({"retention.ms": 1000}, {"log.cleanup.policy": "compact"}, False),
    ],
)
def test_what_may_delete_within_the_run(
    topic: dict[str, Any], server: dict[str, Any], deletes: bool
) -> None:
    assert may_delete(run_of(topic=topic, server=server)) == deletes


@pytest.mark.parametrize(
    ("more", "log_bytes", "deletes"),
    [
        ({}, 2**30, False),  # a log that fills no segment
        ({}, 2**30 + 1, True),
        ({"segment.bytes": 5000}, 5001, True),
        ({"segment.ms": 10_000}, 100, True),  # within the ten seconds of the run
        ({"segment.ms": 11_000}, 100, False),
        ({"retention.bytes": 0}, 100, True),
        ({"retention.ms": 1000}, 100, True),  # by time the last segment is deleted, too
    ],
)
def test_by_size_only_closed_segments_are_deleted(
    more: dict[str, Any], log_bytes: float, deletes: bool
) -> None:
    assert may_delete(run_of(topic={"retention.bytes": 1000, **more}), log_bytes) == deletes


@with_story(*TEN, sent(10, at=10), final_read(10, log_start=10), topic={"retention.bytes": 500})
def test_ten_records_fill_no_segment_that_could_be_deleted(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert "nothing in the configuration deletes records" in report["reasons"][0]


@with_story(
    *TEN,
    sent(10, at=10),
    final_read(10, log_start=10),
    topic={"retention.bytes": 500, "segment.bytes": 1000},
)
def test_ten_records_may_fill_a_small_segment(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@pytest.mark.parametrize(("lasted_s", "deletes"), [(595, False), (599.9, False), (600, True)])
def test_minutes_of_retention_have_sixty_seconds(lasted_s: float, deletes: bool) -> None:
    phase = {"name": "load", "start_ns": ns_of(0), "end_ns": ns_of(lasted_s * 1000)}
    run = run_of(server={"log.retention.minutes": 10}, phases=[phase])

    assert may_delete(run) == deletes


def test_a_step_that_changes_the_settings_may_let_records_be_deleted() -> None:
    changed = [{**planned("set-config")[0], "options": {"retention.ms": 1000}}]

    assert may_delete(run_of(plan=changed))
    assert not may_delete(run_of(plan=planned("set-config")))


# --- acks=0 hides nothing


@with_story(unasked(1), final_read(1), acks="0", compared=True)
def test_with_acks_0_replicas_must_have_been_compared_as_ever(report: Report) -> None:
    assert report["reasons"] == ["the replicas' logs were not compared"]


@with_story(
    unasked(1),
    final_read(1),
    replica(1, 1),
    replica(2, 1),
    replica(3, 1),
    acks="0",
    compared=True,
)
def test_and_where_they_were_nothing_is_missing(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(unasked(1), final_read(1), polled(1, at=0), acks="0", commit="after")
def test_with_acks_0_a_group_must_have_processed_something(report: Report) -> None:
    assert report["reasons"] == ["the consumer group processed nothing"]


@with_story(
    unasked(1), final_read(1), polled(1, at=0), processed(1, at=0), acks="0", commit="after"
)
def test_and_where_it_did_nothing_is_missing(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


SENDS = did("producer-0", from_ms=0, to_ms=9000, count=100)


def test_a_dump_without_any_record_compares_nothing() -> None:
    run = run_of(final_read(1), compared=True, workers=[{"process": "replicas-0"}])
    lacking = ["the replicas' logs were not compared"]

    assert lacking == list(reading_doubts(run, COUNTS, 0, work(SENDS)))
    assert [] == list(reading_doubts(run, COUNTS, 0, work(SENDS, did("replicas-0", "replica"))))


# --- the final read


@pytest.mark.parametrize(
    ("partitions", "which"),
    [(1, "partition 0"), (2, "partitions 0, 1"), (6, "partitions 0, 1, 2, 3, 4, …")],
)
def test_partitions_that_were_not_read_to_the_end_are_named(partitions: int, which: str) -> None:
    run = run_of(sent(1, at=0), partitions=partitions)
    said = list(reading_doubts(run, COUNTS, 0, work(did("producer-0"))))

    assert f"the final read of {which} is not complete" in said
