"""Cycles between transactions: the smallest of each sort, and its twin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import (
    Part,
    aborted,
    damage,
    doubtful,
    fault,
    final_read,
    found,
    moved,
    polled,
    processed,
    sent,
    with_story,
)
from tests.support.story_parts.transactions import noted

Report = dict[str, Any]
COMMITTED = {
    "isolation": "read_committed",
    "retries": 9,
    "idempotent": True,
    "history_format": 2,
    "partitions": 2,
    "transformers": 2,
}
UNCOMMITTED = {**COMMITTED, "isolation": "read_uncommitted"}
A, B, C = "transformer-0", "transformer-1", "transformer-2"
X, Y, Z = 1, 2, 3  # what each of them sends


def of(part: Part, transaction: int, **more: Any) -> Part:
    """An operation of a transaction."""
    told = {"transaction": transaction, **more}
    return replace(part, rows=tuple({**row, **told} for row in part.rows))


def ended(
    process: str, name: str = "committed", *, ms: float = 300, n: int = 0
) -> tuple[Part, ...]:
    """A transaction from its begin to its end, its commit asked for 100 ms before that."""
    asked = "abort-asked" if name == "aborted" else "commit-asked"
    return (
        noted("begun", ms - 200, n, process),
        noted(asked, ms - 100, n, process),
        noted(name, ms, n, process),
    )


def wrote(process: str, value: int, *, make: Any = sent, n: int = 0, ms: float = 100) -> Part:
    """The record of a transaction, at the offset that its value names: of even values in partition
    0, of odd ones in 1."""
    at = {"at": value} if make is sent else {}
    return of(make(value, ms=ms, took=200, partition=value % 2, process=process, **at), n)


def took(process: str, value: int, *, n: int = 0, ms: float = 150, kind: str = "ok") -> Part:
    """A record of another one that a transaction was given and processed."""
    place: dict[str, Any] = {"ms": ms, "partition": value % 2, "process": process}
    given, done = polled(value, value, **place), of(processed(value, value, **place), n)
    [row] = done.rows
    return replace(done, rows=(*given.rows, {**row, "type": kind, "took": 150}))


def log(*values: int) -> tuple[Part, ...]:
    """The final read of both partitions."""
    return tuple(
        final_read({v: v for v in values if v % 2 == partition}, partition=partition, position=9)
        for partition in (0, 1)
    )


def circular(report: Report) -> list[Any]:
    """The transactions in cycles, as rows tell them."""
    return [row["reader"] for row in report["anomalies"]["circular-flow"]["examples"]]


def counted(report: Report) -> tuple[int, ...]:
    """Transactions: committed, in cycles of writes, in cycles of any sort."""
    names = ("committed", "in_write_circles", "in_circles")
    return tuple(report["transactions"][name] for name in names)


TWO = (wrote(A, X), took(A, Y), wrote(B, Y), took(B, X, ms=160))


@with_story(*TWO, *ended(A), *ended(B), *log(X, Y), **COMMITTED)
def test_two_that_read_from_each_other_are_in_a_cycle(report: Report) -> None:
    assert circular(report) == [
        f"transaction 0 of {A}, from transaction 0 of {B}",
        f"transaction 0 of {B}, from transaction 0 of {A}",
    ]
    assert counted(report) == (2, 0, 2)
    assert report["verdict"] == "invalid"
    assert "2 transactions read from one another in a cycle" in (report["sentence"])


@with_story(*TWO, *ended(A), *ended(B), *log(X, Y), **COMMITTED)
def test_a_row_names_a_record_that_it_read_and_one_of_its_own(report: Report) -> None:
    first, _ = report["anomalies"]["circular-flow"]["examples"]
    assert (first["value"], first["partition"], first["offset"]) == (Y, 0, 2)
    assert (first["other_value"], first["other_partition"], first["other_offset"]) == (X, 1, 1)
    assert (first["sent"], first["time_s"], first["judged"]) == ("acked", 0.15, "forbidden")


@with_story(*TWO, *ended(A), *ended(B), *log(X, Y), **UNCOMMITTED)
def test_who_asks_for_what_is_not_committed_may_be_in_one(report: Report) -> None:
    assert len(circular(report)) == 2
    assert report["verdict"] == "valid"
    assert not report["anomalies"]["circular-flow"]["forbidden"]


THREE = (wrote(A, X), took(A, Z), wrote(B, Y), took(B, X, ms=160), wrote(C, Z), took(C, Y, ms=170))


@with_story(
    *THREE, *ended(A), *ended(B), *ended(C), *log(X, Y, Z), **{**COMMITTED, "transformers": 3}
)
def test_a_circle_of_three(report: Report) -> None:
    assert found(report, "circular-flow") == [X, Y, Z]
    assert report["anomalies"]["circular-flow"]["count"] == 3


@with_story(
    *(wrote(A, X), wrote(B, Y), took(B, X), wrote(C, Z), took(C, Y)),
    *(took(C, X), took(B, 4, ms=170), wrote(A, 4, n=1, ms=310)),
    *(*ended(A), *ended(B), *ended(C), *ended(A, ms=500, n=1)),
    *log(X, Y, Z, 4),
    **{**UNCOMMITTED, "transformers": 3},
)
def test_a_chain_is_none_even_where_one_reads_from_a_later_one(report: Report) -> None:
    assert circular(report) == []
    assert report["transactions"]["committed"] == 4
    assert report["verdict"] == "valid"


LATER = (wrote(A, X), took(A, Y, n=1, ms=410), wrote(B, Y, ms=310), took(B, X, ms=310))


@with_story(*LATER, *ended(A), *ended(B, ms=400), *ended(A, ms=600, n=1), *log(X, Y), **COMMITTED)
def test_two_workers_that_read_from_each_other_in_turns_are_none(report: Report) -> None:
    assert circular(report) == []
    assert report["transactions"]["committed"] == 3
    assert report["verdict"] == "valid"


@with_story(
    *(wrote(A, X), took(A, Y), wrote(B, Y, make=aborted), took(B, X, kind="fail")),
    *(*ended(A), *ended(B, "aborted")),
    *log(X),
    **COMMITTED,
)
def test_an_aborted_one_is_in_no_cycle(report: Report) -> None:
    assert circular(report) == []
    assert counted(report) == (1, 0, 0)


@with_story(wrote(A, X), took(A, X), *ended(A), *log(X), **COMMITTED)
def test_who_reads_what_it_sent_itself_is_in_none(report: Report) -> None:
    """Jepsen's precommitted-read; an uncommitted read here."""
    assert circular(report) == []
    assert found(report, "uncommitted-read") == [X]


