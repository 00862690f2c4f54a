"""kafka-harness check --sends TABLE --reads TABLE: two tables made a run's folder, and checked.

Spark reads both, gives each value a number, and writes operations; what is held here is a row a
partition and one a process. The folder is a run's like any other: `report`, `sql` and `check` again
take it. Nothing is left of tables that cannot be checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from harness.commands.check import check_runs, tell_spark_of_java
from harness.commands.closing_table import plain
from harness.foreign.folder import Extent, Wanted, refuse_name
from harness.foreign.table_folder import FILE, ToldTables, make_of_tables
from harness.history.record_format import HistoryError
from harness.model.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from analysis.tables.numbered import Numbered
    from analysis.tables.told import Tables

NO_FINAL: Final = "no final read, so nothing is called lost"
BYTES_A_ROW: Final = 20  # at least, of a file that is not compressed much


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be checked."""

    sends: str
    reads: str
    complete: bool  # the user says that the final read is
    wanted: Wanted
    master: str | None = None


def check_tables(asked: Asked, console: Console) -> int:
    """Make a run of two tables, check it, show its report; the exit code. Raises HistoryError,
    StoreError and DiskError."""
    from analysis.spark.session import session  # noqa: PLC0415  Spark is slow to import
    from analysis.tables.opened import TableError  # noqa: PLC0415  and only needed here

    refuse_name(asked.wanted.name)
    tell_spark_of_java()
    with session(asked.master, _expected(asked)) as spark:
        try:
            with console.status("reading the tables with Spark"):
                told, folder = run_of(spark, asked)
        except TableError as error:
            raise HistoryError(str(error)) from None
        sends, reads = sum(told.producers.values()), sum(told.readers.values())
        final = f"{told.final:,} by the final read" if told.final else NO_FINAL
        console.print(
            plain(f"{sends:,} sends, {told.acked:,} acked; {reads:,} records read, {final}")
        )
        with session(operations=told.operations, started=spark):
            return check_runs([folder], master=asked.master, console=console)


def run_of(spark: SparkSession, asked: Asked) -> tuple[Tables, RunFolder]:
    """What the tables tell, and the sealed run. Raises TableError, HistoryError and others."""
    from analysis.tables.final_read import ends  # noqa: PLC0415  as above
    from analysis.tables.numbered import numbered  # noqa: PLC0415
    from analysis.tables.told import tables  # noqa: PLC0415

    told = tables(spark, asked.sends, asked.reads, all_final=asked.complete)
    about = asked.wanted.about
    facts = ToldTables(
        extent=Extent(
            start_ns=told.start_ns,
            end_ns=told.end_ns,
            topic=told.topic,
            partitions=told.partitions,
            producers=len(told.producers),
        ),
        processes=sorted({*told.producers, *told.readers}),
        untold=told.untold,
        ends=ends(told, complete=asked.complete),
        final_reader=next(iter(told.final_readers), None),
    )
    asks_none = str(about.producer.get("acks", "all")) == "0"
    kept: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame.persist())
        return kept[-1]

    made = numbered(told, asks_none=asks_none, keep=keep)
    try:
        return told, make_of_tables(facts, asked.wanted, lambda *where: _write(made, *where))
    finally:
        for frame in kept:
            frame.unpersist()


def _write(made: Numbered, below: Path, run_id: str) -> None:
    """Let Spark write the operations, each process in files of its own, in order of its ids."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    operations = made.operations.select(
        F.lit(run_id).alias("run_id"), "*", F.col("process").alias(FILE)
    )
    in_order = operations.sortWithinPartitions(FILE, "id")
    in_order.write.partitionBy(FILE).parquet(f"file:{below / 'operations'}")
    values = made.values.select(F.lit(run_id).alias("run_id"), "value", "text")
    values.write.parquet(f"file:{below / 'values'}")


def _expected(asked: Asked) -> int:
    """About how many rows there are, by the size of files that are here."""
    from analysis.spark.session import BIG  # noqa: PLC0415

    sizes = 0
    for path in (Path(asked.sends), Path(asked.reads)):
        if not path.exists():
            return BIG
        files = path.rglob("*") if path.is_dir() else [path]
        sizes += sum(file.stat().st_size for file in files if file.is_file())
    return sizes // BYTES_A_ROW
