"""Rows of small tables that nobody records: each of them is found, and its twin is none."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.stored.recorded.impossible import impossible
from harness.checkout import ROOT
from harness.history.tables import SMALL_TABLES

Row = dict[str, Any]
BEGUN = {"event": "transaction", "name": "begun", "transaction": 0, "instance": 0}
REACHED = {
    "event": "ends",
    "partition": 0,
    "log_start": 0,
    "committed_end": 9,
    "uncommitted_end": 10,
    "position": 10,
    "complete": True,
}
FAULT = {
    "fault": 0,
    "step": 0,
    "invoke_ns": 10,
    "ok_ns": 11,
    "heal_invoke_ns": 12,
    "heal_ok_ns": 13,
}
VIEW = {"time_ns": 10, "partition": 0, "leader_epoch": 0, "since_ns": 9}


def odd(table: str, *rows: Row) -> str | None:
    """What is odd in rows of a table; an event is of worker `p`."""
    always = {"process": "p", "time_ns": 20} if table == "events" else {}
    empty = dict.fromkeys(name for name, _ in SMALL_TABLES[table])
    return impossible([{**empty, **always, **row} for row in rows], table)


@pytest.mark.parametrize(
    ("table", "row", "change", "words"),
    [
        (
            "events",
            {"event": "start", "text": "{}"},
            {"event": "zz"},
            "no worker writes an event zz",
        ),
        ("events", BEGUN, {"transaction": -5}, "transaction is -5"),
        ("events", BEGUN, {"transaction": None}, "transaction without transaction"),
        ("events", BEGUN, {"instance": -1}, "instance is -1"),
        ("events", BEGUN, {"name": None}, "transaction without name"),
        ("events", BEGUN, {"name": "gone"}, "a transaction is not gone"),
        ("events", REACHED, {"partition": -1}, "partition is -1"),
        ("events", REACHED, {"partition": None}, "ends without partition"),
        ("events", REACHED, {"log_start": -5}, "log_start is -5"),
        ("events", REACHED, {"committed_end": -5}, "committed_end is -5"),
        ("events", REACHED, {"complete": None}, "ends without complete"),
        ("events", REACHED, {"position": 9}, "ends that are complete, and were not reached"),
        ("events", REACHED, {"position": None}, "ends that are complete, and were not reached"),
        (
            "events",
            {"event": "assigned", "text": "0, 2", "generation": 3},
            {"text": "x,,-1,99999999999"},
            "assigned of 'x,,-1,99999999999', which are no partitions",
        ),
        ("events", {"event": "assigned", "text": ""}, {"text": None}, "assigned without text"),
        ("events", {"event": "member", "generation": -1}, {"generation": -7}, "generation is -7"),
        (
            "events",
            {"event": "nothing", "since_ns": 19},
            {"since_ns": 21},
            "time_ns is before since_ns",
        ),
        (
            "events",
            {"event": "reset", "partition": 0, "position": -1},
            {"event": "position"},
            "position is -1",
        ),
        ("faults", FAULT, {"step": -1}, "step is -1"),
        ("faults", FAULT, {"ok_ns": 9}, "ok_ns is before invoke_ns"),
        ("faults", FAULT, {"heal_invoke_ns": 9}, "heal_invoke_ns is before invoke_ns"),
        ("faults", FAULT, {"heal_ok_ns": 11}, "heal_ok_ns is before heal_invoke_ns"),
        ("views", VIEW, {"leader_epoch": -2}, "leader_epoch is -2"),
        ("views", VIEW, {"since_ns": 11}, "time_ns is before since_ns"),
        ("watermarks", {"time_ns": 1, "end_ns": 2, "log_end": 0}, {"log_end": -1}, "log_end is -1"),
        ("watermarks", {"time_ns": 1, "end_ns": 2}, {"end_ns": 0}, "end_ns is before time_ns"),
        ("blind", {"start_ns": 5, "end_ns": None}, {"end_ns": 4}, "end_ns is before start_ns"),
        ("findings", {"kind": "torn", "count": 1}, {"kind": "tron"}, "no finding is tron"),
        ("findings", {"kind": "torn", "count": 1}, {"count": -1}, "count is -1"),
    ],
)
def test_what_nobody_records_is_found(table: str, row: Row, change: Row, words: str) -> None:
    assert odd(table, row) is None
    assert odd(table, {**row, **change}) == f"row 0 is nothing that is recorded: {words}"


def test_all_such_rows_are_counted() -> None:
    assert odd("events", BEGUN, {**BEGUN, "transaction": -5}, {**BEGUN, "instance": -1}) == (
        "row 1 is nothing that is recorded: transaction is -5, and so are 1 more"
    )


def test_a_number_of_which_nobody_says_what_it_counts_may_be_any() -> None:
    assert odd("events", {"event": "client-error", "code": -195}) is None


def test_an_event_happens_once() -> None:
    assert odd("events", BEGUN, {**BEGUN, "time_ns": 21}) is None
    assert "the same transaction stands there already" in str(odd("events", BEGUN, BEGUN))


def test_a_worker_s_end_is_its_last_event() -> None:
    end = {"event": "end", "text": "{}"}

    assert odd("events", BEGUN, end, {**BEGUN, "process": "q"}) is None
    assert "transaction behind its worker's end" in str(odd("events", end, BEGUN))
    assert "end behind its worker's end" in str(odd("events", end, {**end, "time_ns": 21}))


def test_whatever_event_a_worker_writes_is_possible() -> None:
    """By its name: of all that stand in the workers' code."""
    code = "".join(file.read_text() for file in (ROOT / "workloads").rglob("*.py"))
    names = set(re.findall(r'(?:\.event|_tell)\(\s*"([a-z-]+)"', code))

    assert {"waited", "paused", "held", "dies"} <= names
    for name in names:
        assert "no worker writes" not in str(odd("events", {"event": name})), name
