"""No side leaves out what the other one does: each anomaly and query has its SQL, or a reason."""

from __future__ import annotations

import inspect
from pathlib import Path

from analysis.anomalies import NAMES
from analysis.queries import Queries
from bench.checker import duckdb_side
from bench.checker.coverage import ANOMALIES, DRIVER, QUERIES, Left, Sql
from bench.checker.worker import APART

OWN = {"steps", "found", "forget"}  # methods that no report is made of


def test_each_anomaly_has_its_sql_or_a_reason_in_the_order_of_reports():
    assert tuple(ANOMALIES) == NAMES


def test_each_query_has_its_sql_or_a_reason():
    queries = {
        name
        for name, each in inspect.getmembers(Queries, inspect.isfunction)
        if not name.startswith("_")
    }

    assert queries - OWN == set(QUERIES)


def test_each_query_fills_its_table():
    made = "".join(duckdb_side._text(name) for name in (*duckdb_side.MEASURES, "evidence"))

    for way in QUERIES.values():
        assert isinstance(way, Sql)
        assert f"create temp table {way.text} as" in made


def test_what_is_left_out_has_a_reason_and_its_time_is_taken():
    left = [way for way in {**ANOMALIES, **DRIVER}.values() if isinstance(way, Left)]

    assert all(way.why for way in left)
    assert {way.apart for way in left} - {None} == set(APART)


def test_every_file_of_sql_is_asked():
    files = {file.stem for file in Path(inspect.getfile(duckdb_side)).parent.glob("sql/*.sql")}

    assert files == {*duckdb_side.FILES, *duckdb_side.MEASURES, "evidence"}
