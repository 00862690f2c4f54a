"""kafka-harness check --sends TABLE --reads TABLE: makes a run of two tables, and checks it.

Spark reads both, gives each value a number, and writes operations; this process holds a row for
each partition and process. The folder is a run's like any other: `report`, `sql` and `check` take
it. Tables that cannot be checked, or that executors would write to another disk, leave nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from harness.commands.check_runs import check_runs, tell_spark_of_java
from harness.commands.closing_table import plain
from harness.foreign.folder import Extent, Wanted, refuse_name
from harness.foreign.table_folder import FILE, ToldTables, make_of_tables
from harness.history.record_format import HistoryError
from harness.host.machine import HostError
from harness.model.client_settings import acks_of
from harness.model.runs.run_folder import RunFolder, StoreError, store_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from analysis.tables.numbered import Numbered
    from analysis.tables.validation import Tables

NO_FINAL: Final = "no final read, so nothing is called lost"
BYTES_A_ROW: Final = 20  # at least, of a file that is not compressed much


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The tables to check."""

    sends: str
    reads: str
    complete: bool  # the user says that the final read is
    wanted: Wanted
    master: str | None = None


def check_tables(asked: Asked, console: Console) -> int:
    """Make a run of two tables, check it, show its report; the exit code. Raises HistoryError,
    StoreError, HostError and DiskError."""
    from analysis.remote.masters import started  # Spark is slow to import
    from analysis.remote.trouble import Unreachable  # and only needed here
    from analysis.spark.session import session
    from analysis.stored.run_files import CheckError
    from analysis.tables.table_files import TableError

    refuse_name(asked.wanted.name)
    tell_spark_of_java()
    try:
        with started(asked.master, session(asked.master, _expected(asked))) as spark:
            _require_shared(spark, asked.wanted.results)
            with console.status("reading the tables with Spark"):
                tables, folder = run_of(spark, asked)
            _say(tables, console)
            with session(operations=tables.operations, started=spark):
                return check_runs([folder], master=asked.master, console=console)
    except TableError as error:
        raise HistoryError(str(error)) from None
    except CheckError as error:
        raise StoreError(str(error)) from None
    except Unreachable as error:
        raise HostError(str(error)) from None


def _say(tables: Tables, console: Console) -> None:
    sends, reads = sum(tables.producers.values()), sum(tables.readers.values())
    final = f"{tables.final:,} by the final read" if tables.final else NO_FINAL
    console.print(
        plain(f"{sends:,} sends, {tables.acked:,} acked; {reads:,} records read, {final}")
    )


def _require_shared(spark: SparkSession, results: Path) -> None:
    """Raise StoreError unless executors see the results folder, or the one in which it will be."""
    from analysis.remote.shared_place import is_local, require_shared  # above
    from analysis.stored.run_files import CheckError

    if is_local(spark):
        return
    existing = next(folder for folder in (results, *results.parents) if folder.exists())
    try:
        with store_errors(existing):
            require_shared(spark, [existing])
    except CheckError:
        raise StoreError(
            f"{results}: the executors of {spark.sparkContext.master} do not see this folder: give "
            "a --results folder that they see, or use --write-job, which needs none"
        ) from None


def run_of(spark: SparkSession, asked: Asked) -> tuple[Tables, RunFolder]:
    """The tables' facts, and the sealed run. Raises TableError, HistoryError and others."""
    from analysis.tables.final_read import ends  # as above
    from analysis.tables.numbered import numbered
    from analysis.tables.validation import valid_tables

    tables = valid_tables(spark, asked.sends, asked.reads, all_final=asked.complete)
    rows = Counter(tables.producers)
    rows.update(tables.readers)
    about = asked.wanted.about
    facts = ToldTables(
        extent=Extent(
            start_ns=tables.start_ns,
            end_ns=tables.end_ns,
            topic=tables.topic,
            partitions=tables.partitions,
            producers=len(tables.producers),
        ),
        processes=rows,
        untold=tables.untold,
        ends=ends(tables, complete=asked.complete),
        final_reader=next(iter(tables.final_readers), None),
    )
    without_acks = acks_of(about.config("producer")) == "0"
    kept: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame.persist())
        return kept[-1]

    made = numbered(tables, without_acks=without_acks, keep=keep)
    try:
        return tables, make_of_tables(facts, asked.wanted, lambda *where: _write(made, *where))
    finally:
        for frame in kept:
            frame.unpersist()


def _write(made: Numbered, below: Path, run_id: str) -> int:
    """Let Spark write the operations, each process in files of its own, in order of its ids, and
    the values; how many values it wrote."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    operations = made.operations.select(
        F.lit(run_id).alias("run_id"), "*", F.col("process").alias(FILE)
    )
    in_order = operations.sortWithinPartitions(FILE, "id")
    in_order.write.partitionBy(FILE).parquet(f"file:{below / 'operations'}")
    values = made.values.select(F.lit(run_id).alias("run_id"), "value", "text")
    written = Observation()
    counted = values.observe(written, F.count(F.lit(1)).alias("rows"))
    counted.write.parquet(f"file:{below / 'values'}")
    return int(written.get["rows"])


def _expected(asked: Asked) -> int:
    """About how many rows there are, by the size of files that are here."""
    from analysis.spark.jvm import BIG

    sizes = 0
    for path in (Path(asked.sends), Path(asked.reads)):
        if not path.exists():
            return BIG
        files = path.rglob("*") if path.is_dir() else [path]
        sizes += sum(file.stat().st_size for file in files if file.is_file())
    return sizes // BYTES_A_ROW
