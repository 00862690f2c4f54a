"""The check of two tables as one spark-submit: what `kafka-harness check --write-job` puts into a
file (docs/tables.md).

    spark-submit job.py --sends shop.sends --reads s3a://bucket/reads --final-read-is-complete

Prints the verdict, what was found of each anomaly, and a line of JSON for each row found and for
each window of unavailability. Nothing is written. Exit codes are those of kafka-harness: 0, 1, 2,
254, 255.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.permission import FORBIDDEN, IN_DOUBT
from analysis.remote.java_errors import Unreachable
from analysis.spark.session import SMALL, no_warehouse, session
from analysis.tables.final_read import ends
from analysis.tables.findings import Findings, Known, findings, known_of, shown
from analysis.tables.numbered import numbered
from analysis.tables.opened import TableError
from analysis.tables.told import Tables, tables
from harness.model.exit_codes import BAD_ARGUMENTS, FAILED, INVALID, UNKNOWN

ROWS = 100
NO_FINAL = "no final read, so nothing is called lost"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """A wrong option is no verdict: argparse would exit with 2."""
        self.print_usage(sys.stderr)
        self.exit(BAD_ARGUMENTS, f"error: {message}\n")


def main(arguments: Sequence[str], known: str) -> int:
    """Check what the arguments name; `known`: see analysis.tables.findings."""
    asked = _asked(arguments)
    with contextlib.ExitStack() as stack:
        warehouse = stack.enter_context(no_warehouse())
        builder = SparkSession.builder.appName("kafka-harness check").config(map=dict(warehouse))
        spark = builder.getOrCreate()
        stack.callback(spark.stop)
        spark.sparkContext.setLogLevel("ERROR")
        spark.conf.set("spark.sql.ansi.enabled", "true")
        try:
            return _checked(spark, asked, known_of(known))
        except (TableError, Unreachable) as error:
            sys.stderr.write(f"error: {error}\n")
            return BAD_ARGUMENTS if isinstance(error, TableError) else FAILED


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
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
    asked = parser.parse_args(arguments)
    if asked.rows < 0:
        parser.error("--rows: give 0 or more")
    return asked


def _checked(spark: SparkSession, asked: argparse.Namespace, known: Known) -> int:
    complete = asked.final_read_is_complete
    told = tables(spark, asked.sends, asked.reads, all_final=complete)
    small = session(operations=told.operations, started=spark)
    with small if told.operations < SMALL else contextlib.nullcontext():
        found = judged(told, known, complete=complete)
        _show(told, found)
        _tell(shown(found, asked.rows))
        if found.windows is not None:
            _tell(outages(found.windows, asked.rows))
    return INVALID if found.verdict == "invalid" else UNKNOWN


def judged(told: Tables, known: Known, *, complete: bool) -> Findings:
    """What is found in two tables. Raises TableError."""
    run = {
        "load_start_ns": told.start_ns,
        "load_end_ns": told.end_ns,
        "ends": ends(told, complete=complete) or [{"complete": False}] * told.partitions,
        "tailing": False,
        "grouped": False,
    }
    made = numbered(told, asks_none=known.facts.acks == "0", keep=_kept)
    return findings(made, known, run, untold=told.untold, keep=_kept)


def _kept(frame: DataFrame) -> DataFrame:
    return frame.persist(StorageLevel.MEMORY_AND_DISK)


def _show(told: Tables, found: Findings) -> None:
    sends, reads = sum(told.producers.values()), sum(told.readers.values())
    final = f"{told.final:,} by the final read" if told.final else NO_FINAL
    _say(f"{sends:,} sends, {told.acked:,} acked; {reads:,} records read, {final}")
    _say(f"verdict  {found.verdict.upper()}")
    _say(f"{'anomaly':<22}{'seen':>10}{'forbidden':>11}{'in doubt':>10}")
    for name, by in found.counts.items():
        cells = (sum(by.values()), by.get(FORBIDDEN, 0), by.get(IN_DOUBT, 0))
        _say(f"{name:<22}{cells[0]:>10,}{cells[1]:>11,}{cells[2]:>10,}")
    if found.windows is not None:
        longest_ns = F.max(F.col("end_ns") - F.col("start_ns"))
        [(many, longest)] = found.windows.select(F.count("*"), longest_ns).collect()
        _say(f"unavailable for writes {many:,} times, {(longest or 0) / 1e9:.3f} s at most")
    if found.below:
        _say(f"{found.below:,} acked below the first offset of the final read: unknown")
    if found.doubt:
        _say(f"in doubt, since {found.doubt}")
    for reason in found.reasons:
        _say(reason)


def outages(found: DataFrame, most: int) -> DataFrame:
    """Windows in order of time; `most` of them, or all where it is 0."""
    names = ("partition", "start_ns", "end_ns", "next_success_ns", "attempts")
    rows = found.orderBy("start_ns", "partition").select(F.col("kind").alias("unavailable"), *names)
    return rows.limit(most) if most else rows


def _tell(rows: DataFrame) -> None:
    """A line of JSON a row, with the cells that are known."""
    for row in rows.toLocalIterator():
        known = {name: cell for name, cell in row.asDict().items() if cell is not None}
        _say(json.dumps(known, ensure_ascii=False))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
