"""Rows that no recorder writes: each of them is found, and its twin is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from analysis.stored.recorded.operations import oddity
from analysis.stored.recorded.rows import lacks, strange
from harness.history.tables import OPERATION_COLUMNS, schema

ROW = {
    "run_id": "told/run",
    "process": "p",
    "f": "send",
    "type": "ok",
    "partition": 0,
    "value": 7,
    "offset": 7,
    "intended_ns": 10,
    "start_ns": 11,
    "end_ns": 12,
}


def odd(*changes: Mapping[str, Any], split: bool = False) -> str | None:
    """What is odd in rows that are like ROW but for these changes; split: a row group each."""
    rows = [{**ROW, "id": number, **change} for number, change in enumerate(changes)]
    wanted = schema(OPERATION_COLUMNS)
    made = [pa.Table.from_pylist([row], wanted) for row in rows]
    groups = made if split else [pa.concat_tables(made)]
    return oddity(groups, run_id="told/run", process="p", partitions=2)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run_id": None}, "rows whose run_id is not told/run"),
        ({"run_id": "other/1"}, "rows whose run_id is not told/run"),
        ({"process": "q"}, "rows whose process is not p"),
        ({"process": None}, "rows whose process is not p"),
        ({"f": "sned"}, "rows whose f is sned"),
        ({"f": None}, "rows whose f is None"),
        ({"f": "read", "type": "info"}, "a read that is not ok"),
        ({"f": "committed", "offset": None}, "a committed that is ok, without offset"),
        ({"f": "commit", "offset": None}, "a commit that is ok, without offset"),
        ({"value": None}, "a send without value"),
        ({"f": "lookup", "value": None}, "a lookup without value"),
        ({"type": "fail"}, "a send that is not ok, with an offset"),
        ({"intended_ns": 12}, "a send that began before it was due"),
        ({"type": "okay"}, "rows whose type is okay"),
        ({"partition": None}, "rows without partition"),
        ({"partition": -1}, "rows whose partition is -1"),
        ({"partition": 2}, "rows of partition 2, and the topic has 2"),
        ({"id": None}, "rows without id"),
        ({"id": -1}, "rows whose id is -1"),
        ({"id": 0}, "not in the order of their ids"),
        ({"value": -1}, "rows whose value is -1"),
        ({"offset": -1}, "rows whose offset is -1"),
        ({"broker": -1}, "rows whose broker is -1"),
        ({"start_ns": None}, "rows without start_ns"),
        ({"start_ns": 0}, "rows whose start_ns is 0"),
        ({"start_ns": 10}, "start times that go back (send)"),
        ({"intended_ns": None}, "rows without intended_ns"),
        ({"end_ns": 10}, "operations that ended before they began"),
        ({"end_ns": None}, "operations that never ended and have an answer"),
    ],
)
def test_what_no_recorder_writes_is_found(
    change: Mapping[str, Any], words: str, split: bool
) -> None:
    why = odd({}, change, split=split)

    assert why is not None
    assert words in why


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"partition": 1},
        {"id": 5},
        {"offset": None, "broker": None, "error": "_TIMED_OUT"},
        {"f": "read", "value": None},  # none of ours
        {"f": "process", "type": "info", "offset": None, "end_ns": None},
        {"type": "info", "offset": None, "end_ns": None},
        {"start_ns": 12, "end_ns": 13},
        {"end_ns": 11},  # end times may go back
        {"f": "read", "start_ns": 10},  # of several kinds, one may be written down late
    ],
)
def test_what_a_recorder_writes_is_not(change: Mapping[str, Any], split: bool) -> None:
    assert odd({}, change, split=split) is None


def test_nothing_is_nothing() -> None:
    assert oddity([], run_id="told/run", process="p", partitions=1) is None


def test_a_small_table_must_have_what_sealing_writes_in_each_row() -> None:
    row = {"run_id": "told/run", "isr": ["kafka1"], "leader": None}

    assert lacks([row], ("isr",), "told/run") is None
    assert lacks([{**row, "isr": None}], ("isr",), "told/run") == "row 0 has no isr"
    assert lacks([row, {**row, "isr": [None]}], ("isr",), "told/run") == "row 1 has no isr"
    assert (
        lacks([row], (), "told/other") == "row 0 is of run told/run, but run.json says told/other"
    )


@pytest.mark.parametrize(
    ("span_ns", "another"),
    [((11, 12), False), ((12, 12), True), ((11, 11), True), ((0, 10), True), ((0, 20), False)],
)
def test_operations_of_another_time_than_the_run_s_are_found(
    span_ns: tuple[int, int], another: bool
) -> None:
    """From 11 to 12 ns; when they should have begun does not matter."""
    group = pa.Table.from_pylist([{**ROW, "id": 0}], schema(OPERATION_COLUMNS))
    why = oddity([group], run_id="told/run", process="p", partitions=2, span_ns=span_ns)

    words = "it holds what no worker records: operations of another time than run.json's phases"
    assert why == (words if another else None)


@pytest.mark.parametrize("change", [{"time_ns": 9}, {"end_ns": 21}])
def test_so_are_rows_of_small_tables(change: Mapping[str, Any]) -> None:
    row = {"time_ns": 10, "end_ns": 20, "since_ns": None, "text": "x"}

    assert strange([row], (10, 20)) is None
    assert strange([row, {**row, **change}], (10, 20)) == (
        "row 1 is of another time than run.json's phases"
    )
