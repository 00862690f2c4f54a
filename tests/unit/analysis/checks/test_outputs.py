"""No output and two outputs: the smallest history of each, and its twins without it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import (
    Part,
    committed,
    damage,
    event,
    final_read,
    found,
    moved,
    polled,
    processed,
    sent,
    split,
    story,
    told,
    view,
)

Report = dict[str, Any]
ONE, OTHER, HEIR = "transformer-0", "transformer-1", "transformer-0-2"
X, Y = 1 << 40, 2 << 40  # outputs
TWO_PARTITIONS = {"transformers": 1, "partitions": 2, "history_format": 2}
AFTER = {**TWO_PARTITIONS, "commit": "after"}
BEFORE = {**TWO_PARTITIONS, "commit": "before"}
EXACT = {**TWO_PARTITIONS, "commit": "transaction", "isolation": "read_committed", "retries": 9}
EXACT |= {"idempotent": True}
DIRTY = {**EXACT, "isolation": "read_uncommitted"}


def took(value: int, at: int | None, *, ms: float, by: str = ONE, ended: str = "ok") -> Part:
    """A member's processing of a record of partition 0; at=None: it never ended."""
    part = processed(value, at=at, ms=ms, process=by)
    return replace(
        part, rows=tuple({**r, "type": r["type"] if at is None else ended} for r in part.rows)
    )


def made(
    value: int, at: int | None = None, *, ms: float, by: str = ONE, ended: str = "ok", **more: Any
) -> Part:
    """An output, sent to partition 1, of what was being processed from `ms` on."""
    error = {"ok": None, "fail": "_ABORTED", "info": "_MSG_TIMED_OUT"}[ended]
    return sent(
        value, at, ms=ms + 1, due=ms, partition=1, process=by, ended=ended, error=error, **more
    )


def went_on(at: int, *, by: str = ONE, ms: float = 400) -> Part:
    """The group's commit."""
    return committed(at, ms=ms, process=by, took=5)


A = (sent(1, at=0, ms=0), polled(1, at=0, ms=50, process=ONE))
READ = final_read(1)
OUT_X = (took(1, at=0, ms=100), made(X, at=0, ms=100))
AGAIN = (
    polled(1, at=0, ms=200, process=OTHER),
    took(1, at=0, ms=210, by=OTHER),
    made(Y, at=1, ms=210, by=OTHER),
)
TWICE = (*A, *OUT_X, *AGAIN, went_on(1, by=OTHER), READ, final_read(X, Y, partition=1))


def outputs_of(report: Report) -> tuple[int, int]:
    """How many inputs without an output there are, and with two."""
    counts = [report["anomalies"][name]["count"] for name in ("no-output", "two-outputs")]
    return counts[0], counts[1]


# --- two outputs


@told(*TWICE, **AFTER)
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
        "1 record is in the log with two outputs each, which this configuration allows."
        in report["sentence"]
    )


