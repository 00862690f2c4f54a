"""Cycles against a second opinion, on random transactions; and how they are read from files."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.checks.transactions.cycles import (
    COLUMNS,
    Cycles,
    Read,
    components,
    cycles_in,
    read_operations,
)
from harness.history import tables
from tests.support.oracles.cycles import cycles
from tests.support.random_histories.drawing import SEEDS
from tests.support.random_histories.transformers import Flow, flow_of

KINDS = pa.schema(
    [each for each in tables.schema(tables.OPERATION_COLUMNS) if each.name in COLUMNS]
)


def table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Operations as a file has them."""
    told = [{**row, "start_ns": row["start"]} for row in rows]
    return pa.Table.from_pylist([{n: row[n] for n in KINDS.names} for row in told], schema=KINDS)


def read(folder: Path, rows: Sequence[dict[str, Any]]) -> Read:
    """The same read from a file of several row groups."""
    pq.write_table(table(rows), folder / "a.parquet", row_group_size=3)
    return read_operations([folder / "a.parquet"])


def seen(folder: Path, flow: Flow) -> Cycles:
    """What the check sees."""
    notes: Any = [{**note, "time_ns": note["time"]} for note in flow.notes]
    return cycles_in(read(folder, flow.rows), notes, shows_committed=flow.shows_committed)


def in_the_oracles_words(found: Any) -> Counter[Any]:
    """Cycles as the oracle tells them."""
    told = [
        (
            *(
                tuple(row[f"{of}{name}"] for name in ("value", "partition", "offset"))
                for of in ("", "other_")
            ),
            row["reader"],
        )
        for row in found.rows
    ]
    counts = (found.committed, found.in_write_circles, found.in_circles)
    return Counter([*(("circular-flow", row) for row in told), ("transactions", counts)])


def test_circles_are_those_that_reachability_finds(tmp_path: Path) -> None:
    many, found = [flow_of(seed) for seed in SEEDS], list[Cycles]()
    for flow in many:
        wanted = Counter(cycles(flow))
        found.append(seen(tmp_path, flow))
        told = in_the_oracles_words(found[-1])
        assert wanted == told, "\n".join(map(str, [*flow.rows, *flow.notes]))
    sizes = Counter(len(each.rows) for each in found)
    assert min(sizes[0], sizes[2], sizes[3], sizes[4]) >= len(many) // 100, sizes
    assert sum(len(each.rows) < each.in_circles for each in found) >= len(many) // 20
    assert sum(0 < each.in_write_circles < each.in_circles for each in found) >= len(many) // 50


def test_nothing_that_leads_on_in_time_needs_a_component() -> None:
    order = np.array([10, 30, 20])
    edges = np.array([0, 0, 2]), np.array([1, 2, 1])

    assert components(edges, order) is None
    found = components((np.array([0, 1]), np.array([1, 0])), order)
    assert found is not None
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("rows", [[], [{"f": "read"}], [{"f": "send"}, {"f": "process"}]])
def test_what_is_in_no_transaction_makes_none(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    bare = dict.fromkeys(("process", "transaction", "partition", "value", "offset", "start"))
    known = [{**bare, "process": "a", "type": "ok", **row} for row in rows]

    assert cycles_in(read(tmp_path, known), [], shows_committed=True) == Cycles()


def test_of_files_only_what_makes_circles_is_read(tmp_path: Path) -> None:
    """Of files of format 1 nothing."""
    known = {"process": "a", "type": "ok", "partition": 0, "offset": 0, "value": 1, "start": 1}
    rows = [
        {**known, "f": f, "transaction": transaction}
        for f, transaction in (
            *(("send", 0), ("send", None), ("process", 0), ("process", None)),
            *(("poll", 0), ("final-read", None), ("final-read", 0), ("commit", 0)),
        )
    ]
    pq.write_table(table(rows).drop_columns(["transaction"]), tmp_path / "old.parquet")

    kept = read(tmp_path, rows)
    assert [len(each[0]) for each in (kept.sent, kept.processed, kept.final)] == [1, 1, 2]
    assert read_operations([tmp_path / "old.parquet"]).num_rows == 0
    assert read_operations([]).num_rows == 0


def test_a_history_without_circles_does_not_wait_for_scipy() -> None:
    """A check imports it where an edge leads back, and nowhere else."""
    asked = "import sys, analysis.job.job; assert 'scipy' not in sys.modules"

    subprocess.run([sys.executable, "-c", asked], check=True)
