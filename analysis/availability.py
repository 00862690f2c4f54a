"""Unavailability windows: stretches in which somebody tried and nobody succeeded.

Per partition and kind. **produce**: the attempts are sends, from invoke to their end however they
ended; a success is an ack. **consume**: an attempt is an acked record that is still in the log,
from its ack to its first delivery by a consumer that follows the log; a success is any delivery.

    threshold 500 ms    acks at 1.0 s and 3.0 s    sends outstanding from 1.2 s to 3.0 s
    =>  one produce window, 1.2 s to 3.0 s
    the same, but nothing outstanding between 1.2 s and 2.9 s   =>  nothing: nobody tried

A window lies between two successive successes (or the start or end of the load and a success). It
begins with the first attempt after the one and ends with the last before the other; where
nothing is attempted for the threshold or longer it ends early, and another may begin. Shorter
pauses do not end it: a client that fails at once and tries again every 100 ms is in an outage. No
window is shorter than the threshold.

All stretches of the threshold and longer are found from the first and last success in each slice
of time as long as the threshold: two successes in one slice are closer than that, so no row is
sorted or shuffled to find them.

Cannot see: an outage in which nobody tried; one shorter than the threshold; who was at fault, the
cluster or the clients' starved host (run.json `host` says how starved it was).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.load import History
from analysis.loss import is_readable
from analysis.ops import ACKED, is_ack, is_delivery, is_send

_PARTITION = ["run_id", "partition"]
_FIRST_SLICE, _LAST_SLICE = -1, 2**62


def windows(history: History, fates: DataFrame) -> DataFrame:
    """All windows of all runs. Columns: run_id, kind, partition, start_ns, end_ns, attempts, and
    next_success_ns, which is null when nothing succeeded any more until the load ended."""
    operations = history.operations
    sends = operations.where(is_send()).select(*_PARTITION, "start_ns", "end_ns")
    acks = operations.where(is_ack()).select(*_PARTITION, F.col("end_ns").alias("time_ns"))
    reads = operations.where(is_delivery()).select(*_PARTITION, F.col("end_ns").alias("time_ns"))
    attempts = _kind("produce", sends).unionByName(_kind("consume", waiting(fates, history.runs)))
    successes = _kind("produce", acks).unionByName(_kind("consume", reads))
    found = stretches(attempts, gaps(successes, history))
    return found.select(
        "run_id", "kind", "partition", "start_ns", "end_ns", "next_success_ns", "attempts"
    )


def waiting(fates: DataFrame, runs: DataFrame) -> DataFrame:
    """Acked records from ack to delivery, in runs where a consumer follows the log. What is
    provably gone waits for nobody."""
    tailing = F.broadcast(runs.where("tailing").select("run_id"))
    late = F.col("delivered_ns").isNull() | (F.col("delivered_ns") > F.col("acked_ns"))
    return (
        fates.where((F.col("sent") == ACKED) & is_readable() & late)
        .join(tailing, on="run_id", how="left_semi")
        .select(
            "run_id",
            F.col("home").alias("partition"),
            F.col("acked_ns").alias("start_ns"),
            F.col("delivered_ns").alias("end_ns"),
        )
    )


def gaps(successes: DataFrame, history: History) -> DataFrame:
    """Stretches of at least the threshold without success: from_ns, to_ns, next_success_ns."""
    runs = F.broadcast(history.runs)
    since_ns = F.col("time_ns") - F.col("load_start_ns")
    slices = (
        successes.join(runs, on="run_id", how="inner")
        .where(F.col("time_ns").between(F.col("load_start_ns"), F.col("load_end_ns")))
        .withColumn("slice", F.floor(since_ns / F.col("threshold_ns")))
        .groupBy("run_id", "kind", "partition", "slice")
        .agg(F.min("time_ns").alias("first_ns"), F.max("time_ns").alias("last_ns"))
    )
    in_order = Window.partitionBy("run_id", "kind", "partition").orderBy("slice", "first_ns")
    to_ns, from_ns = F.col("first_ns"), F.lag("last_ns").over(in_order)
    return (
        slices.unionByName(_bounds(history))
        .withColumns({"from_ns": from_ns, "to_ns": to_ns})
        .where(F.col("slice") > _FIRST_SLICE)
        .withColumn("next_success_ns", F.when(F.col("slice") < _LAST_SLICE, F.col("to_ns")))
        .join(runs, on="run_id", how="inner")
        .where(F.col("to_ns") - F.col("from_ns") >= F.col("threshold_ns"))
        .select("run_id", "kind", "partition", "from_ns", "to_ns", "next_success_ns", "threshold_ns")
    )


def stretches(attempts: DataFrame, gaps: DataFrame) -> DataFrame:
    """The parts of gaps during which something was attempted, pauses below the threshold included."""
    gap = ["run_id", "kind", "partition", "from_ns"]
    inside = (
        attempts.withColumnRenamed("end_ns", "ended_ns")
        .join(F.broadcast(gaps), on=["run_id", "kind", "partition"], how="inner")
        .where(F.col("start_ns") < F.col("to_ns"))
        .where(F.col("ended_ns").isNull() | (F.col("ended_ns") > F.col("from_ns")))
        .withColumns(
            {
                "start_ns": F.greatest("start_ns", "from_ns"),
                "end_ns": F.least(F.coalesce("ended_ns", "to_ns"), "to_ns"),
            }
        )
    )
    in_order = Window.partitionBy(*gap).orderBy("start_ns")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    paused = F.col("start_ns") - F.max("end_ns").over(before) >= F.col("threshold_ns")
    return (
        inside.withColumn("begins", paused.cast("int"))
        .withColumn("stretch", F.coalesce(F.sum("begins").over(so_far), F.lit(0)))
        .groupBy(*gap, "stretch", "next_success_ns", "threshold_ns")
        .agg(
            F.min("start_ns").alias("start_ns"),
            F.max("end_ns").alias("end_ns"),
            F.count("*").alias("attempts"),
        )
        .where(F.col("end_ns") - F.col("start_ns") >= F.col("threshold_ns"))
    )


def _bounds(history: History) -> DataFrame:
    """The load's start and end as if something had succeeded there, for every partition."""
    ends = F.array(
        F.struct(F.lit(_FIRST_SLICE).cast("bigint").alias("slice"), F.col("load_start_ns").alias("at_ns")),
        F.struct(F.lit(_LAST_SLICE).alias("slice"), F.col("load_end_ns").alias("at_ns")),
    )
    kinds = F.array(F.lit("produce"), F.lit("consume"))
    return (
        history.partitions.join(F.broadcast(history.runs), on="run_id", how="inner")
        .withColumn("kind", F.explode(kinds))
        .withColumn("end", F.explode(ends))
        .select("run_id", "kind", "partition", "end.slice", F.col("end.at_ns").alias("first_ns"),
                F.col("end.at_ns").alias("last_ns"))
    )  # fmt: skip


def _kind(kind: str, rows: DataFrame) -> DataFrame:
    return rows.withColumn("kind", F.lit(kind))
