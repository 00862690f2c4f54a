"""Two outputs: the smallest history, and its twins without them."""

from __future__ import annotations

from tests.support.histories import (
    damage,
    final_read,
    found,
    moved,
    polled,
    sent,
    split,
    view,
    with_story,
)
from tests.support.story_parts.transformers import (
    AFTER,
    AGAIN,
    BEFORE,
    DIRTY,
    EXACT,
    HEIR,
    ONE,
    OTHER,
    OUT_X,
    READ,
    TWICE,
    A,
    Report,
    X,
    Y,
    outputs_of,
    processing,
    sent_output,
    went_on,
)


@with_story(*TWICE, **AFTER)
def test_two_outputs_of_one_input_in_the_final_read(report: Report) -> None:
    """At least once permits it."""
    assert outputs_of(report) == (0, 1)
    assert found(report, "two-outputs") == [1]
    assert split(report, "two-outputs") == {"by_another": 1, "by_the_same": 0}
    row = report["anomalies"]["two-outputs"]["examples"][0]
    assert (row["partition"], row["offset"], row["sent"]) == (0, 0, "acked")
    assert (row["other_partition"], row["other_offset"], row["other_value"]) == (1, 1, Y)
    assert report["verdict"] == "valid", report["reasons"]
    assert (
        "1 record is in the log with two outputs, which this configuration allows."
        in report["sentence"]
    )


