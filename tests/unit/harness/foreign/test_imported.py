"""What an import makes of lines: operations, values, ends; each with the twin that is otherwise."""

from __future__ import annotations

from collections import Counter

import pyarrow.parquet as pq
import pytest

from harness.foreign import telling
from harness.foreign.about import About
from harness.history.sealing import seal
from tests.support.lines import (
    ZERO_MS,
    acked,
    at,
    began,
    ended,
    ends,
    given,
    imported,
    pair,
    read,
    rows,
    summed,
    written,
)

SENDS = [acked(10, "a", 0), acked(20, "b", 1)]


def ns(ms: int) -> int:
    return (ZERO_MS + ms) * 10**6


def test_a_send_without_begin_began_at_its_first_line_or_later(tmp_path):
    run = pair(tmp_path, [at(5, "startup_complete"), *SENDS], [given(30, 0), read(31, "a", 0)])

    told = [(r["type"], r["offset"], r["start_ns"], r["end_ns"]) for r in rows(run, "p")]

    assert [("ok", 0, ns(5), ns(10)), ("ok", 1, ns(5), ns(20))] == told
    assert "begins" in run.read().untold


def test_a_begin_is_the_begin_and_one_that_never_ended_is_open(tmp_path):
    lines = [began(6, "b"), began(3, "a"), acked(10, "a", 0), began(12, "c")]
    error = at(15, "producer_send_error", key=None, value="b", exception="x.TimeoutException")
    run = pair(tmp_path, [*lines, error], [read(31, "a", 0)])

    told = [
        (r["value"] & 0xFF, r["type"], r["start_ns"], r["end_ns"], r["error"])
        for r in rows(run, "p")
    ]

    assert told == [
        (0, "ok", ns(3), ns(10), None),
        (1, "info", ns(6), ns(15), "TimeoutException"),
        (2, "info", ns(12), None, None),
    ]
    assert "begins" not in run.read().untold


def test_only_who_says_that_it_is_certain_has_failed(tmp_path):
    error = at(15, "producer_send_error", value="b", exception="E", certain=True)
    run = pair(tmp_path, [*SENDS[:1], error], [read(31, "a", 0)])

    assert ["ok", "fail"] == [row["type"] for row in rows(run, "p")]


@pytest.mark.parametrize(("told", "type_"), [(None, "info"), ("0", "info"), ("all", "ok")])
def test_an_ack_without_offset_is_one_only_where_acks_were_asked_for(tmp_path, told, type_):
    about = About(producer={"acks": told} if told else {})
    run = pair(tmp_path, [acked(10, "a", -1)], [read(31, "a", 0)], about)

    [row] = rows(run, "p")

    assert (type_, None) == (row["type"], row["offset"])


def test_texts_are_kept_and_one_that_nobody_sent_has_a_value_of_nobody(tmp_path):
    run = pair(tmp_path, SENDS, [read(31, "a", 0), read(31, "ü\n{}", 5)])

    texts = pq.read_table(run.history / "values.parquet").to_pylist()
    read_back = [row["value"] for row in rows(run, "c")]

    assert {0: "a", 1: "b", 3999 << 40: "ü\n{}"} == {row["value"]: row["text"] for row in texts}
    assert [0, 3999 << 40] == read_back


@pytest.mark.parametrize(
    ("reads", "complete"),
    [
        ([read(31, "a", 0), read(31, "b", 1), ended(40)], (True, 0, 2)),
        ([read(31, "a", 0), ended(40)], (False, 0, 1)),  # an acked offset lies beyond
        ([read(31, "b", 1), ended(40)], (True, 1, 2)),  # it began there: what is below is unknown
        ([read(15, "a", 0), read(15, "b", 1)], (False, 0, 2)),  # it ended before the last ack
        ([summed(31, 0, 1), ended(40)], (False, None, None)),  # of values nobody knows
    ],
)
def test_a_final_read_is_complete_only_if_nothing_known_lies_outside(tmp_path, reads, complete):
    assert {0: complete} == ends(pair(tmp_path, SENDS, reads))


def test_where_an_ack_told_no_offset_nobody_knows_how_far_it_had_to_get(tmp_path):
    sends = [acked(10, "a", 0), acked(20, "b", -1)]

    assert {0: (False, 0, 1)} == ends(pair(tmp_path, sends, [read(31, "a", 0), ended(40)]))


def test_a_partition_of_which_it_read_nothing_is_complete_only_if_it_was_given_it(tmp_path):
    reads = [given(30, 0, 1), read(31, "a", 0), read(31, "b", 1), ended(40)]

    assert {0: (True, 0, 2), 1: (True, 0, 0)} == ends(pair(tmp_path, SENDS, reads))
    (tmp_path / "other").mkdir()
    sends = [*SENDS, acked(21, "c", 0, partition=1)]
    assert (False, 0, 0) == ends(pair(tmp_path / "other", sends, reads))[1]


def test_an_offset_passed_over_makes_it_incomplete_from_there_on(tmp_path):
    sends = [*SENDS, acked(22, "c", 2)]
    reads = [read(31, "a", 0), read(31, "c", 2), ended(40)]

    assert {0: (False, 0, 1)} == ends(pair(tmp_path, sends, reads))


@pytest.mark.parametrize(("position", "complete"), [(None, True), (9, True), (8, False)])
def test_a_reader_may_tell_its_end_itself(tmp_path, position, complete):
    end = at(40, "read_to_end", partition=0, log_start=0, log_end=9, position=position)
    run = pair(tmp_path, SENDS, [read(31, "a", 0), end])

    assert (complete, 0, position or 9) == ends(run)[0]


def test_two_readers_of_one_group_are_one_final_read(tmp_path):
    producer = written(tmp_path / "p.jsonl", [*SENDS, acked(25, "c", 0, partition=1)])
    one = written(tmp_path / "one.jsonl", [read(31, "a", 0), read(31, "b", 1), ended(40)])
    other = written(tmp_path / "other.jsonl", [read(31, "c", 0, partition=1), ended(40)])
    both = [str(one), str(other)]

    run = imported(tmp_path / "results", producer, one, other, final=both)

    assert {0: (True, 0, 2), 1: (True, 0, 1)} == ends(run)


def test_who_is_not_the_final_read_reads_and_was_moved_where_it_was_given_partitions(tmp_path):
    producer = written(tmp_path / "p.jsonl", SENDS)
    lines = [given(30, 0), read(31, "a", 0), given(35, 0), read(36, "a", 0)]
    run = imported(tmp_path / "results", producer, written(tmp_path / "c.jsonl", lines))

    events = pq.read_table(run.history / "events.parquet").to_pylist()

    assert ["read", "read"] == [row["f"] for row in rows(run, "c")]
    assert [(ns(31), 0), (ns(36), 0)] == [(e["time_ns"], e["position"]) for e in events]


def test_an_imported_run_is_sealed_and_told_again_as_the_same_lines(tmp_path):
    lines = [
        *({**began(10, "a", partition=0), "process": "p"}, {**acked(20, "a", 0), "process": "p"}),
        {**read(31, "a", 0), "process": "c"},
    ]
    run = imported(tmp_path / "results", written(tmp_path / "all.jsonl", lines))
    assert 2 == seal(run.path).operations

    left_out: Counter[str] = Counter()
    told = written(tmp_path / "again.jsonl", telling.export(run.path, left_out))
    again = imported(tmp_path / "again" / "results", told)

    for process in ("p", "c"):
        both = [[{**row, "run_id": None} for row in rows(each, process)] for each in (run, again)]
        assert both[0] == both[1]
    assert not left_out
