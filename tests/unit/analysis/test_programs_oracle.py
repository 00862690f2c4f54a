"""Outputs of programs in random histories: the rules, the screen and a second opinion agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.anomalies import BY_NAME
from analysis.checks.groups.programs import by_output
from analysis.checks.rules import Rules
from analysis.frames.history import History, runs_frame
from analysis.frames.schema import OPERATIONS
from analysis.frames.signs import Sign
from analysis.screens.screened import screen
from harness.history import tables
from tests.support import story_runs
from tests.support.histories import LOAD_MS, LOAD_START_NS, ns_of
from tests.support.oracles.programs import outputs
from tests.support.random_histories.drawing import drawn
from tests.support.random_histories.programs import answered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
_END = {"log_start": 0, "position": 9, "committed_end": None, "uncommitted_end": None}
NAMES = ("no-output", "two-outputs", "strange-output", "not-passed", "vanished")
# Their rules on outputs alone: the same histories are no matter of consumers here.
ALL = tuple(replace(BY_NAME[n], rules={by_output: BY_NAME[n].rules[by_output]}) for n in NAMES)


def rows_of(case: Row, number: int) -> list[Row]:
    told: list[tuple[str, str, str, int | None, int | None]] = []
    for value, ended in case["sent"].items():
        at = next((at for at, v in case["log"].items() if v == value), 7)
        told.append(("one", "send", ended, value, at if ended == "ok" else None))
    told += [("reader", "read", "ok", value, at) for at, value in case["seen"].items()]
    told += [("final", "final-read", "ok", value, at) for at, value in case["log"].items()]
    told += [("out", "output", "ok", value, at) for at, value in enumerate(case["live"])]
    told += [("out", "final-output", "ok", value, at) for at, value in enumerate(case["final"])]
    return [
        {
            "run_id": str(number),
            "process": process,
            "id": id_,
            "f": f,
            "type": ended,
            "partition": 0,
            "value": value,
            "offset": offset,
            "intended_ns": ns_of(id_),
            "start_ns": ns_of(id_),
            "end_ns": ns_of(id_ + 1),
        }
        for id_, (process, f, ended, value, offset) in enumerate(told)
    ]


def facts_of(case: Row, number: int) -> Row:
    return {
        "run_id": str(number),
        "load_start_ns": LOAD_START_NS,
        "load_end_ns": ns_of(LOAD_MS),
        "ends": [{**_END, "complete": case["whole"]}],
        "outputs": {
            "least": case["least"],
            "most": case["most"],
            "complete": case["read"],
            "passed": [case["passed"]],
            "lives": [{"process": "pay-0", "from_ns": 0, "to_ns": None}],
        },
    }


def checked(spark: SparkSession, cases: Sequence[Row], folder: Path) -> list[Counter[Any]]:
    """What the rules find in each case, from one Spark job."""
    rows = [row for number, case in enumerate(cases) for row in rows_of(case, number)]
    story_runs.write_rows(folder / "operations.parquet", rows)
    rules = Rules(
        History(
            operations=spark.read.schema(OPERATIONS).parquet(str(folder / "operations.parquet")),
            runs=runs_frame(spark, [facts_of(case, n) for n, case in enumerate(cases)]),
            outputs=True,
        ),
        ALL,
    )
    found: list[Counter[Any]] = [Counter() for _ in cases]
    evidence = rules.evidence()
    assert evidence is not None
    for row in evidence.collect():
        found[int(row["run_id"])][row["anomaly"], row["value"]] += 1
    rules.forget()
    return found


def test_outputs_are_those_of_a_second_opinion(spark: SparkSession, tmp_path: Path) -> None:
    cases = drawn(answered)
    found = checked(spark, cases, tmp_path)
    expected = [Counter(outputs(case)) for case in cases]

    kinds = Counter(name for each in expected for name, _ in each.elements())
    assert min(kinds[name] for name in NAMES) > 5
    for case, got, want in zip(cases, found, expected, strict=True):
        if got != want:
            pytest.fail(f"found {got}\nexpected {want}\n{case}")


def test_the_screen_suspects_each_value_of_which_something_is_wrong(tmp_path: Path) -> None:
    schema = tables.schema(tables.OPERATION_COLUMNS)
    for number, case in enumerate(drawn(answered)):
        rows, file = rows_of(case, number), tmp_path / f"{number}.parquet"
        told = [{name: row.get(name) for name in schema.names} for row in rows]
        pq.write_table(pa.Table.from_pylist(told, schema=schema), file)
        wrong = Counter(outputs(case))
        screened = screen([file], cast(Any, defaultdict(list, facts_of(case, number))), len(rows))

        assert not wrong or Sign.OUTPUTS in screened.signs, case
        suspects = set(screened.suspects["value"].to_pylist())
        assert {value for _, value in wrong} <= suspects | {None}, case
