"""What an import makes of lines: operations, values, ends; each with the twin that is otherwise."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from harness.foreign import export_lines
from harness.foreign.about import About
from harness.foreign.imported_run import ImportRequest
from harness.foreign.importing import import_files
from harness.history.sealing import seal
from tests.support.foreign_lines import (
    ZERO_MS,
    acked,
    assigned,
    began,
    ended,
    ends,
    imported,
    imported_pair,
    read,
    summed,
    tool_line,
    write_lines,
)
from tests.support.recorded_runs import sealed_operations

SENDS = [acked(10, "a", 0), acked(20, "b", 1)]


def ns(ms: int) -> int:
    return (ZERO_MS + ms) * 10**6


def test_a_send_without_begin_began_at_its_first_line_or_later(tmp_path):
    run = imported_pair(
        tmp_path, [tool_line(5, "startup_complete"), *SENDS], [assigned(30, 0), read(31, "a", 0)]
    )

    told = [
        (r["type"], r["offset"], r["start_ns"], r["end_ns"])
        for r in sealed_operations(run.path, "p")
    ]

    assert [("ok", 0, ns(5), ns(10)), ("ok", 1, ns(5), ns(20))] == told
    assert "begins" in run.read().untold


def test_a_begin_is_the_begin_and_one_that_never_ended_is_open(tmp_path):
    lines = [began(6, "b"), began(3, "a"), acked(10, "a", 0), began(12, "c")]
    error = tool_line(
        15, "producer_send_error", key=None, value="b", exception="x.TimeoutException"
    )
    run = imported_pair(tmp_path, [*lines, error], [read(31, "a", 0)])

    told = [
        (r["value"] & 0xFF, r["type"], r["start_ns"], r["end_ns"], r["error"])
        for r in sealed_operations(run.path, "p")
    ]

    assert told == [
        (0, "ok", ns(3), ns(10), None),
        (1, "info", ns(6), ns(15), "TimeoutException"),
        (2, "info", ns(12), None, None),
    ]
    assert "begins" not in run.read().untold


def test_only_who_says_that_it_is_certain_has_failed(tmp_path):
    error = tool_line(15, "producer_send_error", value="b", exception="E", certain=True)
    run = imported_pair(tmp_path, [*SENDS[:1], error], [read(31, "a", 0)])

    assert ["ok", "fail"] == [row["type"] for row in sealed_operations(run.path, "p")]


@pytest.mark.parametrize(("told", "type_"), [(None, "info"), ("0", "info"), ("all", "ok")])
def test_an_ack_without_offset_is_one_only_where_acks_were_asked_for(tmp_path, told, type_):
    about = About(producer={"acks": told} if told else {})
    run = imported_pair(tmp_path, [acked(10, "a", -1)], [read(31, "a", 0)], about)

    [row] = sealed_operations(run.path, "p")

    assert (type_, None) == (row["type"], row["offset"])


def test_texts_are_kept_and_one_that_nobody_sent_has_a_value_of_nobody(tmp_path):
    run = imported_pair(tmp_path, SENDS, [read(31, "a", 0), read(31, "ü\n{}", 5)])

    texts = pq.read_table(run.history / "values.parquet").to_pylist()
    read_back = [row["value"] for row in sealed_operations(run.path, "c")]

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
    assert {0: complete} == ends(imported_pair(tmp_path, SENDS, reads))


def test_where_an_ack_told_no_offset_nobody_knows_how_far_it_had_to_get(tmp_path):
    sends = [acked(10, "a", 0), acked(20, "b", -1)]

    assert {0: (False, 0, 1)} == ends(imported_pair(tmp_path, sends, [read(31, "a", 0), ended(40)]))


def test_a_partition_of_which_it_read_nothing_is_complete_only_if_it_was_given_it(tmp_path):
    reads = [assigned(30, 0, 1), read(31, "a", 0), read(31, "b", 1), ended(40)]

    assert {0: (True, 0, 2), 1: (True, 0, 0)} == ends(imported_pair(tmp_path, SENDS, reads))
    (tmp_path / "other").mkdir()
    sends = [*SENDS, acked(21, "c", 0, partition=1)]
    assert (False, 0, 0) == ends(imported_pair(tmp_path / "other", sends, reads))[1]


def test_an_offset_passed_over_makes_it_incomplete_from_there_on(tmp_path):
    sends = [*SENDS, acked(22, "c", 2)]
    reads = [read(31, "a", 0), read(31, "c", 2), ended(40)]

    assert {0: (False, 0, 1)} == ends(imported_pair(tmp_path, sends, reads))


@pytest.mark.parametrize(("position", "complete"), [(None, True), (9, True), (8, False)])
def test_a_reader_may_tell_its_end_itself(tmp_path, position, complete):
    end = tool_line(40, "read_to_end", partition=0, log_start=0, log_end=9, position=position)
    run = imported_pair(tmp_path, SENDS, [read(31, "a", 0), end])

    assert (complete, 0, position or 9) == ends(run)[0]


@pytest.mark.parametrize(
    ("offsets", "final"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, 0], [0]),  # it read 1 live
        ([0, 1, 2, 1], [0, 1]),
        ([0, 1, 0, 1, 2, 1, 2], [0, 1, 2]),
        ([2, 1, 0], [0]),
    ],
)
def test_who_goes_back_had_read_live_what_lies_there_and_behind(tmp_path, offsets, final):
    texts = "abc"
    reads = [read(30 + n, texts[offset], offset) for n, offset in enumerate(offsets)]
    run = imported_pair(tmp_path, [*SENDS, acked(25, "c", 2)], [assigned(29, 0), *reads, ended(60)])

    told = sealed_operations(run.path, "c")

    assert offsets == [row["offset"] for row in told]
    assert final == [row["offset"] for row in told if row["f"] == "final-read"]
    assert {"read", "final-read"} >= {row["f"] for row in told}
    whole = final == [0, 1, 2]
    assert {0: (whole, 0, final[-1] + 1)} == ends(run)


def test_what_it_went_back_for_is_told_of_each_partition(tmp_path):
    sends = [*SENDS, acked(21, "c", 0, partition=1), acked(22, "d", 1, partition=1)]
    reads = [
        *(read(30, "a", 0), read(31, "c", 0, partition=1), read(32, "b", 1)),
        *(read(33, "d", 1, partition=1), read(34, "a", 0), ended(60)),
    ]
    run = imported_pair(tmp_path, sends, reads)

    final = [
        (r["partition"], r["offset"])
        for r in sealed_operations(run.path, "c")
        if r["f"] == "final-read"
    ]

    assert [(1, 0), (1, 1), (0, 0)] == final
    assert {0: (False, 0, 1), 1: (True, 0, 2)} == ends(run)


def test_what_it_read_live_and_nobody_acked_was_there_too(tmp_path):
    reads = [read(31, "a", 0), read(32, "never acked", 1), read(33, "a", 0), ended(60)]

    assert {0: (False, 0, 1)} == ends(imported_pair(tmp_path, SENDS[:1], reads))


@pytest.mark.parametrize("turn", [1, -1])
def test_another_of_its_group_that_goes_back_begins_a_pass_too(tmp_path, turn):
    producer = write_lines(tmp_path / "p.jsonl", SENDS)
    one = write_lines(tmp_path / "one.jsonl", [read(31, "a", 0), read(32, "b", 1), ended(50)])
    other = write_lines(tmp_path / "other.jsonl", [read(33, "a", 0), ended(50)])
    final = [str(one), str(other)][::turn]
    run = imported(tmp_path / "results", producer, one, other, final=final)

    assert ["read", "read"] == [row["f"] for row in sealed_operations(run.path, "one")]
    assert ["final-read"] == [row["f"] for row in sealed_operations(run.path, "other")]
    assert {0: (False, 0, 1)} == ends(run)


def test_the_end_of_a_pass_that_was_not_the_last_is_none(tmp_path):
    end = tool_line(33, "read_to_end", partition=0, log_start=0, log_end=2)
    early = [read(31, "a", 0), read(32, "b", 1)]
    back = [read(41, "a", 0), ended(60)]

    assert {0: (False, 0, 1)} == ends(imported_pair(tmp_path, SENDS, [*early, end, *back]))
    (tmp_path / "ended").mkdir()
    again = {**end, "timestamp": end["timestamp"] + 20, "log_end": 1}
    run = imported_pair(tmp_path / "ended", SENDS, [*early, end, *back[:-1], again])
    assert {0: (True, 0, 1)} == ends(run)


def test_the_end_of_a_read_before_the_last_ack_is_none(tmp_path):
    end = tool_line(33, "read_to_end", partition=0, log_start=0, log_end=2)
    reads = [read(31, "a", 0), read(32, "b", 1), end]
    sends = [*SENDS, acked(30, "c", 0, partition=1)]

    assert {0: (True, 0, 2), 1: (False, 0, 0)} == ends(imported_pair(tmp_path, sends, reads))
    (tmp_path / "late").mkdir()
    late = [*SENDS, acked(34, "c", 2)]
    assert {0: (False, 0, 2)} == ends(imported_pair(tmp_path / "late", late, reads))


def test_a_final_reader_that_is_named_twice_is_one(tmp_path):
    producer = write_lines(tmp_path / "p.jsonl", SENDS)
    consumer = write_lines(tmp_path / "c.jsonl", [read(31, "a", 0), read(32, "b", 1)])
    request = ImportRequest(name="twice", results=tmp_path / "results", command="import")

    _, summary = import_files([producer, consumer], [str(consumer), "c"], request)

    assert summary.endswith("2 records read, 2 by the final read")


def test_two_readers_of_one_group_are_one_final_read(tmp_path):
    producer = write_lines(tmp_path / "p.jsonl", [*SENDS, acked(25, "c", 0, partition=1)])
    one = write_lines(tmp_path / "one.jsonl", [read(31, "a", 0), read(31, "b", 1), ended(40)])
    other = write_lines(tmp_path / "other.jsonl", [read(31, "c", 0, partition=1), ended(40)])
    both = [str(one), str(other)]

    run = imported(tmp_path / "results", producer, one, other, final=both)

    assert {0: (True, 0, 2), 1: (True, 0, 1)} == ends(run)


def test_who_is_not_the_final_read_reads_and_was_moved_where_it_was_given_partitions(tmp_path):
    producer = write_lines(tmp_path / "p.jsonl", SENDS)
    lines = [assigned(30, 0), read(31, "a", 0), assigned(35, 0), read(36, "a", 0)]
    run = imported(tmp_path / "results", producer, write_lines(tmp_path / "c.jsonl", lines))

    events = pq.read_table(run.history / "events.parquet").to_pylist()

    assert ["read", "read"] == [row["f"] for row in sealed_operations(run.path, "c")]
    assert [(ns(31), 0), (ns(36), 0)] == [(e["time_ns"], e["position"]) for e in events]


def test_a_name_that_is_no_text_is_written_out(tmp_path):
    request = ImportRequest(
        name="odd", results=tmp_path / "results", command="import p\udcff.jsonl"
    )
    run, _ = import_files([write_lines(tmp_path / "p.jsonl", SENDS)], [], request)

    assert "import p\\udcff.jsonl" == run.read().command


def test_what_was_read_is_told_before_its_end_of_the_same_time(tmp_path):
    end = tool_line(31, "read_to_end", partition=0, log_start=0, log_end=2)
    run = imported_pair(tmp_path, SENDS, [read(31, "a", 0), read(31, "b", 1), end])

    told = [json.loads(line)["name"] for line in export_lines.export(run.path, Counter())]

    assert ["record_data", "record_data", "read_to_end"] == told[-3:]


def test_an_imported_run_is_sealed_and_told_again_as_the_same_lines(tmp_path):
    lines = [
        *({**began(10, "a", partition=0), "process": "p"}, {**acked(20, "a", 0), "process": "p"}),
        {**read(31, "a", 0), "process": "c"},
    ]
    run = imported(tmp_path / "results", write_lines(tmp_path / "all.jsonl", lines))
    assert 2 == seal(run.path).operations

    left_out: Counter[str] = Counter()
    told = write_lines(tmp_path / "again.jsonl", export_lines.export(run.path, left_out))
    again = imported(tmp_path / "again" / "results", told)

    for process in ("p", "c"):
        both = [
            [{**row, "run_id": None} for row in sealed_operations(each.path, process)]
            for each in (run, again)
        ]
        assert both[0] == both[1]
    assert not left_out
