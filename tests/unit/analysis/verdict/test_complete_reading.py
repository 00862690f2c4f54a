"""Complete reading: log starts, consumers, groups and replicas."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict.complete_reading import may_delete, reading_doubts
from tests.support.histories import (
    fault,
    final_read,
    planned,
    polled,
    processed,
    read,
    replica,
    sent,
    told,
    unasked,
)
from tests.support.stored_runs import COUNTS, did, event, run_of, work

Report = dict[str, Any]
TEN = tuple(sent(value, at=value) for value in range(10))
KEPT_FOR_A_SECOND = {"retention.ms": 1000}


# --- a moved log start


@told(*TEN, sent(10, at=10), final_read(10, log_start=10))
def test_acks_below_a_log_start_that_nothing_may_have_moved_are_doubt(report: Report) -> None:
    assert report["counts"]["acked_below_log_start"] == 10
    assert (report["verdict"], report["anomalies"]["lost"]["count"]) == ("unknown", 0)
    assert report["reasons"] == [
        "10 acknowledged records lie below the log's start, though nothing in the configuration "
        "deletes records within the run"
    ]


@told(*TEN, sent(10, at=10), final_read(10, log_start=10), topic=KEPT_FOR_A_SECOND)
def test_where_records_may_be_deleted_the_headline_says_how_many(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])
    assert report["counts"]["acked_below_log_start"] == 10
    assert report["sentence"].startswith(
        "No data was lost: 1 of 11 acknowledged records was read back, and no fault was injected. "
        "10 acknowledged records lie below the log's start, where records may be deleted."
    )


@told(*TEN, final_read(log_start=10), topic=KEPT_FOR_A_SECOND)
def test_where_all_acks_lie_below_it_nothing_was_read_back(report: Report) -> None:
    """10 acks below the start and an empty final read, whatever may be deleted."""
    assert report["verdict"] == "unknown"
    assert report["reasons"] == [
        "all 10 acknowledged records lie below the log's start, where nothing can be read back"
    ]


@told(*TEN, final_read())
def test_an_empty_log_that_starts_at_0_has_lost_them(report: Report) -> None:
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["lost"]["count"] == 10
    assert report["counts"]["acked_below_log_start"] == 0


@told(sent(1, at=4), sent(2, at=5), final_read({5: 1, 6: 2}, log_start=5))
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


def test_a_step_that_changes_the_settings_may_let_records_be_deleted() -> None:
    changed = [{**planned("set-config")[0], "options": {"retention.ms": 1000}}]

    assert may_delete(run_of(plan=changed))
    assert not may_delete(run_of(plan=planned("set-config")))


# --- consumers that follow the log

CONSUMER = {"process": "consumer-0", "role": "consumer"}
WORKERS = [{"process": "producer-0"}, CONSUMER]
SENDS = did("producer-0", from_ms=0, to_ms=9000, count=100)
STOOD = (
    "worker consumer-0 was given nothing after 4.4 s, though records were acknowledged until 9.0 s"
)


def doubts_of(*rows: dict[str, Any], **record: Any) -> list[str]:
    run = run_of(final_read(1), **{"workers": WORKERS, "consumers": 1, **record})
    return list(reading_doubts(run, COUNTS, 0, work(SENDS, *rows)))


def test_a_consumer_that_never_read_is_doubt() -> None:
    assert doubts_of() == ["worker consumer-0 read nothing"]


def test_so_is_one_of_which_there_is_no_trace() -> None:
    assert doubts_of(workers=[]) == [
        "no consumer that follows the log read anything, though the scenario asks for one"
    ]
    assert doubts_of(workers=[], consumers=0) == []
    assert doubts_of(did("consumer-0", "read"), workers=[]) == []


def test_polls_of_a_group_are_not_its_own() -> None:
    assert doubts_of(did("group-consumer-0", "poll")) == ["worker consumer-0 read nothing"]


def test_one_that_read_is_none() -> None:
    """The twin."""
    assert doubts_of(did("consumer-0", "read")) == []


@pytest.mark.parametrize(("last_ms", "stood"), [(100, True), (4400, True), (4600, False)])
def test_one_that_stood_still_for_most_of_the_time_is_doubt(last_ms: float, stood: bool) -> None:
    """It read the first record, and no more."""
    told_of = doubts_of(did("consumer-0", "read", to_ms=last_ms))

    assert bool(told_of) == stood
    assert not stood or told_of[0].startswith("worker consumer-0 was given nothing after")


def test_the_words_name_both_times() -> None:
    assert doubts_of(did("consumer-0", "read", to_ms=4400)) == [STOOD]


def test_a_stop_of_a_second_is_none_however_short_the_load_was() -> None:
    short = did("producer-0", from_ms=0, to_ms=1100, count=2)
    run = run_of(final_read(1), workers=WORKERS)
    done = work(short, did("consumer-0", "read", to_ms=100))

    assert [] == list(reading_doubts(run, COUNTS, 0, done))


@pytest.mark.parametrize("rows", [[], [did("consumer-0", "read", to_ms=100)]])
def test_a_consumer_that_a_fault_hit_is_excused(rows: list[dict[str, Any]]) -> None:
    hit = fault("kill", "consumer", ms=1, nodes=["consumer-0"])
    late = {"process": "consumer-0-2", "role": "consumer"}
    run = run_of(final_read(1), hit, workers=[*WORKERS, late])

    assert [] == list(reading_doubts(run, COUNTS, 0, work(SENDS, *rows)))


@told(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=9000),
    read(1, at=0, ms=100),
    polled(1, at=0, ms=200),
    polled(2, at=1, ms=9100),
    processed(1, at=0, ms=300),
    processed(2, at=1, ms=9200),
    final_read(1, 2),
    commit="after",
    consumers=1,
)
def test_one_that_stood_still_while_a_group_went_on_is_seen(report: Report) -> None:
    """No consume window tells it: the group's polls are deliveries."""
    assert report["longest_window_s"]["consume"] == 0
    assert report["reasons"] == [
        "worker consumer-0 was given nothing after 0.1 s, though records were acknowledged until "
        "9.0 s"
    ]


