"""kafka-harness check --sends TABLE --reads TABLE: makes a run of two tables and checks it.

Spark reads both, gives each value a number, and writes operations; this process holds one row per
partition and one per process. `report`, `sql` and `check` take the folder like any other run's.
Nothing is left if the tables cannot be checked, or if executors would write to another disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from harness.commands.check_runs import check_runs, tell_spark_of_java
from harness.commands.closing_table import plain
from harness.commands.tables import spark_tables
from harness.foreign.imported_run import (
    HistoryFacts,
    HistoryRows,
    ImportRequest,
    end_events,
    refuse_name,
    write_run,
)
from harness.history.record_format import HistoryError
from harness.host.machine import HostError
from harness.model.client_settings import leaves_one_copy
from harness.model.runs.run_folder import RunFolder, StoreError, store_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from analysis.tables.as_history import TablesHistory
    from analysis.tables.numbered import Numbered
    from analysis.tables.validation import Tables

BYTES_A_ROW: Final = 20  # at least, of a file that is not compressed much


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The tables to check."""

    sends: str
    reads: str
    complete: bool  # the user says that the final read is
    request: ImportRequest
    master: str | None = None


def check_tables(asked: Asked, console: Console) -> int:
    """Make a run of two tables, check it, show its report; the exit code. Raises HistoryError,
    StoreError, HostError and DiskError."""
    from analysis.remote.masters import started  # Spark is slow to import
    from analysis.remote.trouble import Unreachable  # and only needed here
    from analysis.spark.session import session
    from analysis.stored.run_files import CheckError
    from analysis.tables.table_files import TableError

    refuse_name(asked.request.name)
    tell_spark_of_java()
    try:
        with started(asked.master, session(asked.master, _expected(asked))) as spark:
            _require_shared(spark, asked.request.results)
            with console.status("reading the tables with Spark"):
                tables, folder = run_of(spark, asked)
            console.print(plain(tables.summary))
            with session(operations=tables.operations, started=spark):
                return check_runs([folder], master=asked.master, console=console)
    except TableError as error:
        raise HistoryError(str(error)) from None
    except CheckError as error:
        raise StoreError(str(error)) from None
    except Unreachable as error:
        raise HostError(str(error)) from None


def _require_shared(spark: SparkSession, results: Path) -> None:
    """Raise StoreError unless executors see the results folder, or the one in which it will be."""
    from analysis.remote.shared_place import is_local, require_shared  # above
    from analysis.stored.run_files import CheckError

    if is_local(spark):
        return
    existing = next(path for path in (results, *results.parents) if path.exists())
    try:
        with store_errors(existing):
            require_shared(spark, [existing])
    except CheckError:
        raise StoreError(
            f"{results}: the executors of {spark.sparkContext.master} do not see this folder: give "
            "a --results folder that they see, or use --write-job, which needs none"
        ) from None


def run_of(spark: SparkSession, asked: Asked) -> tuple[Tables, RunFolder]:
    """The tables and the sealed run. Raises TableError, HistoryError and others."""
    from analysis.tables.as_history import Known, as_history  # as above
    from analysis.tables.validation import valid_tables

    tables = valid_tables(spark, asked.sends, asked.reads, all_final=asked.complete)
    about = asked.request.about
    known = Known(
        new_topic=about.new_topic,
        once=leaves_one_copy(about.config("producer")),
        without_acks=bool(about.without_acks),
        partitions=about.partitions or 1,
        complete=asked.complete,
    )
    kept: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame.persist())
        return kept[-1]

    try:
        history = as_history(tables, known, keep)
        events = end_events(next(iter(tables.final_readers), None), tables.end_ns, history.ends)

        def rows_of(scratch: Path) -> HistoryRows:
            values = _write(history.numbered, scratch)
            return HistoryRows(
                operations=spark_tables.operations(scratch, tables.rows),
                values=spark_tables.values(scratch, values),
                events=events,
            )

        return tables, write_run(_facts(tables, history), asked.request, rows_of)
    finally:
        for frame in kept:
            frame.unpersist()


def _facts(tables: Tables, history: TablesHistory) -> HistoryFacts:
    """What run.json says of them."""
    return HistoryFacts(
        start_ns=tables.start_ns,
        end_ns=tables.end_ns,
        topic=tables.topic,
        partitions=tables.partitions,
        producers=len(tables.producers),
        untold=history.untold,
        notes=tuple(history.parted.notes),
    )


def _write(history: Numbered, folder: Path) -> int:
    """Let Spark write the operations, each process in files of its own in order of its ids, and the
    values; returns the number of values."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    process = spark_tables.PROCESS
    in_order = history.operations.sortWithinPartitions(process, "id")
    in_order.write.partitionBy(process).parquet(f"file:{folder / 'operations'}")
    written = Observation()
    counted = history.values.observe(written, F.count(F.lit(1)).alias("rows"))
    counted.write.parquet(f"file:{folder / 'values'}")
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
