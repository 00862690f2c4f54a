"""The same checks by DuckDB: in SQL, on the same tables, with the same rows of evidence.

    answers = ask(folder, facts, threads=2)
    answers.counts     {"lost": 14, …}
    answers.tables     the measures by the name of their table

`facts` is what the driver knows of the run (a row of analysis.frames.schema.RUNS): leaders, faults,
ends of the final read. Both sides are given it, so that the time is that of going through the
operations. What is asked is in bench.checker.coverage and the files of bench/checker/sql; evidence
is written as Parquet, one folder an anomaly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from analysis.checks.run_row import run_row
from analysis.frames import schema
from analysis.stored.fact_rows import RunRow
from analysis.stored.stored_run import EVENTS, open_run
from analysis.verdict.permission import permission_of
from bench.checker.coverage import ANOMALIES, MEASURES, Sql

FILES = ("fates", "places", "steps", "order", "transactions", "groups")
ASKED = ("measures", "work", "windows")  # files of MEASURES
COLUMNS = (  # that the tables above are made from
    *("process", "id", "f", "type", "partition", "value", "offset", "error", "intended_ns"),
    *("start_ns", "end_ns", "instance", "transaction", "generation", "epoch"),
)
_LISTS = ("ends", "faults", "leaders", "states", "alone", "moves", "outdated", "shared", "unowned")
_MORE = ("passed_over", "hanging", "deaths", "causes", "elections")
_SHAPES = {
    "ends": schema.END,
    "faults": schema.FAULT,
    "leaders": schema.LEADER,
    "states": schema.STATE,
    "alone": schema.ALONE,
    "moves": schema.MOVE,
    "passed_over": schema.IN_LOG,
    "outdated": schema.OUTDATED,
    "shared": schema.SHARED,
    "unowned": schema.UNOWNED,
    "hanging": schema.HANGING,
    "deaths": schema.DEATH,
    "causes": schema.CAUSE,
    "elections": schema.ELECTION,
}
_KINDS = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "array<string>": pa.list_(pa.string()),
}
_NEVER_TOLD = {"settled"}  # of causes: nothing of these histories sets transactions back
_FOUND = """
create temp table found (
    anomaly varchar, value bigint, sent integer, home integer, copies bigint, sent_ns bigint,
    acked_ns bigint, delivered_ns bigint, place bigint, time_ns bigint, outcome varchar,
    other_place bigint, other_value bigint, reader varchar, lasted_ns bigint, known_ns bigint,
    shown_ns bigint
)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What DuckDB found in a run."""

    counts: Mapping[str, int]  # by anomaly; those with none are not named
    tables: Mapping[str, Sequence[Mapping[str, Any]]]  # of each query, its rows


def facts_of(folder: Path) -> RunRow:
    """What our driver tells Spark of a run."""
    run = open_run(folder)
    return run_row(run, permission_of(run).rows(run.load_start_ns))


def ask(folder: Path, facts: RunRow, evidence: Path, *, threads: int = 2) -> Answers:
    """Ask everything; evidence goes below a folder that is not there yet."""
    with tempfile.TemporaryDirectory(prefix="duckdb-") as scratch, duckdb.connect() as connection:
        connection.execute(f"set threads = {threads}")
        connection.execute("set preserve_insertion_order = false")
        connection.execute(f"set temp_directory = '{scratch}'")
        _give(connection, folder, facts)
        for name in FILES:
            connection.execute(_text(name))
        connection.execute(_FOUND)
        for anomaly, way in ANOMALIES.items():
            if isinstance(way, Sql):
                told = f"select '{anomaly}' as anomaly, * from ({way.text})"
                connection.execute(f"insert into found by name {told}")
        for name in ASKED:
            connection.execute(_text(name))
        connection.execute(_text("evidence"))
        connection.execute(
            f"copy evidence to '{evidence}' (format parquet, compression zstd, "
            "partition_by (anomaly))"
        )
        counted = connection.execute("select anomaly, count(*) from evidence group by anomaly")
        return Answers(counts=dict(counted.fetchall()), tables=_tables(connection))


def measures(folder: Path, facts: Mapping[str, Any]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Ask for the measures alone."""
    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        _give(connection, folder, facts)
        for name in ("fates", *ASKED):
            connection.execute(_text(name))
        return _tables(connection)