@told(*TWICE, **EXACT)
def test_exactly_once_forbids_two_outputs(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is True
    assert report["anomalies"]["reprocessed"]["convicts"] is True
    assert report["verdict"] == "invalid"


@told(*TWICE, **BEFORE)
def test_at_most_once_forbids_two_outputs(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is True


@told(*TWICE, **DIRTY)
def test_whoever_asks_for_what_is_not_committed_waits_for_no_offsets(report: Report) -> None:
    """KIP-447: the member that took over went on before a transaction that was still open."""
    assert outputs_of(report) == (0, 1)
    assert report["anomalies"]["reprocessed"]["count"] == 1
    assert report["verdict"] == "valid", report["reasons"]


@told(
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


@told(*moved(ms=150), *moved(ms=150, partition=1), *TWICE, **EXACT)
def test_a_clean_election_permits_nothing(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is True


@told(
    *A,
    *OUT_X,
    took(1, at=0, ms=200),
    made(Y, at=1, ms=200),
    went_on(1),
    READ,
    final_read(X, Y, partition=1, complete=False),
    **AFTER,
)
def test_a_read_that_stopped_early_shows_two_as_well(report: Report) -> None:
    assert split(report, "two-outputs") == {"by_another": 0, "by_the_same": 1}


@told(
    *A,
    took(1, at=0, ms=100, ended="fail"),
    made(X, ms=100, ended="fail"),
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


@told(
    *A,
    took(1, at=0, ms=100, ended="fail"),
    made(X, ms=100, ended="fail"),
    *AGAIN,
    went_on(1, by=OTHER),
    READ,
    final_read(X, Y, partition=1),
    **DIRTY,
)
def test_an_aborted_output_that_readers_asked_for_is_none(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@told(
    *A,
    took(1, at=None, ms=100),
    made(X, ms=100, ended="info"),
    *AGAIN,
    went_on(1, by=OTHER),
    READ,
    final_read(X, Y, partition=1),
    **DIRTY,
)
def test_a_doubtful_output_that_readers_asked_for_may_be_aborted(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


KILLED = (*A, took(1, at=None, ms=100), made(X, ms=100, ended="info", took=None))


@told(
    *KILLED,
    polled(1, at=0, ms=200, process=HEIR),
    took(1, at=0, ms=210, by=HEIR),
    made(Y, at=1, ms=210, by=HEIR),
    went_on(1, by=HEIR),
    READ,
    final_read(X, Y, partition=1),
    **AFTER,
)
def test_the_output_of_a_killed_member_counts_where_it_is_in_the_log(report: Report) -> None:
    """Its processing never ended, so its offset is not known: the value was at one place only."""
    assert outputs_of(report) == (0, 1)
    assert report["anomalies"]["reprocessed"]["count"] == 0


@told(
    *KILLED,
    polled(1, at=0, ms=200, process=HEIR),
    took(1, at=0, ms=210, by=HEIR),
    made(Y, at=0, ms=210, by=HEIR),
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


@told(
    *STANDS_TWICE,
    *OUT_X,
    took(1, at=1, ms=200),
    made(Y, at=1, ms=200),
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


@told(
    *STANDS_TWICE,
    took(1, at=None, ms=100),
    made(X, ms=100, ended="info", took=None),
    took(1, at=1, ms=200, by=OTHER),
    made(Y, at=1, ms=200, by=OTHER),
    went_on(2),
    final_read(1, 1),
    final_read(X, Y, partition=1),
    retries=1,
    **AFTER,
)
def test_which_copy_a_killed_member_took_is_not_known(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@told(*A, *OUT_X, went_on(1), READ, final_read(X, X, partition=1), retries=1, **AFTER)
def test_an_output_that_stands_twice_is_a_duplicate(report: Report) -> None:
    assert outputs_of(report) == (0, 0)
    assert found(report, "duplicate") == [X]


@told(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    took(1, at=0, ms=100),
    made(X, at=0, ms=100),
    took(2, at=1, ms=100, by=OTHER),
    made(Y, at=1, ms=100, by=OTHER),
    went_on(2),
    final_read(1, 2),
    final_read(X, Y, partition=1),
    **AFTER,
)
def test_two_members_that_process_at_one_time_are_told_apart(report: Report) -> None:
    """An output is its own worker's."""
    assert outputs_of(report) == (0, 0)


@told(*TWICE, damage("bad-record", process=ONE), **EXACT)
def test_a_damaged_table_of_a_transformer_convicts_nobody(report: Report) -> None:
    assert report["anomalies"]["two-outputs"]["convicts"] is False
    assert report["verdict"] == "unknown"


# --- no output


NOTHING = final_read(partition=1)


@told(*A, took(1, at=0, ms=100), went_on(1), READ, NOTHING, **AFTER)
def test_an_input_that_was_committed_and_left_nothing(report: Report) -> None:
    assert outputs_of(report) == (1, 0)
    assert found(report, "no-output") == [1]
    assert split(report, "no-output") == {"never_sent": 1, "failed": 0, "in_doubt": 0}
    assert report["anomalies"]["no-output"]["convicts"] is True
    assert report["anomalies"]["skipped"]["count"] == 0
    assert "1 record was committed by the consumer group and left no output" in report["sentence"]


DOUBTFUL = (*A, took(1, at=0, ms=100, ended="info"), made(X, ms=100, ended="info"))


@told(*DOUBTFUL, went_on(1), READ, NOTHING, **EXACT)
def test_an_output_in_doubt_that_is_not_there_is_none(report: Report) -> None:
    """Its processing is in doubt, so the record is not skipped; that nothing came of it is sure."""
    assert split(report, "no-output") == {"never_sent": 0, "failed": 0, "in_doubt": 1}
    assert report["anomalies"]["no-output"]["examples"][0]["other_value"] == X
    assert report["anomalies"]["no-output"]["convicts"] is True
    assert report["anomalies"]["skipped"]["count"] == 0


@told(*DOUBTFUL, went_on(1), READ, final_read(X, partition=1), **EXACT)
def test_one_that_is_there_is_one(report: Report) -> None:
    assert outputs_of(report) == (0, 0)
    assert report["reasons"] == ["the consumer group processed nothing"]


@told(*DOUBTFUL, went_on(1), READ, NOTHING, **BEFORE)
def test_at_most_once_permits_that_nothing_is_left(report: Report) -> None:
    assert outputs_of(report) == (1, 0)
    assert report["anomalies"]["no-output"]["convicts"] is False


FAILED = (*A, took(1, at=0, ms=100, ended="fail"), made(X, ms=100, ended="fail"))


@told(*FAILED, went_on(1), READ, NOTHING, **BEFORE)
def test_an_output_that_failed_after_the_commit(report: Report) -> None:
    """The record is skipped as well: processing that failed is none, which that permits."""
    assert split(report, "no-output") == {"never_sent": 0, "failed": 1, "in_doubt": 0}
    assert split(report, "skipped") == {"polled": 0, "never_polled": 0, "failed": 1}
    assert report["reasons"] == ["the consumer group processed nothing"]


@told(*FAILED, went_on(1), READ, NOTHING, **EXACT)
def test_exactly_once_forbids_an_offset_without_its_output(report: Report) -> None:
    assert report["anomalies"]["no-output"]["convicts"] is True
    assert report["anomalies"]["skipped"]["convicts"] is True


@told(*FAILED, went_on(1), READ, final_read(X, partition=1), **DIRTY)
def test_an_aborted_output_in_the_log_is_none(report: Report) -> None:
    assert split(report, "no-output") == {"never_sent": 0, "failed": 1, "in_doubt": 0}


@told(*DOUBTFUL, went_on(1), READ, final_read(X, partition=1), **DIRTY)
def test_a_doubtful_output_in_the_log_may_be_one(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@told(*A, *OUT_X, went_on(1), READ, NOTHING, **AFTER)
def test_an_acknowledged_output_that_is_gone_is_lost_and_told_once(report: Report) -> None:
    assert outputs_of(report) == (0, 0)
    assert found(report, "lost") == [X]


@told(*A, took(1, at=0, ms=100), READ, NOTHING, **AFTER)
def test_what_was_not_committed_may_be_taken_again(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@told(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    polled(2, at=1, ms=50, process=ONE),
    took(2, at=1, ms=100),
    made(X, at=0, ms=100),
    went_on(2),
    final_read(1, 2),
    final_read(X, partition=1),
    **AFTER,
)
def test_inputs_before_the_group_s_first_are_none_of_its_business(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@told(
    *A,
    *OUT_X,
    went_on(1),
    polled(X, at=0, partition=1, ms=150, process=ONE),
    processed(X, at=0, partition=1, ms=160, process=ONE),
    committed(1, ms=400, partition=1, process=ONE, took=5),
    READ,
    final_read(X, partition=1),
    **AFTER,
)
def test_of_an_output_nothing_is_made(report: Report) -> None:
    """It comes back to the group, too."""
    assert outputs_of(report) == (0, 0)
    assert report["verdict"] == "valid", report["reasons"]


@told(*A, took(1, at=0, ms=100), went_on(1), READ, final_read(partition=1, complete=False), **AFTER)
def test_where_not_everything_was_read_nothing_is_said(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@told(
    *DOUBTFUL,
    went_on(1),
    READ,
    final_read(partition=1, log_start=5),
    topic={"retention.ms": 1000},
    **EXACT,
)
def test_an_output_in_doubt_may_have_been_deleted(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@told(
    view("kafka1", ms=-1000, isr=("kafka1",)),
    view("kafka1", ms=-1000, partition=1, isr=("kafka1",)),
    view("kafka2", ms=450, partition=1, isr=("kafka2",), epoch=1),
    *DOUBTFUL,
    went_on(1),
    READ,
    NOTHING,
    topic={"unclean.leader.election.enable": "true"},
    **EXACT,
)
def test_an_output_in_doubt_may_have_been_cut_off(report: Report) -> None:
    assert outputs_of(report) == (1, 0)
    assert report["anomalies"]["no-output"]["convicts"] is False


@told(
    *A,
    took(1, at=None, ms=100),
    went_on(1, by=OTHER),
    READ,
    NOTHING,
    damage("no-end", process=ONE),
    workers=[{"process": ONE, "role": "transformer", "exit": None}],
    **EXACT,
)
def test_of_a_worker_whose_end_nobody_saw_outputs_may_not_be_kept(report: Report) -> None:
    """Its host may have gone with the last that it recorded."""
    assert outputs_of(report) == (1, 0)
    assert report["anomalies"]["no-output"]["convicts"] is False


# --- runs, with and without transformers


@told(
    sent(1, at=0), polled(1, at=0), processed(1, at=0), committed(1), final_read(1), commit="after"
)
def test_a_group_that_sends_nothing_owes_no_output(report: Report) -> None:
    assert {"no-output", "two-outputs"}.isdisjoint(report["anomalies"])
    assert report["verdict"] == "valid", report["reasons"]


# --- what else is judged of a group of transformers


GIVEN = (
    event("assigned", process=ONE, ms=10, generation=3, text="0"),
    event("assigned", process=OTHER, ms=300, generation=4, text="0"),
)


@told(
    *GIVEN,
    *A,
    *OUT_X,
    committed(1, ms=400, took=5, process=ONE, generation=3),
    READ,
    final_read(X, partition=1),
    **EXACT,
)
def test_a_transaction_of_an_older_generation_that_was_committed(report: Report) -> None:
    assert report["anomalies"]["zombie-commit"]["convicts"] is True


@told(
    *GIVEN,
    *A,
    *OUT_X,
    committed(1, ms=400, took=5, process=ONE, generation=3, ended="fail"),
    committed(1, ms=250, took=5, process=ONE, generation=3),
    READ,
    final_read(X, partition=1),
    **EXACT,
)
def test_one_that_was_aborted_is_no_commit(report: Report) -> None:
    assert report["anomalies"]["zombie-commit"]["count"] == 0
    assert report["verdict"] == "valid", report["reasons"]


BACK = (
    *A,
    *OUT_X,
    committed(7, ms=400, took=5, process=ONE),
    committed(1, ms=500, took=5, process=OTHER, found=True),
    READ,
    final_read(X, partition=1),
)


@told(*BACK, **EXACT)
def test_offsets_of_a_transaction_that_are_set_back(report: Report) -> None:
    assert report["anomalies"]["commit-back"]["convicts"] is True


@told(*BACK, **DIRTY)
def test_they_may_be_open_still_for_who_does_not_wait(report: Report) -> None:
    assert report["anomalies"]["commit-back"]["count"] == 1
    assert report["anomalies"]["commit-back"]["convicts"] is False


@told(*BACK, committed(1, ms=390, took=50, process=ONE, ended="fail"), **EXACT)
def test_an_aborted_commit_is_no_reason_to_go_back(report: Report) -> None:
    assert report["anomalies"]["commit-back"]["convicts"] is True


def test_stories_of_transformers_have_no_other_group() -> None:
    """Else a run could have two."""
    assert story(commit="after", transformers=2).record["transformers"] == 2
