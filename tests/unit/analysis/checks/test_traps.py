"""Histories on which the checks of groups, transactions and what goes back could go wrong: what is
in doubt, told late, told twice or at one moment; each beside its twin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import (
    LOAD_MS,
    Part,
    blind,
    committed,
    doubtful,
    event,
    fault,
    final_read,
    found,
    look,
    ns_of,
    polled,
    processed,
    read,
    sent,
    view,
    with_story,
)
from tests.support.story_parts.transformers import (
    AFTER,
    EXACT,
    ONE,
    OTHER,
    READ,
    X,
    Y,
    outputs_of,
    processing,
    sent_output,
    went_on,
)
from tests.support.story_parts.transformers import A as INPUT

Report = dict[str, Any]
NINE = (*(sent(n, at=n, ms=n) for n in range(9)), final_read(*range(9)))


def places(report: Report, anomaly: str) -> list[tuple[int, int | None]]:
    """Where its rows are, and the other offset."""
    rows = report["anomalies"][anomaly]["examples"]
    return [(row["offset"], row["other_offset"]) for row in rows]


# Outputs

TWO_INPUTS = (
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=10),
    polled(1, at=0, ms=50, process=ONE),
    polled(2, at=1, ms=50, process=ONE),
    processing(1, at=0, ms=100),
    sent_output(X, at=0, ms=100),
    sent_output(Y, at=1, ms=100),
)
TWO_OUTPUTS = (went_on(2), final_read(1, 2), final_read(X, Y, partition=1))


@with_story(*TWO_INPUTS, processing(2, at=1, ms=100), *TWO_OUTPUTS, **AFTER)
def test_of_two_begun_at_one_moment_nobody_knows_whose_an_output_is(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(*TWO_INPUTS, processing(2, at=1, ms=100.5), *TWO_OUTPUTS, **AFTER)
def test_of_two_begun_one_after_the_other_everybody_does(report: Report) -> None:
    assert found(report, "two-outputs") == [1]
    assert found(report, "no-output") == [2]


NOTHING_MADE = (*INPUT, processing(1, at=0, ms=100), READ, final_read(partition=1))
DOUBTFUL_COMMIT = committed(1, ms=400, process=ONE, ended="info", took=5)


@with_story(*NOTHING_MADE, DOUBTFUL_COMMIT, **EXACT)
def test_a_commit_in_doubt_owes_no_output(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(
    *NOTHING_MADE,
    DOUBTFUL_COMMIT,
    committed(1, ms=500, process=OTHER, found=True, took=5),
    **EXACT,
)
def test_one_that_the_next_member_found_does(report: Report) -> None:
    assert found(report, "no-output") == [1]


@with_story(
    *NOTHING_MADE[:-2],
    went_on(1),
    final_read(log_start=1),
    final_read(partition=1),
    topic={"retention.ms": 1000},
    **AFTER,
)
def test_an_input_below_the_logs_start_owes_none_either(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


@with_story(
    *INPUT,
    polled(1, at=1, ms=60, process=ONE),
    processing(1, at=0, ms=100),
    sent_output(X, at=0, ms=100),
    went_on(2),
    final_read(1, 1),
    final_read(X, partition=1),
    retries=1,
    **AFTER,
)
def test_of_an_input_that_stands_twice_one_output_is_enough(report: Report) -> None:
    assert outputs_of(report) == (0, 0)


# Committed ends and watermarks

HIGH, LOW = look(9, 8, 9, ms=100, marks=[7, 7, 7]), look(6, 6, 6, ms=200)
LAST = look(9, 9, 9, ms=LOAD_MS + 1)


@with_story(
    *NINE, HIGH, LOW, look(6, 6, 6, ms=250, isr=None), look(6, 6, 6, ms=300), LAST, watched=True
)
def test_a_look_without_an_answer_does_not_make_it_fall_twice(report: Report) -> None:
    assert places(report, "end-back") == [(6, 7)]


@with_story(*NINE, HIGH, LOW, look(7, 7, 7, ms=250), look(6, 6, 6, ms=300), LAST, watched=True)
def test_one_that_shows_it_risen_does(report: Report) -> None:
    assert places(report, "end-back") == [(6, 7), (6, 7)]


FALL = (HIGH, look(6, None, 6, ms=200, isr=(2, 3), leader=2), LAST)
ALONE = view("kafka1", ms=-1000, isr=("kafka1",))
UNCLEAN = {"unclean.leader.election.enable": "true"}


@with_story(
    *NINE,
    ALONE,
    fault("kill", ms=120),
    view("kafka2", ms=150, isr=("kafka2", "kafka3"), epoch=1),
    *FALL,
    topic=UNCLEAN,
    watched=True,
)
def test_an_unclean_election_lowers_the_end_by_right(report: Report) -> None:
    assert places(report, "end-back") == [(6, 7)]
    assert report["anomalies"]["end-back"]["convicts"] is False


@with_story(
    *NINE,
    view("kafka1", ms=-1000, isr=("kafka1", "kafka2", "kafka3")),
    fault("kill", ms=120),
    view("kafka2", ms=150, isr=("kafka2", "kafka3"), epoch=1),
    *FALL,
    topic=UNCLEAN,
    watched=True,
)
def test_an_election_from_the_isr_does_not(report: Report) -> None:
    """A broker whose log is not there is passed over."""
    assert places(report, "end-back") == [(6, 7)]
    assert report["anomalies"]["end-back"]["convicts"] is True


SOON = {"server": {"replica.high.watermark.checkpoint.interval.ms": 100}, "watched": True}
LED = view("kafka1", ms=500, isr=("kafka1", "kafka2", "kafka3"), epoch=3)


def marked(mark: int | None, ms: float, isr: tuple[int, ...] | None = (1, 2, 3)) -> Part:
    """A look at which kafka1 has that watermark."""
    return look(9, 9, 9, ms=ms, marks=[mark] * 3, isr=isr)


@with_story(*NINE, LED, marked(9, 4000), marked(None, 4500), marked(8, 5000), LAST, **SOON)
def test_a_checkpoint_that_is_missing_hides_no_fall(report: Report) -> None:
    assert places(report, "watermark-back") == [(8, 9)]


@with_story(
    *NINE, LED, marked(9, 4000), marked(None, 4500), marked(8, 5000, isr=None), LAST, **SOON
)
def test_who_leads_must_be_known(report: Report) -> None:
    assert places(report, "watermark-back") == []


@with_story(*NINE, LED, blind(ms=4800, for_ms=None), marked(9, 4000), marked(8, 5000), LAST, **SOON)
def test_and_that_it_goes_on_leading(report: Report) -> None:
    assert places(report, "watermark-back") == []


# Last stable offsets

COMMITTED: dict[str, Any] = {"isolation": "read_committed", "history_format": 2}


def stable(committed_end: int, uncommitted_end: int, **more: Any) -> Part:
    """A final read that got to the last stable offset; `ms`: when it ended, `asked`: for that."""
    values = range(min(9, committed_end))
    part = final_read(*values, complete=False, position=committed_end)
    ends = {"committed_end": committed_end, "uncommitted_end": uncommitted_end}
    if "asked" in more:
        ends["since_ns"] = ns_of(more["asked"])
    rows = tuple({**row, **ends} if "event" in row else row for row in part.rows)
    return replace(part, rows=rows, ms=more.get("ms", part.ms))


TEN = tuple(sent(n, at=n, ms=n) for n in range(10))


@with_story(*TEN, read(7, 7, ms=100), read(9, 9, ms=110), stable(5, 9), **COMMITTED)
def test_what_is_gone_hides_no_fall_below_what_is_there(report: Report) -> None:
    assert places(report, "stable-back") == [(7, 5)]
    assert found(report, "lost") == []


@with_story(*TEN, read(9, 9, ms=110), stable(5, 9), **COMMITTED)
def test_what_is_gone_shows_none_itself(report: Report) -> None:
    assert places(report, "stable-back") == []


NOTED = {"event": "transaction", "process": "producer-0", "transaction": 0}
LATE_MS = LOAD_MS + 141_000
NEVER_ENDED = Part(
    table="events", rows=({**NOTED, "name": "begun", "time_ns": ns_of(LOAD_MS - 10)},), ms=0
)


@with_story(*TEN, NEVER_ENDED, stable(5, 9, ms=LATE_MS, asked=LOAD_MS + 1000), **COMMITTED)
def test_what_was_asked_before_a_long_read_may_have_ended_since(report: Report) -> None:
    assert report["anomalies"]["hanging-transaction"]["count"] == 0


@with_story(*TEN, NEVER_ENDED, stable(5, 9, ms=LATE_MS, asked=LATE_MS - 10), **COMMITTED)
def test_what_was_asked_after_it_stands(report: Report) -> None:
    assert places(report, "hanging-transaction") == [(5, None)]


# Transactions

UNKNOWN = {**COMMITTED, "retries": 9, "idempotent": True, "partitions": 2, "transformers": 1}
UNKNOWN |= {"commit": "transaction"}


def noted(name: str, ms: float) -> Part:
    """What a transformer tells of its transaction."""
    row = {**NOTED, "process": ONE, "name": name}
    return Part(table="events", rows=(row,), ms=ms)


def output(at: float) -> Part:
    """One whose transaction was sent to its end, and nobody knows which."""
    part = doubtful(X, ms=at, due=100, took=200, partition=1, process=ONE)
    return replace(part, rows=tuple({**row, "transaction": 0} for row in part.rows))


OPEN = (*INPUT, processing(1, at=0, ms=100, ended="info"), output(101), noted("begun", 100))
SEEN = (READ, final_read(X, partition=1))


@with_story(*OPEN, noted("unknown", 300), *SEEN, **UNKNOWN)
def test_an_output_whose_commit_nobody_asked_for_is_not_to_be_read(report: Report) -> None:
    assert found(report, "uncommitted-read") == [X]
    assert report["anomalies"]["uncommitted-read"]["convicts"] is True


@with_story(
    *OPEN,
    noted("commit-asked", 200),
    noted("abort-asked", 250),
    noted("unknown", 300),
    polled(X, at=0, partition=1, ms=200, process=OTHER),
    *SEEN,
    **UNKNOWN,
)
def test_one_that_is_read_at_the_moment_of_the_asking_may_be(report: Report) -> None:
    """Whatever was asked for afterwards: a commit that got no answer may have been carried out."""
    assert found(report, "uncommitted-read") == []


@with_story(
    *OPEN,
    noted("commit-asked", 200),
    noted("unknown", 300),
    polled(X, at=0, partition=1, ms=199.999, process=OTHER),
    *SEEN,
    **UNKNOWN,
)
def test_one_that_is_read_a_moment_before_is_not(report: Report) -> None:
    assert found(report, "uncommitted-read") == [X]


# Groups

GROUP: dict[str, Any] = {
    "commit": "after",
    "history_format": 2,
    "partitions": 2,
    "consumer": {"session.timeout.ms": 1000},
    "phases": [{"name": "load", "start_ns": ns_of(0), "end_ns": ns_of(30_000)}],
}
FIRST, SECOND = "group-consumer-0", "group-consumer-1"
WORKED = (
    *(part for n in range(9) for part in (polled(n, at=n), processed(n, at=n))),
    final_read(partition=1),
)


def given(text: str, process: str, generation: int | None, ms: float = 50) -> Part:
    """A member is given its partitions."""
    return event("assigned", ms=ms, process=process, text=text, generation=generation)


def unowned(report: Report) -> list[int]:
    return [row["partition"] for row in report["anomalies"]["unowned-partition"]["examples"]]


@with_story(*NINE, *WORKED, given("0", FIRST, 3), given("1", SECOND, None), **GROUP)
def test_a_partition_given_in_no_generation_may_be_of_any(report: Report) -> None:
    assert unowned(report) == []


@with_story(*NINE, *WORKED, given("0", FIRST, 3), given("0", SECOND, None), **GROUP)
def test_another_one_is_nobody_s_all_the_same(report: Report) -> None:
    assert unowned(report) == [1]


@with_story(*NINE, *WORKED, given("0", FIRST, 3), given("0, 1", SECOND, 1, ms=10_000), **GROUP)
def test_a_coordinator_that_counts_anew_ends_a_generation(report: Report) -> None:
    assert unowned(report) == []


def committing(to: int, ms: float, **more: Any) -> Part:
    """A member's commit, 5 ms long."""
    return committed(to, ms=ms, **{"took": 5, **more})


JOINED = (*NINE, *WORKED, given("0, 1", FIRST, 3))


@with_story(*JOINED, given("0, 1", SECOND, 4, ms=500), committing(9, 500, generation=3), **GROUP)
def test_a_commit_begun_as_the_next_generation_is_given_is_no_zombie_s(report: Report) -> None:
    assert places(report, "zombie-commit") == []


@with_story(
    *JOINED, given("0, 1", SECOND, 4, ms=500), committing(9, 500.001, generation=3), **GROUP
)
def test_one_begun_just_after_it_is(report: Report) -> None:
    assert places(report, "zombie-commit") == [(9, None)]


@with_story(*JOINED, committing(9, 600), committing(7, 605, found=True, process=SECOND), **GROUP)
def test_who_asks_as_the_answer_comes_may_be_told_what_was(report: Report) -> None:
    assert places(report, "commit-back") == []


@with_story(
    *JOINED, committing(9, 600), committing(7, 605.001, found=True, process=SECOND), **GROUP
)
def test_who_asks_just_after_it_may_not(report: Report) -> None:
    assert places(report, "commit-back") == [(7, 9)]
