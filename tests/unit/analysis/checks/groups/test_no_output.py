"""No output: the smallest history, and its twins with one."""

from __future__ import annotations

from tests.support.histories import (
    committed,
    damage,
    final_read,
    found,
    polled,
    processed,
    sent,
    split,
    view,
    with_story,
)
from tests.support.story_parts.transformers import (
    AFTER,
    BEFORE,
    DIRTY,
    EXACT,
    ONE,
    OTHER,
    OUT_X,
    READ,
    A,
    Report,
    X,
    outputs_of,
    processing,
    sent_output,
    went_on,
)

NOTHING = final_read(partition=1)


@with_story(*A, processing(1, at=0, ms=100), went_on(1), READ, NOTHING, **AFTER)
def test_an_input_that_was_committed_and_left_nothing(report: Report) -> None:
    assert outputs_of(report) == (1, 0)
    assert found(report, "no-output") == [1]
    assert split(report, "no-output") == {"never_sent": 1, "failed": 0, "in_doubt": 0}
    assert report["anomalies"]["no-output"]["convicts"] is True
    assert report["anomalies"]["skipped"]["count"] == 0
    assert "1 record was committed by the consumer group and left no output" in report["sentence"]


DOUBTFUL = (*A, processing(1, at=0, ms=100, ended="info"), sent_output(X, ms=100, ended="info"))


@with_story(*DOUBTFUL, went_on(1), READ, NOTHING, **EXACT)
def test_an_output_in_doubt_that_is_not_there_is_none(report: Report) -> None:
    """Its processing is in doubt, so the record is not skipped; that nothing came of it is sure."""
    assert split(report, "no-output") == {"never_sent": 0, "failed": 0, "in_doubt": 1}
    assert report["anomalies"]["no-output"]["examples"][0]["other_value"] == X
    assert report["anomalies"]["no-output"]["convicts"] is True
    assert report["anomalies"]["skipped"]["count"] == 0


@with_story(*DOUBTFUL, went_on(1), READ, final_read(X, partition=1), **EXACT)
def test_one_that_is_there_is_one(report: Report) -> None:
    assert outputs_of(report) == (0, 0)
    assert report["reasons"] == ["the consumer group processed nothing"]


@with_story(*DOUBTFUL, went_on(1), READ, NOTHING, **BEFORE)
def test_at_most_once_permits_that_nothing_is_left(report: Report) -> None:
    assert outputs_of(report) == (1, 0)
    assert report["anomalies"]["no-output"]["convicts"] is False


FAILED = (*A, processing(1, at=0, ms=100, ended="fail"), sent_output(X, ms=100, ended="fail"))


@with_story(*FAILED, went_on(1), READ, NOTHING, **BEFORE)
def test_an_output_that_failed_after_the_commit(report: Report) -> None:
    """The record is skipped as well: processing that failed is none, which that permits."""
    assert split(report, "no-output") == {"never_sent": 0, "failed": 1, "in_doubt": 0}
    assert split(report, "skipped") == {
        **dict.fromkeys(("polled", "never_polled", "before_first"), 0),
        "failed": 1,
    }
    assert report["reasons"] == ["the consumer group processed nothing"]


@with_story(*FAILED, went_on(1), READ, NOTHING, **EXACT)
def test_exactly_once_forbids_an_offset_without_its_output(report: Report) -> None:
    assert report["anomalies"]["no-output"]["convicts"] is True
    assert report["anomalies"]["skipped"]["convicts"] is True


@with_story(*FAILED, went_on(1), READ, final_read(X, partition=1), **DIRTY)
def test_an_aborted_output_in_the_log_is_none(report: Report) -> None:
    assert split(report, "no-output") == {"never_sent": 0, "failed": 1, "in_doubt": 0}


@with_story(*DOUBTFUL, went_on(1), READ, final_read(X, partition=1), **DIRTY)
def test_a_doubtful_output_in_the_log_may_be_one(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(*A, *OUT_X, went_on(1), READ, NOTHING, **AFTER)
def test_an_acknowledged_output_that_is_gone_is_lost_and_told_once(report: Report) -> None:
    assert outputs_of(report) == (0, 0)
    assert found(report, "lost") == [X]


@with_story(*A, processing(1, at=0, ms=100), READ, NOTHING, **AFTER)
def test_what_was_not_committed_may_be_taken_again(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    polled(2, at=1, ms=50, process=ONE),
    processing(2, at=1, ms=100),
    sent_output(X, at=0, ms=100),
    went_on(2),
    final_read(1, 2),
    final_read(X, partition=1),
    **AFTER,
)
def test_inputs_before_the_group_s_first_are_none_of_its_business(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(
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


@with_story(
    *A,
    processing(1, at=0, ms=100),
    went_on(1),
    READ,
    final_read(partition=1, complete=False),
    **AFTER,
)
def test_where_not_everything_was_read_nothing_is_said(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(
    *DOUBTFUL,
    went_on(1),
    READ,
    final_read(partition=1, log_start=5),
    topic={"retention.ms": 1000},
    **EXACT,
)
def test_an_output_in_doubt_may_have_been_deleted(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(
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


@with_story(
    *A,
    processing(1, at=None, ms=100),
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


@with_story(
    sent(1, at=0), polled(1, at=0), processed(1, at=0), committed(1), final_read(1), commit="after"
)
def test_a_group_that_sends_nothing_owes_no_output(report: Report) -> None:
    assert {"no-output", "two-outputs"}.isdisjoint(report["anomalies"])
    assert report["verdict"] == "valid", report["reasons"]