# --- the group

MEMBERS = [{"process": f"group-consumer-{n}", "role": "group-consumer"} for n in (0, 1)]


def of_group(*rows: dict[str, Any], events: Any = (), hit: bool = False) -> list[str]:
    parts = [fault("kill", "group-consumer", ms=1, nodes=["group-consumer-1"])] if hit else []
    run = run_of(final_read(1), *parts, workers=MEMBERS, commit="after", events=events)
    counts = {**COUNTS, "processed": 1}
    return list(reading_doubts(run, counts, 0, work(SENDS, *rows)))


FIRST = did("group-consumer-0", "poll")
GIVEN = event("assigned", "group-consumer-1", 100, "2, 3")


def test_a_member_that_has_partitions_and_polls_nothing_is_doubt() -> None:
    assert of_group(FIRST, events=[GIVEN]) == [
        "worker group-consumer-1 was assigned partitions 2, 3 and polled nothing"
    ]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [event("assigned", "group-consumer-1", 100, "")],
        [GIVEN, event("revoked", "group-consumer-1", 200, "2, 3")],
        [event("assigned", "group-consumer-1", 9000, "2, 3")],
    ],
    ids=["none", "an empty one", "taken away", "at the end"],
)
def test_a_member_without_an_assignment_of_some_length_is_excused(events: Any) -> None:
    assert of_group(FIRST, events=events) == []


def test_a_member_that_a_fault_hit_is_excused() -> None:
    assert of_group(FIRST, events=[GIVEN], hit=True) == []


def test_a_group_that_stood_still_is_doubt() -> None:
    assert of_group(did("group-consumer-0", "poll", to_ms=100)) == [
        "the consumer group was given nothing after 0.1 s, though records were acknowledged until "
        "9.0 s"
    ]


# --- acks=0 hides nothing


@told(unasked(1), final_read(1), acks="0", compared=True)
def test_with_acks_0_replicas_must_have_been_compared_as_ever(report: Report) -> None:
    assert report["reasons"] == ["the replicas' logs were not compared"]


@told(
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


@told(unasked(1), final_read(1), polled(1, at=0), acks="0", commit="after")
def test_with_acks_0_a_group_must_have_processed_something(report: Report) -> None:
    assert report["reasons"] == ["the consumer group processed nothing"]


@told(unasked(1), final_read(1), polled(1, at=0), processed(1, at=0), acks="0", commit="after")
def test_and_where_it_did_nothing_is_missing(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


def test_a_dump_without_any_record_compares_nothing() -> None:
    run = run_of(final_read(1), compared=True, workers=[{"process": "replicas-0"}])
    lacking = ["the replicas' logs were not compared"]

    assert lacking == list(reading_doubts(run, COUNTS, 0, work(SENDS)))
    assert [] == list(reading_doubts(run, COUNTS, 0, work(SENDS, did("replicas-0", "replica"))))
