"""No side leaves out what the other one does: each anomaly and measure has its SQL, or a reason."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

from analysis.anomalies import NAMES
from analysis.measures.measured import Measured
from bench.checker import duckdb_side
from bench.checker.coverage import ANOMALIES, DRIVER, MEASURES, Left
from bench.checker.worker import APART


def test_each_anomaly_has_its_sql_or_a_reason_in_the_order_of_reports():
    assert tuple(ANOMALIES) == NAMES


def test_each_measure_has_its_table() -> None:
    made = "".join(duckdb_side._text(name) for name in duckdb_side.ASKED)

    assert set(MEASURES) == {field.name for field in fields(Measured)}
    for table in MEASURES.values():
        assert f"create temp table {table} as" in made


def test_what_is_left_out_has_a_reason_and_its_time_is_taken():
    left = [way for way in {**ANOMALIES, **DRIVER}.values() if isinstance(way, Left)]

    assert all(way.why for way in left)
    assert {way.apart for way in left} - {None} == set(APART)


def test_every_file_of_sql_is_asked():
    files = {file.stem for file in Path(inspect.getfile(duckdb_side)).parent.glob("sql/*.sql")}

    assert files == {*duckdb_side.FILES, *duckdb_side.ASKED, "evidence"}