@with_story(*TWICE, **EXACT)
def test_exactly_once_forbids_two_outputs(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is True
    assert report["anomalies"]["reprocessed"]["convicts"] is True
    assert report["verdict"] == "invalid"


@with_story(*TWICE, **BEFORE)
def test_at_most_once_forbids_two_outputs(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is True


@with_story(*TWICE, **DIRTY)
def test_whoever_asks_for_what_is_not_committed_waits_for_no_offsets(report: Report) -> None:
    """KIP-447: the member that took over went on before a transaction that was still open."""
    assert outputs_of(report) == (0, 1)
    assert report["anomalies"]["reprocessed"]["count"] == 1
    assert report["verdict"] == "valid", report["reasons"]


@with_story(
    view("kafka1", ms=-1000, isr=("kafka1",)),
    view("kafka1", ms=-1000, partition=1, isr=("kafka1",)),
    view("kafka2", ms=150, partition=1, isr=("kafka2",), epoch=1),
    *TWICE,
    topic={"unclean.leader.election.enable": "true"},
    **EXACT,
)
def test_a_log_of_another_partition_that_was_set_back_permits_it(report: Report) -> None:
    """What aborted the first output may have been cut off there."""
    assert outputs_of(report) == (0, 1)
    assert report["anomalies"]["two-outputs"]["convicts"] is False


@with_story(*moved(ms=150), *moved(ms=150, partition=1), *TWICE, **EXACT)
def test_a_clean_election_permits_nothing(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is True


@with_story(
    *A,
    *OUT_X,
    processing(1, at=0, ms=200),
    sent_output(Y, at=1, ms=200),
    went_on(1),
    READ,
    final_read(X, Y, partition=1, complete=False),
    **AFTER,
)
def test_a_read_that_stopped_early_shows_two_as_well(report: Report) -> None:
    assert split(report, "two-outputs") == {"by_another": 0, "by_the_same": 1}


@with_story(
    *A,
    processing(1, at=0, ms=100, ended="fail"),
    sent_output(X, ms=100, ended="fail"),
    *AGAIN,
    went_on(1, by=OTHER),
    READ,
    final_read({1: Y}, partition=1),
    **EXACT,
)
def test_an_aborted_output_and_one_that_was_committed_are_one(report: Report) -> None:
    """Nor was the input processed twice."""
    assert outputs_of(report) == (0, 0)
    assert report["anomalies"]["reprocessed"]["count"] == 0
    assert report["verdict"] == "valid", report["reasons"]


@with_story(
    *A,
    processing(1, at=0, ms=100, ended="fail"),
    sent_output(X, ms=100, ended="fail"),
    *AGAIN,
    went_on(1, by=OTHER),
    READ,
    final_read(X, Y, partition=1),
    **DIRTY,
)
def test_an_aborted_output_that_readers_asked_for_is_none(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(
    *A,
    processing(1, at=None, ms=100),
    sent_output(X, ms=100, ended="info"),
    *AGAIN,
    went_on(1, by=OTHER),
    READ,
    final_read(X, Y, partition=1),
    **DIRTY,
)
def test_a_doubtful_output_that_readers_asked_for_may_be_aborted(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


KILLED = (*A, processing(1, at=None, ms=100), sent_output(X, ms=100, ended="info", took=None))


@with_story(
    *KILLED,
    polled(1, at=0, ms=200, process=HEIR),
    processing(1, at=0, ms=210, by=HEIR),
    sent_output(Y, at=1, ms=210, by=HEIR),
    went_on(1, by=HEIR),
    READ,
    final_read(X, Y, partition=1),
    **AFTER,
)
def test_the_output_of_a_killed_member_counts_where_it_is_in_the_log(report: Report) -> None:
    """Its processing never ended, so its offset is not known: the value was at one place only."""
    assert outputs_of(report) == (0, 1)
    assert report["anomalies"]["reprocessed"]["count"] == 0


@with_story(
    *KILLED,
    polled(1, at=0, ms=200, process=HEIR),
    processing(1, at=0, ms=210, by=HEIR),
    sent_output(Y, at=0, ms=210, by=HEIR),
    went_on(1, by=HEIR),
    READ,
    final_read(Y, partition=1),
    **AFTER,
)
def test_nor_is_it_one_where_it_never_came_to_the_log(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


STANDS_TWICE = (
    sent(1, at=0, ms=0),
    polled(1, at=0, ms=50, process=ONE),
    polled(1, at=1, ms=50, process=ONE),
)


@with_story(
    *STANDS_TWICE,
    *OUT_X,
    processing(1, at=1, ms=200),
    sent_output(Y, at=1, ms=200),
    went_on(2),
    final_read(1, 1),
    final_read(X, Y, partition=1),
    retries=1,
    **AFTER,
)
def test_an_input_that_stands_twice_has_two(report: Report) -> None:
    """It is a duplicate, and each copy has one output."""
    assert outputs_of(report) == (0, 0)
    assert found(report, "duplicate") == [1]


@with_story(
    *STANDS_TWICE,
    processing(1, at=None, ms=100),
    sent_output(X, ms=100, ended="info", took=None),
    processing(1, at=1, ms=200, by=OTHER),
    sent_output(Y, at=1, ms=200, by=OTHER),
    went_on(2),
    final_read(1, 1),
    final_read(X, Y, partition=1),
    retries=1,
    **AFTER,
)
def test_which_copy_a_killed_member_took_is_not_known(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(*A, *OUT_X, went_on(1), READ, final_read(X, X, partition=1), retries=1, **AFTER)
def test_an_output_that_stands_twice_is_a_duplicate(report: Report) -> None:
    assert outputs_of(report) == (0, 0)
    assert found(report, "duplicate") == [X]


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    processing(1, at=0, ms=100),
    sent_output(X, at=0, ms=100),
    processing(2, at=1, ms=100, by=OTHER),
    sent_output(Y, at=1, ms=100, by=OTHER),
    went_on(2),
    final_read(1, 2),
    final_read(X, Y, partition=1),
    **AFTER,
)
def test_two_members_that_process_at_one_time_are_told_apart(report: Report) -> None:
    """An output is its own worker's."""
    assert outputs_of(report) == (0, 0)


@with_story(*TWICE, damage("bad-record", process=ONE), **EXACT)
def test_a_damaged_table_of_a_transformer_convicts_nobody(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is False
    assert report["verdict"] == "unknown"
