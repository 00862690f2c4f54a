"""Order: the smallest histories in which it is broken, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from analysis.checks.order import REORDERED, in_order_of_place, reordered
from analysis.frames.evidence import Tables, rows
from analysis.frames.history import History, runs_frame
from analysis.frames.operations import fates
from tests.support.histories import (
    aborted,
    doubtful,
    final_read,
    found,
    moved,
    sent,
    story,
    unasked,
    view,
    with_story,
)
from tests.support.story_runs import operation_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHER = 1 << 40  # the first value of another producer
ONE_BY_ONE = {"in_flight": 1, "retries": 3}
RETRIED = {"retries": 3}
SAFE = {"idempotent": True, "retries": 3}


def counts(report: dict[str, Any]) -> tuple[int, int]:
    """How many records are reordered, and how many violate real time."""
    anomalies = report["anomalies"]
    return anomalies["reordered"]["count"], anomalies["real-time-violation"]["count"]


# Of one client


@with_story(sent(1, at=1, ms=0, took=50), sent(2, at=0, ms=10, took=5), final_read(2, 1), **SAFE)
def test_a_record_behind_one_that_its_client_sent_later_is_reordered(
    report: dict[str, Any],
) -> None:
    """With an idempotent producer the run is invalid. The one that was overtaken is named."""
    (row,) = report["anomalies"]["reordered"]["examples"]
    assert counts(report) == (1, 0)
    assert (row["value"], row["offset"]) == (1, 1)
    assert (row["other_value"], row["other_partition"], row["other_offset"]) == (2, 0, 0)
    assert report["verdict"] == "invalid"
    assert "is in the log behind records that the same producer sent later" in report["sentence"]


@with_story(sent(1, at=0, ms=0, took=50), sent(2, at=1, ms=10, took=5), final_read(1, 2), **SAFE)
def test_acks_in_another_order_are_none(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)
    assert report["verdict"] == "valid"


@with_story(
    sent(1, at=3, ms=0, took=50),
    sent(2, at=0, ms=1, took=50),
    sent(3, at=1, ms=2, took=50),
    sent(4, at=2, ms=3, took=50),
    final_read(2, 3, 4, 1),
    **SAFE,
)
def test_one_record_that_many_overtook_is_one(report: dict[str, Any]) -> None:
    """The others are where they should be; the latest of them is named beside it."""
    (row,) = report["anomalies"]["reordered"]["examples"]
    assert (row["value"], row["other_value"], row["other_offset"]) == (1, 4, 2)


@with_story(sent(1, at=1, ms=0, took=50), sent(2, at=0, ms=10), final_read({0: 2}), **SAFE)
def test_a_lost_record_is_lost_and_not_reordered(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)
    assert found(report, "lost") == [1]


@with_story(sent(1, at=2, ms=0, took=50), sent(2, at=1, ms=10), final_read(1, 2, 1), **RETRIED)
def test_a_duplicate_counts_at_its_first_place(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(sent(1, at=1, ms=0, took=50), sent(2, at=2, ms=10), final_read(2, 1, 2), **RETRIED)
def test_and_so_does_one_that_overtook(report: dict[str, Any]) -> None:
    assert found(report, "reordered") == [1]


@with_story(sent(OTHER, at=0, ms=0, took=50), sent(1, at=1, ms=10), final_read(OTHER, 1), **SAFE)
def test_records_of_two_producers_have_no_order_of_their_own(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(
    sent(1, at=0, ms=0, partition=1),
    sent(2, at=0, ms=1),
    final_read(2),
    final_read(1, partition=1),
    partitions=2,
    **SAFE,
)
def test_nor_have_records_of_two_partitions(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(doubtful(1, ms=0), sent(2, at=0, ms=10), final_read(2, 1), **SAFE)
def test_a_send_of_doubtful_end_is_promised_no_order(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(
    sent(1, at=3, ms=0, partition=1),
    sent(2, at=0, ms=1, partition=1),
    final_read(7, 1),
    final_read(2, None, None, 1, partition=1),
    partitions=2,
    **SAFE,
)
def test_a_record_that_is_also_in_another_partition_is_not_judged_there(
    report: dict[str, Any],
) -> None:
    """Its first place is in a lower partition: it is misplaced."""
    assert counts(report) == (0, 0)
    assert found(report, "inconsistent-offset") == [1]


# What was read


@with_story(
    sent(1, at=1, ms=0, took=50),
    sent(2, at=0, ms=10),
    final_read(2, 1, complete=False),
    **SAFE,
)
def test_an_incomplete_final_read_shows_it_where_it_read_all_before(
    report: dict[str, Any],
) -> None:
    assert found(report, "reordered") == [1]
    assert report["verdict"] == "invalid"


@with_story(
    sent(1, at=1, ms=0, took=50),
    sent(2, at=0, ms=10),
    final_read(2, 1, complete=False, position=1),
    **RETRIED,
)
def test_and_shows_nothing_where_a_first_copy_may_be_unread(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(
    sent(1, at=6, ms=0, took=50), sent(2, at=5, ms=10), final_read(2, 1, log_start=5), **RETRIED
)
def test_nor_does_a_log_whose_start_may_have_taken_a_first_copy(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(
    sent(1, at=6, ms=0, took=50), sent(2, at=5, ms=10), final_read(2, 1, log_start=5), **SAFE
)
def test_but_one_of_a_producer_that_leaves_one_copy_does(report: dict[str, Any]) -> None:
    assert found(report, "reordered") == [1]


@with_story(
    sent(1, at=1, ms=0, took=50),
    sent(2, at=0, ms=10),
    final_read(2, 1),
    isolation="read_committed",
    **SAFE,
)
def test_without_instances_transactions_are_not_judged(report: dict[str, Any]) -> None:
    """A worker may have replaced its client between the two."""
    assert counts(report) == (0, 0)


@with_story(aborted(1, ms=0), sent(2, at=0, ms=10), final_read(2, 1), **SAFE)
def test_an_aborted_send_is_none(report: dict[str, Any]) -> None:
    assert counts(report) == (0, 0)


@with_story(unasked(1, ms=0), unasked(2, ms=10), final_read(2, 1), acks="0")
def test_without_acks_there_is_nothing_to_judge(report: dict[str, Any]) -> None:
    assert {"reordered", "real-time-violation"}.isdisjoint(report["anomalies"])


@with_story(
    sent(2, at=0, ms=0),
    sent(1, at=0, ms=10),
    final_read(1),
    final_read(2, process="final-read-1"),
    **SAFE,
)
def test_two_values_at_one_place_are_in_no_order(report: dict[str, Any]) -> None:
    """They are an inconsistent offset."""
    assert counts(report) == (0, 0)
    assert report["anomalies"]["inconsistent-offset"]["count"] == 1


INSTANCES = story(sent(1, at=1, ms=0, took=50), sent(2, at=0, ms=10), final_read(2, 1))


@pytest.mark.parametrize(
    ("transactional", "instances", "reordered_"),
    [
        (True, (0, 0), [1]),
        (True, (0, 1), []),
        (False, (0, 1), []),
        (True, (None, None), []),
        (False, (None, None), [1]),
    ],
)
def test_a_replaced_client_is_another_one(
    spark: SparkSession,
    transactional: bool,
    instances: tuple[int | None, int | None],
    reordered_: list[int],
) -> None:
    """Histories that tell instances are judged with transactions too."""
    told_ = [
        {**row, "instance": dict(zip((1, 2), instances, strict=True)).get(row["value"])}
        for row in operation_rows(INSTANCES, "a")
    ]
    run = {
        "run_id": "a",
        "transactional": transactional,
        "one_copy": True,
        "ends": [{"complete": True, "log_start": 0, "position": None}],
    }
    columns = "run_id string, process string, f string, type string, partition int, value bigint, "
    columns += "offset bigint, error string, intended_ns bigint, start_ns bigint, end_ns bigint, "
    columns += "instance int"
    names = [each.split()[0] for each in columns.split(", ")]
    operations = spark.createDataFrame([[row[n] for n in names] for row in told_], columns)
    runs = runs_frame(spark, [run])
    values = fates(operations, runs)
    tables = Tables(
        history=History(operations=operations, runs=runs, groups=False, replicas=False),
        values=lambda: values,
        places=lambda: values,
        steps=lambda: values,
    )
    seen = rows(in_order_of_place(tables), {REORDERED.name: reordered()}).collect()

    assert [row["value"] for row in seen] == reordered_


# What permits them

LATE = (sent(1, at=1, ms=0, took=1500), sent(2, at=0, ms=1100), final_read(2, 1))


@with_story(*LATE, in_flight=5, **RETRIED)
def test_with_several_requests_in_flight_a_retry_may_reorder(report: dict[str, Any]) -> None:
    assert counts(report) == (1, 0)
    assert report["verdict"] == "valid"


@with_story(*LATE, in_flight=5, retries=0)
def test_without_retries_too(report: dict[str, Any]) -> None:
    """librdkafka sends again what a broker refused because it does not lead."""
    assert report["verdict"] == "valid"


@with_story(*LATE, **ONE_BY_ONE)
def test_with_one_in_flight_it_may_not(report: dict[str, Any]) -> None:
    assert report["verdict"] == "invalid"


@with_story(*LATE, *moved(ms=1000), **ONE_BY_ONE)
def test_but_for_sends_over_which_the_leader_changed(report: dict[str, Any]) -> None:
    assert report["verdict"] == "valid"
    assert report["anomalies"]["reordered"]["judged"]["permitted"] == 1


@with_story(
    sent(1, at=1, ms=1200, took=1500),
    sent(2, at=0, ms=1300),
    final_read(2, 1),
    *moved(ms=1000),
    # kafka1 is in an ISR again: it follows, and acknowledges nothing any more.
    view("kafka2", ms=1100, isr=("kafka1", "kafka2", "kafka3"), epoch=1),
    **ONE_BY_ONE,
)
def test_later_ones_are_in_doubt(report: dict[str, Any]) -> None:
    """Their client may have gone on sending to the old leader."""
    assert report["anomalies"]["reordered"]["judged"]["in_doubt"] == 1
    assert report["verdict"] == "unknown"


@with_story(
    sent(1, at=1, ms=0, took=500),
    sent(2, at=0, ms=100),
    final_read(2, 1),
    *moved(ms=1000),
    **ONE_BY_ONE,
)
def test_and_those_that_ended_before_forbidden(report: dict[str, Any]) -> None:
    assert report["verdict"] == "invalid"


@with_story(*LATE, *moved(ms=1000), **SAFE)
def test_an_idempotent_producer_keeps_the_order_over_leader_changes(
    report: dict[str, Any],
) -> None:
    assert report["verdict"] == "invalid"