HALF = (wrote(A, X), took(A, Y), wrote(B, Y, make=doubtful), took(B, X, kind="info"))


@with_story(*HALF, *ended(A), *ended(B, "unknown"), *log(X, Y), **COMMITTED)
def test_a_doubtful_one_was_committed_if_the_final_read_has_a_record_of_it(report: Report) -> None:
    assert found(report, "circular-flow") == [X, Y]
    assert counted(report) == (2, 0, 2)


@with_story(*HALF, *ended(A), *ended(B, "unknown"), *log(X), **COMMITTED)
def test_and_may_have_been_aborted_if_not(report: Report) -> None:
    assert circular(report) == []
    assert counted(report) == (1, 0, 0)


@with_story(*HALF, *ended(A), *ended(B, "unknown"), *log(X, Y), **UNCOMMITTED)
def test_and_if_the_final_read_has_what_was_aborted_too(report: Report) -> None:
    assert circular(report) == []
    assert counted(report) == (1, 0, 0)


NEVER = (noted("begun", 100, process=B), noted("unknown", 300, process=B))


@with_story(*HALF, *ended(A), *NEVER, *log(X, Y), **COMMITTED)
def test_one_that_nobody_asked_to_commit_is_an_uncommitted_read_and_in_none(report: Report) -> None:
    assert circular(report) == []
    assert found(report, "uncommitted-read") == [X, Y]


KILLED = (
    noted("begun", 100, process=B),
    noted("commit-asked", 200, process=B),
    noted("committed", 300, process=B),
)


@with_story(*HALF, *ended(A), *KILLED, *log(X), **COMMITTED)
def test_a_worker_killed_after_its_commit_has_read_what_it_read(report: Report) -> None:
    assert found(report, "circular-flow") == [X, Y]


# Cycles of writes: 2 and 4 in partition 0, 1 and 3 in 1.
CROSSED = (
    *(wrote("producer-0", 2), wrote("producer-0", 3)),
    *(wrote("producer-1", 4), wrote("producer-1", 1)),
    *(*ended("producer-0"), *ended("producer-1")),
)


