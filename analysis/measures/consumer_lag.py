"""Consumer lag over time: how many records of the log a reader had not been given yet.

A reader is a consumer that follows the log, or all members of the consumer group together. Of each
partition its lag is the end of the log, as far as acks tell it, less the offset after the last
record that the reader was given; a reader's lag is the sum over all partitions. Both ends are taken
in slices of time (400 a load, fewer where there are many partitions): the furthest of the slice or,
where nothing was acked or read in it, the one before. A reader begins at offset 0.

    acked up to offset 9 at 1 s     consumer-0 was given 0 to 4 by then     =>  it lags by 5 at 1 s
    a leader without 7, 8, 9 takes over, and the next ack has offset 7      =>  the log ends at 8

Cannot see: records without an ack, which make the log longer; a reader's commits; what the last
slice of an outage hides: within a slice, the furthest counts; a reader that was given nothing.

Spark finds both ends, a row a slice, and all else is a pure function over these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.history import History
from analysis.frames.operations import is_ack
from analysis.stored.stored_run import Run

Row = Mapping[str, Any]
SLICES, FEWEST = 400, 20
ROWS = 40_000  # a run's slices times its partitions, about
GROUP = "consumer group"


def positions(history: History) -> DataFrame:
    """One row a slice of the load, partition and reader (null: the log): run_id, slice_ns, slice,
    partition, reader, position (the offset after the furthest)."""
    load_ns = F.col("load_end_ns") - F.col("load_start_ns")
    many = F.floor(F.lit(ROWS) / F.greatest(F.size("ends"), F.lit(1)))
    slices = F.greatest(F.lit(FEWEST), F.least(F.lit(SLICES), many))
    slice_ns = F.greatest("bucket_ns", F.ceil(load_ns / slices))
    runs = history.runs.select("run_id", "load_start_ns", "load_end_ns", slice_ns.alias("slice_ns"))
    given = F.col("f").isin("read", "poll") & (F.col("type") == "ok")
    reader = F.when(F.col("f") == "poll", GROUP).when(F.col("f") == "read", F.col("process"))
    number = F.floor((F.col("end_ns") - F.col("load_start_ns")) / F.col("slice_ns"))
    return (
        history.operations.where((is_ack() | given) & F.col("offset").isNotNull())
        .join(F.broadcast(runs), on="run_id", how="inner")
        .where(F.col("end_ns") <= F.col("load_end_ns"))
        .select(
            "run_id",
            "slice_ns",
            F.greatest(F.lit(0), number).alias("slice"),  # the warm-up's are where it begins
            "partition",
            reader.alias("reader"),
            "offset",
        )
        .groupBy("run_id", "slice_ns", "slice", "partition", "reader")
        .agg((F.max("offset") + 1).alias("position"))
    )


def lag(run: Run, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The lag of each reader at the end of each slice: `t_s` and `lag` by reader; nothing where
    nobody read."""
    readers = sorted({row["reader"] for row in rows} - {None})
    if not readers:
        return []
    by_slice: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_slice[row["slice"]].append(row)
    slice_ns, load_ns = rows[0]["slice_ns"], run.load_end_ns - run.load_start_ns
    ends: dict[Any, dict[int, int]] = {reader: {} for reader in (None, *readers)}
    told = []
    for number in range(-(-load_ns // slice_ns)):
        for row in by_slice[number]:
            ends[row["reader"]][row["partition"]] = row["position"]
        lags = {reader: _behind(ends[None], ends[reader]) for reader in readers}
        told.append({"t_s": min((number + 1) * slice_ns, load_ns) / 1e9, "lag": lags})
    return told


def worst(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """By reader, from rows of `lag`: the most records that it lagged by, `max`, at the end of which
    slice first, `at_s`, and by how many when the load ended, `end`."""
    told = {}
    for reader in rows[0]["lag"] if rows else ():
        most = max(rows, key=lambda row: int(row["lag"][reader]))
        told[reader] = {
            "max": most["lag"][reader],
            "at_s": most["t_s"],
            "end": rows[-1]["lag"][reader],
        }
    return told


def _behind(log: Mapping[int, int], read: Mapping[int, int]) -> int:
    """By how many records, in all partitions."""
    return sum(max(0, end - read.get(partition, 0)) for partition, end in log.items())
