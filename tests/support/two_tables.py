"""Histories told as two tables: rows in words, files of them, and what is found in them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from analysis.tables.findings import Findings, configuration_from_json, rows_with_texts
from analysis.tables.job import findings_of
from analysis.tables.validation import valid_tables
from harness.commands.tables.check_tables import Asked, run_of
from harness.commands.tables.write_job import known
from harness.foreign.about import About
from harness.foreign.imported_run import ImportRequest
from harness.model.runs.run_folder import RunFolder

Row = dict[str, Any]


def sent(value: Any, offset: Any, partition: int | None = 0, **more: Any) -> Row:
    """A send that was acknowledged, unless `type` says otherwise."""
    return {"value": value, "type": "ok", "partition": partition, "offset": offset, **more}


def was_read(value: Any, offset: Any, partition: int = 0, **more: Any) -> Row:
    """A record that was read."""
    return {"value": value, "partition": partition, "offset": offset, **more}


def at_the_end(value: Any, offset: int, partition: int = 0, **more: Any) -> Row:
    """One that the final read has."""
    return was_read(value, offset, partition, f="final-read", **more)


def as_parquet(file: Path, rows: Sequence[Row]) -> Path:
    """A file of these rows."""
    pq.write_table(_table(rows), file)
    return file


def as_csv(file: Path, rows: Sequence[Row]) -> Path:
    """The same as CSV, as Python writes it; null is an empty cell. Without rows it is of sends."""
    names = list(dict.fromkeys(name for row in rows or [sent("", 0)] for name in row))
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, names)
        writer.writeheader()
        writer.writerows(rows)
    return file


def _table(rows: Iterable[Row]) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoTables:
    """Two tables, and what the user says of them."""

    sends: Sequence[Row]
    reads: Sequence[Row]
    complete: bool = False
    about: About = About()  # noqa: RUF009  frozen

    def files(self, folder: Path, write: Any = as_parquet) -> tuple[str, str]:
        """Their names, once they are written there."""
        ending = "csv" if write is as_csv else "parquet"
        folder.mkdir(parents=True, exist_ok=True)
        both = (("sends", self.sends), ("reads", self.reads))
        sends, reads = (str(write(folder / f"{name}.{ending}", rows)) for name, rows in both)
        return sends, reads


def run_of_tables(
    spark: SparkSession, folder: Path, story: TwoTables, write: Any = as_parquet
) -> RunFolder:
    """The sealed run that a check makes of them."""
    sends, reads = story.files(folder, write)
    request = ImportRequest(
        name=folder.name, results=folder / "results", command="check", about=story.about
    )
    asked = Asked(sends=sends, reads=reads, complete=story.complete, request=request)
    return run_of(spark, asked)[1]


def found_by_job(
    spark: SparkSession, folder: Path, story: TwoTables, write: Any = as_parquet
) -> Findings:
    """What the one-file job finds in them, here."""
    tables = valid_tables(spark, *story.files(folder, write), all_final=story.complete)
    configuration = configuration_from_json(known(story.about))
    return findings_of(tables, configuration, complete=story.complete)


def found_counts(found: Findings) -> dict[str, int]:
    """How many of each anomaly, of those that there are."""
    counts = {name: sum(by.values()) for name, by in found.counts.items()}
    return {name: many for name, many in counts.items() if many}


def values_of(found: Findings) -> list[tuple[str, str | None]]:
    """The anomalies with their values' texts."""
    return [(row["anomaly"], row["value"]) for row in rows_with_texts(found, 0).collect()]


def reported_counts(report: Mapping[str, Any]) -> dict[str, int]:
    """The same of a report."""
    counts = {name: each["count"] for name, each in report["anomalies"].items()}
    return {name: many for name, many in counts.items() if many}
