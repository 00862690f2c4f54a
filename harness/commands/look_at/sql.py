"""kafka-harness sql: one query over stored runs, its answer as a table, as CSV or as JSON lines.

    table    at most `TABLE_ROWS` rows unless --limit says otherwise, and a line that says so
    csv      a head line, then all rows; null is empty, a list is JSON
    jsonl    an object a row; what JSON has no number for (NaN, infinities) is null

CSV and JSON lines are printed a partition at a time, as Spark gives them; a reader that closes the
pipe (`| head`) ends it quietly. Runs that were not named and cannot be queried are named on stderr.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from rich.console import Console
from rich.table import Table

from harness.commands import completion
from harness.commands.options import RESULTS, Master, Results, console
from harness.host.machine import HostError
from harness.host.output import print_table, unread
from harness.model.printable import printable
from harness.model.runs.uris import as_path, is_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Format = Literal["table", "csv", "jsonl"]
TABLE_ROWS: Final = 100
SAID: Final = 10  # runs that were left out


def sql(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN]... QUERY",
            help="Run folders, run ids, scenarios (latest run) or folders of runs; none: all below "
            "--results. Then one query.",
            autocompletion=completion.runs,
        ),
    ],
    form: Annotated[
        Format,
        typer.Option("--format", help="table: for people. csv, jsonl: for programs, all rows."),
    ] = "table",
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Rows at most, 0: all. By default 100 in a table, else all."
        ),
    ] = None,
    master: Master = None,
    results: Results = RESULTS,
) -> None:
    """Ask stored runs in SQL (Spark's): one query over these views, each with run_id.

    \b
    runs          the runs themselves: scenario, verdict, when the load began
    operations    whatever a worker did: sends, reads, commits, look-ups
    sends         sends with how they ended, and how long that took
    reads         records that were read, by whom, and how old they were
    transactions  transactions: begun, ended, and how
    faults        what was done to which nodes, from when to when, and the proof
    leaders       who led a partition from when to when
    anomalies     what the check found: a row an anomaly, with its evidence
    windows       stretches in which nothing was acked, read or processed
    events        what workers told beside operations: rebalances, errors

    Columns *_s count from the begin of the load, *_ns are as recorded. Nothing is written.
    `kafka-harness docs queries` has every column, and ten questions with their answers.

    kafka-harness sql study-1 "select type, count(*) from sends group by type"
    """
    *runs, query = words
    question = Question(
        query=query, runs=runs, results=results, form=form, limit=limit, master=master
    )
    answer(question, console)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query, and how its answer is shown."""

    query: str
    runs: Sequence[str]  # none: all below results
    results: Path
    form: Format = "table"
    limit: int | None = None  # rows; 0: all
    master: str | None = None


def answer(question: Question, console: Console) -> None:
    """Print the answer. Raises StoreError and HostError."""
    from analysis.ask.asked import Asked
    from analysis.ask.stored_tables import AskError
    from analysis.remote.trouble import Unreachable
    from harness.commands.check_runs import tell_spark_of_java
    from harness.model.runs.run_folder import StoreError, store_errors

    if not question.query.strip() or _is_place(question.query, question.results):
        raise StoreError('no query: give one behind the runs, e.g. "select * from runs"')
    places = [_place(run, question.results) for run in question.runs] or [question.results]
    if not question.runs and not question.results.is_dir():
        raise StoreError(
            f"{question.results}: no results folder: make a run first, name a run's folder before "
            "the query, or give --results"
        )
    tell_spark_of_java()
    try:
        with (
            store_errors(places[0]),
            Asked(places, master=question.master, query=question.query) as asked,
        ):
            frame = asked.sql(question.query)
            _say(asked.left_out)
            with asked.reasons():
                _show(frame, question, console)
    except AskError as error:
        raise StoreError(str(error)) from None
    except Unreachable as error:
        raise HostError(str(error)) from None


def _is_place(word: str, results: Path) -> bool:
    """Whether the last word is the place of a run or a folder of runs, and no query."""
    with suppress(OSError):  # a query may be too long for a file's name
        return is_uri(word) or any(place.is_dir() for place in (Path(word), results / word))
    return False


def _place(which: str, results: Path) -> Path:
    """A run by its folder, its id or its scenario's name (its latest run); or any folder that runs
    are below. Raises StoreError."""
    from harness.model.runs.run_folder import RunFolder, StoreError, store_errors

    if is_uri(which):
        raise StoreError(
            f"{which}: only folders can be asked: copy the run's folder to this machine, and give "
            "that one (`check` takes URIs)"
        )
    named = Path(as_path(which))
    with store_errors(named):
        for path in (named, results / which, results / which / "latest"):
            if RunFolder(path=path).recorded:
                return path
        if named.is_dir():
            return named
    raise StoreError(
        f"{which}: no run there: give the folder that holds a run.json, a folder of such ones, or "
        "a run's id, and the query last"
    )


def _say(left_out: Sequence[str]) -> None:
    for sentence in left_out[:SAID]:
        sys.stderr.write(f"left out: {printable(sentence)}\n")
    if len(left_out) > SAID:
        sys.stderr.write(f"left out: {len(left_out) - SAID} more runs\n")


def _show(frame: DataFrame, question: Question, console: Console) -> None:
    if question.form == "table":
        print_answer(frame, TABLE_ROWS if question.limit is None else question.limit, console)
        return
    rows = (frame.limit(question.limit) if question.limit else frame).toLocalIterator()
    _write(_csv(frame.columns, rows) if question.form == "csv" else _jsonl(frame.columns, rows))


def print_answer(frame: DataFrame, most: int, console: Console) -> None:
    """Print an answer as a table of at most so many rows; 0: all."""
    from harness.commands.closing_table import plain

    rows = (frame.limit(most + 1) if most else frame).collect()
    numbers = {name for name, kind in frame.dtypes if kind in ("int", "bigint", "double")}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in frame.columns:
        table.add_column(plain(name), justify="right" if name in numbers else "left")
    for row in rows[: most or None]:
        table.add_row(*(plain(_in_cell(value)) for value in row))
    print_table(console, table)
    if most and len(rows) > most:
        sys.stderr.write(f"the first {most:,} rows; --limit 0 shows all\n")


def _in_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(_in_cell, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Line(), lineterminator="\n")
    yield str(writer.writerow(columns))
    for row in rows:
        yield str(writer.writerow([_in_csv(value) for value in row]))


def _in_csv(value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        return json.dumps(_in_json(value))
    return str(value).lower() if isinstance(value, bool) else value


class _Line:
    """A file for a CSV writer, which returns the line."""

    def write(self, line: str) -> str:
        return line


def _jsonl(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    from harness.model.runs.run_folder import StoreError

    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise StoreError(f"two columns are named {twice[0]!r}: give one another name with `as`")
    for row in rows:
        yield json.dumps(dict(zip(columns, map(_in_json, row), strict=True))) + "\n"


def _in_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        fields = getattr(value, "__fields__", None)  # of a struct
        if fields:
            return dict(zip(fields, map(_in_json, value), strict=True))
        return [_in_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _in_json(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line)
        if unread():
            return
    sys.stdout.flush()
