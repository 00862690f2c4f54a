"""All runs of one check in Spark: operations, watermarks, and one row per run.

The driver's facts about a run (leaders, faults in force, ends of the final read) go to Spark as one
row of schema.RUNS (analysis.checks.run_row).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, StructType

from analysis.frames import schema
from analysis.frames.history_frames import History, runs_frame
from analysis.stored.fact_rows import RunRow
from analysis.stored.stored_run import EVENTS, WATERMARKS, Run

__all__ = ["History", "history_of", "runs_frame"]

PATTERN = frozenset("{}[]*?\\")  # characters that Spark takes for a pattern's


def history_of(
    spark: SparkSession,
    runs: Sequence[Run],
    facts: Mapping[str, RunRow],
) -> History:
    """Everything the checks need of these runs; `facts` are their rows of schema.RUNS by run_id."""
    files = [run.address(file) for run in runs for file in run.tables]
    events = [run.address(run.path / EVENTS) for run in runs if run.tells_transactions]
    followed = [run for run in runs if run.watched and run.watermarks]
    watched = [run.address(run.path / WATERMARKS) for run in followed]
    rows = [facts[run.run_id] for run in runs]
    return History(
        operations=_operations(spark, files),
        runs=runs_frame(spark, rows),
        groups=any(run.grouped for run in runs),
        transforms=any(run.transforms for run in runs),
        outputs=any(row["outputs"] for row in rows),
        outdated=any(row["outdated"] for row in rows),
        shared=any(row["shared"] for row in rows),
        unowned=any(row["unowned"] for row in rows),
        metadata_back=any(row["metadata_back"] for row in rows),
        hanging=any(row["hanging"] for row in rows),
        replicas=any(run.compared for run in runs),
        compacted=any(row["superseded"] for row in rows),
        circular=any(row["circular"] for row in rows),
        transactions=_transactions(spark, events) if events else None,
        watermarks=files_frame(spark, schema.WATERMARKS, watched) if watched else None,
    )


def _operations(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Each file by its name: of a folder Spark would read other files as well, or fewer."""
    if files:
        return files_frame(spark, schema.OPERATIONS, files)
    nothing = F.from_json(F.lit("[]"), ArrayType(schema.OPERATIONS))
    return spark.range(1).select(F.inline(nothing))


def files_frame(spark: SparkSession, columns: StructType, files: Sequence[str]) -> DataFrame:
    """These files and no others: a folder named `run[1]` is no pattern that means `run1`.

    Spark reads all files of a call again for each that looks like a pattern (DataSource,
    checkAndGlobPathIfNecessary), so such a one gets a call of its own."""
    reader = spark.read.schema(columns).option("__globPaths__", "false")
    odd = [file for file in files if not PATTERN.isdisjoint(file)]
    plain = [file for file in files if PATTERN.isdisjoint(file)]
    calls = [*([plain] if plain else []), *([file] for file in odd)]
    return functools.reduce(DataFrame.unionAll, (reader.parquet(*call) for call in calls))


def _transactions(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    events = files_frame(spark, schema.TRANSACTIONS, files)
    return events.where((F.col("event") == "transaction") & F.col("transaction").isNotNull())
