"""Random histories as tables have them: operations, transactions' notes and what a driver knows."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.checks.groups import group_life
from analysis.frames.operations import OFFSET_BITS
from harness.history import tables
from tests.support.histories import LOAD_START_NS
from tests.support.oracles.operations import LOAD_MS, MS, THRESHOLD_MS, Case, Row
from tests.support.oracles.outputs import due

NEVER_HERE = {"transforms": False}  # outputs are linked to what others sent: not screened
FACTS = (
    *("alone", "causes", "circular", "corrupt", "deaths", "elections", "hanging", "moves"),
    *("passed_over", "states", "superseded"),
)


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
        "in_use": number % 2 == 0,
        "transactional": case.transactional,
        "transforms": case.transforms,
        "dirty": case.dirty,
        "dumps": case.dumps,
        "moves": [_move(move) for move in case.moves],
        "outdated": group_life.outdated_rows(_told(case)),
        "from_start": case.from_start,
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


def files_of(case: Case, number: int, folder: Path) -> list[Path]:
    """A file of each process's operations."""
    by_process: dict[str, list[Row]] = defaultdict(list)
    for row in sealed_rows([case]):
        by_process[row["process"]].append({**row, "run_id": str(number)})
    schema = tables.schema(tables.OPERATION_COLUMNS)
    files: list[Path] = []
    for rows in by_process.values():
        file = folder / f"{number}-{len(files)}.parquet"
        told = [{name: row.get(name) for name in schema.names} for row in rows]
        pq.write_table(pa.Table.from_pylist(told, schema=schema), file)
        files.append(file)
    return files


def facts_of(case: Case, number: int) -> Row:
    """What the driver knows of it."""
    draw = random.Random(number)
    row = {**run_row(case, number), **NEVER_HERE}
    ends = [{**end, **stable(draw)} for end in row["ends"]]
    return {**{name: [] for name in FACTS}, **row, "ends": ends}


def stable(draw: random.Random) -> Row:
    """A last stable offset and a high watermark, as they may be."""
    return {name: draw.choice([None, *range(6)]) for name in ("committed_end", "uncommitted_end")}
