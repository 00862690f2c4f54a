"""Random histories as tables have them: operations, transactions' notes and what a driver knows."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from analysis.frames.operations import OFFSET_BITS
from analysis.stored import group_life
from tests.support.histories import LOAD_START_NS
from tests.support.oracle import LOAD_MS, MS, THRESHOLD_MS, Case, Row
from tests.support.oracles.outputs import due


def sealed_rows(cases: Sequence[Case]) -> list[Row]:
    """The operations of all, numbered."""
    return [
        _sealed_row(row, {"run_id": str(number), "id": id_})
        for number, case in enumerate(cases)
        for id_, row in enumerate(case.rows)
    ]


def _sealed_row(row: Row, known: Row) -> Row:
    start_ns = LOAD_START_NS + row["start"] * MS
    end_ns = None if row["end"] is None else LOAD_START_NS + row["end"] * MS
    return {
        **row,
        **known,
        "intended_ns": LOAD_START_NS + due(row) * MS,
        "start_ns": start_ns,
        "end_ns": end_ns,
    }


def note_rows(cases: Sequence[Case]) -> list[Row]:
    """What workers told of transactions."""
    return [
        {**note, "run_id": str(n), "time_ns": LOAD_START_NS + note["time"] * MS}
        for n, case in enumerate(cases)
        for note in case.notes
    ]


def run_row(case: Case, number: int) -> Row:
    """A row of schema.RUNS, as far as the checks ask."""
    return {
        "run_id": str(number),
        "load_start_ns": LOAD_START_NS,
        "load_end_ns": LOAD_START_NS + LOAD_MS * MS,
        "threshold_ns": THRESHOLD_MS * MS,
        "bucket_ns": 100 * MS,
        "tailing": case.tailing,
        "grouped": case.grouped,
        "ends": case.ends,
        "one_copy": case.one_copy,
        "transactional": case.transactional,
        "transforms": case.transforms,
        "dirty": case.dirty,
        "dumps": case.dumps,
        "moves": [_move(move) for move in case.moves],
        "outdated": group_life.outdated(_told(case)),
        "to_end": case.to_end,
        "dense": case.dense,
        "corrupt": [partition << OFFSET_BITS | offset for partition, offset in case.corrupt],
        "faults": [],
        "leaders": [],
    }


def _told(case: Case) -> Any:
    """The case's events, as a stored run has them."""
    events = [
        {**each, "time_ns": LOAD_START_NS + each["time"] * MS, "text": "0"} for each in case.events
    ]
    return SimpleNamespace(grouped=True, scenario={"workload": {}}, events=events)


def _move(move: Row) -> Row:
    written_ns = LOAD_START_NS + move["time"] * MS
    return {**move, "since_ns": written_ns - move["late"] * MS, "time_ns": written_ns}
