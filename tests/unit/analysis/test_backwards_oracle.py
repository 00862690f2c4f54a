"""What went back or was ahead, in random looks, epochs and reads: the checks and a second opinion
agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.checks.replicas import backwards, watermarks
from analysis.checks.rules import Rules
from analysis.frames.history import History, runs_frame
from analysis.frames.schema import OPERATIONS, TRANSACTIONS, WATERMARKS, arrow
from harness.history import tables
from tests.support import story_runs
from tests.support.histories import LOAD_START_NS
from tests.support.oracles import backwards as oracle
from tests.support.random_histories.drawing import drawn
from tests.support.random_histories.looks import looked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
MS = 10**6
ALL = (
    backwards.END_BACK,
    backwards.WATERMARK_BACK,
    backwards.STABLE_BACK,
    watermarks.WATERMARK_AHEAD,
    watermarks.EARLY_READ,
)


def ns_of(ms: int | None) -> int | None:
    """A moment of the load on its clock."""
    return None if ms is None else LOAD_START_NS + ms * MS


def checked(spark: SparkSession, cases: Sequence[Row], folder: Path) -> list[Counter[Any]]:
    """What the checks find in each case, from one Spark job."""
    numbered = list(enumerate(cases))
    story_runs.write_rows(
        folder / "operations.parquet", [r for n, c in numbered for r in _reads(c, n)]
    )
    looks = [_look(row, n) for n, case in numbered for row in case["looks"]]
    pq.write_table(
        pa.Table.from_pylist(looks, schema=tables.schema(tables.WATERMARK_COLUMNS)),
        folder / "looks.parquet",
    )
    pq.write_table(
        pa.Table.from_pylist([], schema=arrow(TRANSACTIONS)), folder / "transactions.parquet"
    )
    rules = Rules(
        History(
            operations=spark.read.schema(OPERATIONS).parquet(str(folder / "operations.parquet")),
            runs=runs_frame(spark, [_run(case, n) for n, case in numbered]),
            watermarks=spark.read.schema(WATERMARKS).parquet(str(folder / "looks.parquet")),
            transactions=spark.read.schema(TRANSACTIONS).parquet(
                str(folder / "transactions.parquet")
            ),
        ),
        ALL,
    )
    found: list[Counter[Any]] = [Counter() for _ in cases]
    evidence = rules.evidence()
    assert evidence is not None
    for row in evidence.collect():
        time = (row["time_ns"] - LOAD_START_NS) // MS
        key = (row["partition"], row["offset"], row["other_offset"], time)
        found[int(row["run_id"])][row["anomaly"], key] += 1
    rules.forget()
    return found


def _reads(case: Row, number: int) -> list[Row]:
    return [
        {
            "run_id": str(number),
            "process": "consumer-0",
            "id": id_,
            "f": "read",
            "type": "ok",
            "partition": partition,
            "value": (partition << 8) + offset,
            "offset": offset,
            "start_ns": ns_of(time),
            "intended_ns": ns_of(time),
            "end_ns": ns_of(time),
        }
        for id_, (partition, offset, time) in enumerate(case["reads"])
    ]


def _look(row: Row, number: int) -> Row:
    times = {"time_ns": ns_of(row["time"]), "end_ns": ns_of(row["time"] + 2)}
    return {**{k: v for k, v in row.items() if k != "time"}, **times, "run_id": str(number)}


def _run(case: Row, number: int) -> Row:
    states = [
        {
            **state,
            "from_ns": ns_of(state["from"]),
            "to_ns": ns_of(state["to"]),
            "seen_to_ns": ns_of(state["to"]),
        }
        for state in case["states"]
    ]
    return {
        "run_id": str(number),
        "load_start_ns": LOAD_START_NS,
        "load_end_ns": ns_of(10_000),
        "ends": [{"complete": False, "log_start": 0, **end} for end in case["ends"]],
        "states": states,
        "checkpoint_ns": case["checkpoint"] * MS,
        "faults": [],
        "leaders": [],
        "moves": [],
        "passed_over": [],
    }


def test_what_went_back_is_what_a_second_opinion_says(spark: SparkSession, tmp_path: Path) -> None:
    cases = drawn(looked)
    found = checked(spark, cases, tmp_path)
    expected = [Counter(oracle.backwards(case)) for case in cases]

    kinds = Counter(name for each in expected for name, _ in each.elements())
    assert min(kinds[anomaly.name] for anomaly in ALL) > 5
    for case, got, want in zip(cases, found, expected, strict=True):
        if got != want:
            pytest.fail(f"found {got}\nexpected {want}\n{case}")