def scan(folder: Path, *, threads: int = 2) -> None:
    """Read the same columns, and do nothing with them: what no way of checking can go below."""
    with duckdb.connect() as connection:
        connection.execute(f"set threads = {threads}")
        numbers = [name for name in COLUMNS if name not in ("process", "f", "type", "error")]
        sums = [f'sum("{name}")' for name in numbers]
        texts = [f"max({name})" for name in ("process", "f", "type", "error")]
        connection.execute(f"select {', '.join([*sums, *texts])} from {_files(folder)}").fetchone()


def _files(folder: Path) -> str:
    quoted = str(folder / "history/operations/*.parquet").replace("'", "''")
    return f"read_parquet('{quoted}')"


def _text(name: str) -> str:
    return resources.files("bench.checker").joinpath(f"sql/{name}.sql").read_text()


def _give(connection: duckdb.DuckDBPyConnection, folder: Path, facts: Mapping[str, Any]) -> None:
    """The tables that all questions are about."""
    columns = ", ".join(f'"{name}"' for name in COLUMNS)
    connection.execute(f"""
        create temp view operations as select {columns},
            ("partition"::bigint << 48) | "offset" as place,
            f in ('read', 'lookup', 'poll') and type = 'ok' as delivery
        from {_files(folder)}""")
    events = str(folder / EVENTS).replace("'", "''")
    connection.execute(f"""
        create temp view transaction_events as from read_parquet('{events}')
        where event = 'transaction' and "transaction" is not null""")
    for name in (*_LISTS, *_MORE):
        rows = facts[name]
        if name == "ends":
            rows = [{"partition": number, **row} for number, row in enumerate(rows)]
        _table(connection, name, rows)
    connection.execute(
        "create temp table corrupt as select unnest(?::bigint[]) as place", [list(facts["corrupt"])]
    )
    connection.execute(
        "create temp table superseded as select unnest(?::bigint[]) as value",
        [list(facts["superseded"])],
    )
    scalar = {key: value for key, value in facts.items() if not isinstance(value, list)}
    made = ", ".join(f"? as {key}" for key in scalar)
    connection.execute(f"create temp table run as select {made}", list(scalar.values()))
    connection.execute("""
        alter table run add column slice_ns bigint;
        update run set slice_ns = greatest(bucket_ns, ceil((load_end_ns - load_start_ns)
            / greatest(20, least(400, 40000 // greatest((select count(*) from ends), 1))))::bigint);
        create temp table cuts as select distinct from_ns from (
            select load_start_ns as from_ns from run
            union all select from_ns from leaders, run where from_ns > load_start_ns
            union all select invoke_ns from faults, run where invoke_ns > load_start_ns
        ), run where from_ns < load_end_ns""")


def _table(
    connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """A small table, with its columns even where it is empty."""
    shape = (f for f in _SHAPES[name].fields if f.name not in _NEVER_TOLD)
    fields = [(f.name, _KINDS[f.dataType.simpleString()]) for f in shape]
    if name == "ends":
        fields.insert(0, ("partition", pa.int32()))
    told = [{key: row[key] for key, _ in fields} for row in rows]
    made = pa.Table.from_pylist(told, schema=pa.schema(fields))
    connection.register("made", made)
    connection.execute(f"create temp table {name} as from made")
    connection.unregister("made")


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    """The small answers, by the name of their table."""
    told = {}
    for name in (*MEASURES.values(), "acked_isr_alone"):
        answer = connection.execute(f"from {name}")
        head = [column[0] for column in answer.description or ()]
        told[name] = [dict(zip(head, row, strict=True)) for row in answer.fetchall()]
    return told