@with_story(*CROSSED, *log(1, 2, 3, 4), **{**COMMITTED, "transformers": 0, "producers": 2})
def test_transactions_may_lie_before_each_other(report: Report) -> None:
    """Adya's G0: Kafka keeps no order between partitions."""
    assert counted(report) == (2, 2, 2)
    assert "circular-flow" not in report["anomalies"]
    assert report["verdict"] == "valid"


@with_story(
    *(wrote("producer-0", 2), wrote("producer-0", 1)),
    *(wrote("producer-1", 4), wrote("producer-1", 3)),
    *(*ended("producer-0"), *ended("producer-1")),
    *log(1, 2, 3, 4),
    **{**COMMITTED, "producers": 2},
)
def test_in_one_order_everywhere_they_are_in_no_cycle(report: Report) -> None:
    assert counted(report) == (2, 0, 0)


@with_story(
    *(wrote(B, 2, ms=60), wrote(A, 4), took(B, 4, ms=310)),
    *(*ended(A), *ended(B, ms=500)),
    *log(2, 4),
    **COMMITTED,
)
def test_one_that_lies_before_what_it_read_is_in_a_circle_of_both_sorts(report: Report) -> None:
    """Jepsen's G1c with its `ww-deps`."""
    assert circular(report) == []
    assert counted(report) == (2, 0, 2)
    assert report["verdict"] == "valid"


@with_story(
    *(wrote("producer-0", 2), wrote("producer-0", 6), wrote("producer-0", 8)),
    *(wrote("producer-1", 4, make=aborted), wrote("producer-1", 3, make=aborted)),
    *(*ended("producer-0"), *ended("producer-1", "aborted")),
    *log(2, 3, 4, 6, 8),
    **{**UNCOMMITTED, "producers": 2},
)
def test_what_was_aborted_between_two_writes_makes_no_cycle(report: Report) -> None:
    assert counted(report) == (1, 0, 0)


@with_story(*TWO, *ended(A), *ended(B), *log(X, Y), **{**COMMITTED, "history_format": 1})
def test_a_history_of_format_1_does_not_tell(report: Report) -> None:
    assert "circular-flow" in report["not_recorded"]
    assert "transactions" not in report


# Damage


@with_story(*TWO, *ended(A), *ended(B), *log(X, Y), damage("truncated-segment", A), **COMMITTED)
def test_a_circle_proves_nothing_where_a_table_of_those_who_read_is_damaged(report: Report) -> None:
    assert len(circular(report)) == 2
    assert not report["anomalies"]["circular-flow"]["convicts"]
    assert report["verdict"] == "unknown"
    assert any("circular-flow: " in reason for reason in report["reasons"])


@with_story(
    *TWO,
    *(*ended(A), *ended(B)),
    *(sent(7, 7, partition=1), *log(X, Y, 7)),
    damage("truncated-segment", "producer-0"),
    **COMMITTED,
)
def test_it_stands_where_that_of_a_producer_is(report: Report) -> None:
    assert report["anomalies"]["circular-flow"]["convicts"]
    assert report["verdict"] == "invalid"


@with_story(wrote(A, X), took(A, Y), took(B, X), *ended(A), *ended(B), *log(X, Y), **COMMITTED)
def test_without_the_send_nobody_knows_from_whom_a_record_was(report: Report) -> None:
    """As when a table was left out: fewer cycles, none that was not there."""
    assert circular(report) == []


# What permits one


@with_story(
    *TWO,
    *(*ended(A), *ended(B), *log(X, Y)),
    *moved(ms=60),
    fault("kill", ms=50, for_ms=2000),
    server={"unclean.leader.election.enable": True},
    **COMMITTED,
)
def test_one_after_the_coordinators_log_may_have_been_set_back_is_permitted(report: Report) -> None:
    assert report["anomalies"]["circular-flow"]["judged"]["permitted"] == 2


@with_story(
    *TWO,
    *(*ended(A), *ended(B), *log(X, Y)),
    *moved(ms=460),
    fault("kill", ms=450, for_ms=2000),
    server={"unclean.leader.election.enable": True},
    **COMMITTED,
)
def test_one_before_that_is_not(report: Report) -> None:
    assert report["anomalies"]["circular-flow"]["judged"]["forbidden"] == 2
