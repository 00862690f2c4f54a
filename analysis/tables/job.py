"""The check of two tables as one spark-submit: the program of `kafka-harness check --write-job`
(docs/tables.md).

    spark-submit job.py --sends shop.sends --reads s3a://bucket/reads --final-read-is-complete

It prints the verdict, the count of each anomaly, and one line of JSON per row of evidence and per
unavailability window. It writes nothing. Exit codes are those of kafka-harness: 0, 1, 2, 254, 255.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.permission import FORBIDDEN, IN_DOUBT
from analysis.remote.java_errors import Unreachable
from analysis.spark.session import SMALL, no_warehouse, session
from analysis.tables.as_history import Known, as_history
from analysis.tables.findings import (
    Configuration,
    Findings,
    configuration_from_json,
    findings,
    rows_with_texts,
)
from analysis.tables.table_files import TableError
from analysis.tables.validation import Tables, valid_tables
from harness.model.exit_codes import BAD_ARGUMENTS, FAILED, INVALID, UNKNOWN

ROWS = 100


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """Exit with 254: argparse's 2 would be the verdict unknown."""
        self.print_usage(sys.stderr)
        self.exit(BAD_ARGUMENTS, f"error: {message}\n")


def main(arguments: Sequence[str], configuration: str) -> int:
    """Check the tables that the arguments name; `configuration`: JSON of that class."""
    options = _options(arguments)
    with contextlib.ExitStack() as stack:
        warehouse = stack.enter_context(no_warehouse())
        builder = SparkSession.builder.appName("kafka-harness check").config(map=dict(warehouse))
        spark = builder.getOrCreate()
        stack.callback(spark.stop)
        spark.sparkContext.setLogLevel("ERROR")
        spark.conf.set("spark.sql.ansi.enabled", "true")
        try:
            return _check(spark, options, configuration_from_json(configuration))
        except (TableError, Unreachable) as error:
            sys.stderr.write(f"error: {error}\n")
            return BAD_ARGUMENTS if isinstance(error, TableError) else FAILED


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="spark-submit JOB",
        description="Check two tables, what was sent and what was read, for what Kafka lost, "
        "duplicated or made up. `kafka-harness docs tables` describes them.",
    )
    table = "Parquet or CSV at any path or URI that Spark reads, or a Spark table's name"
    parser.add_argument("--sends", required=True, metavar="TABLE", help=f"What was sent: {table}.")
    parser.add_argument("--reads", required=True, metavar="TABLE", help="What was read.")
    parser.add_argument(
        "--final-read-is-complete",
        action="store_true",
        help="The final read got from offset 0 to the end of each partition, and nothing had been "
        "deleted. Without a column f, all reads are the final read.",
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=ROWS,
        metavar="N",
        help=f"Rows found that are printed, at most; 0: all. By default {ROWS}.",
    )
    options = parser.parse_args(arguments)
    if options.rows < 0:
        parser.error("--rows: give 0 or more")
    return options


def _check(spark: SparkSession, options: argparse.Namespace, configuration: Configuration) -> int:
    complete = options.final_read_is_complete
    tables = valid_tables(spark, options.sends, options.reads, all_final=complete)
    small = session(operations=tables.operations, started=spark)
    with small if tables.operations < SMALL else contextlib.nullcontext():
        found = findings_of(tables, configuration, complete=complete)
        _print_summary(tables, found)
        _print_rows(rows_with_texts(found, options.rows))
        if found.windows is not None:
            _print_rows(windows_in_order(found.windows, options.rows))
    return INVALID if found.verdict == "invalid" else UNKNOWN


def findings_of(tables: Tables, configuration: Configuration, *, complete: bool) -> Findings:
    """The findings in two tables. Raises TableError."""
    known = Known(
        new_topic=configuration.new_topic,
        once=configuration.run["one_copy"],
        without_acks=configuration.facts.acks == "0",
        partitions=configuration.partitions,
        complete=complete,
    )
    history = as_history(tables, known, _persisted)
    ended = {end["partition"]: end for end in history.ends}
    run = {
        "load_start_ns": tables.start_ns,
        "load_end_ns": tables.end_ns,
        "ends": [ended.get(number, {"complete": False}) for number in range(tables.partitions)],
        "tailing": False,
        "grouped": False,
    }
    found = findings(history.numbered, configuration, run, untold=history.untold, keep=_persisted)
    return replace(found, reasons=(*history.parted.notes, *found.reasons))


def _persisted(frame: DataFrame) -> DataFrame:
    return frame.persist(StorageLevel.MEMORY_AND_DISK)


def _print_summary(tables: Tables, found: Findings) -> None:
    _print(tables.summary)
    _print(f"verdict  {found.verdict.upper()}")
    _print(f"{'anomaly':<22}{'seen':>10}{'forbidden':>11}{'in doubt':>10}")
    for name, judgements in found.counts.items():
        counts = (judgements.get(FORBIDDEN, 0), judgements.get(IN_DOUBT, 0))
        cells = (sum(judgements.values()), *counts)
        _print(f"{name:<22}{cells[0]:>10,}{cells[1]:>11,}{cells[2]:>10,}")
    if found.windows is not None:
        longest_ns = F.max(F.col("end_ns") - F.col("start_ns"))
        [(count, longest)] = found.windows.select(F.count("*"), longest_ns).collect()
        _print(f"unavailable for writes {count:,} times, {(longest or 0) / 1e9:.3f} s at most")
    if found.below_log_start:
        _print(f"{found.below_log_start:,} acked below the first offset of the final read: unknown")
    if found.doubt:
        _print(f"in doubt, since {found.doubt}")
    for reason in found.reasons:
        _print(reason)


def windows_in_order(windows: DataFrame, limit: int) -> DataFrame:
    """The first `limit` windows (0: all) in order of time."""
    names = ("partition", "start_ns", "end_ns", "next_success_ns", "attempts")
    kind = F.col("kind").alias("unavailable")
    rows = windows.orderBy("start_ns", "partition").select(kind, *names)
    return rows.limit(limit) if limit else rows


def _print_rows(rows: DataFrame) -> None:
    """Print one line of JSON per row, with the cells that are not null."""
    for row in rows.toLocalIterator():
        known = {name: cell for name, cell in row.asDict().items() if cell is not None}
        _print(json.dumps(known, ensure_ascii=False))


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
