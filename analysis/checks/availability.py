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

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checks.loss import is_readable
from analysis.frames.history import History
from analysis.frames.operations import ACKED, is_ack, is_delivery
from harness.history.record_format import SEQUENCE_BITS

_FIRST_SLICE, _LAST_SLICE = -1, 2**62


def windows(history: History, fates: DataFrame) -> DataFrame:
    """All windows of all runs. Columns: run_id, kind, partition, start_ns, end_ns, attempts, and
    next_success_ns, which is null when nothing succeeded any more until the load ended."""
    gap = ["run_id", "kind", "partition", "from_ns", "next_success_ns", "threshold_ns"]
    in_order = Window.partitionBy("run_id", "kind", "partition", "from_ns").orderBy("start_ns")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    paused_ns = F.col("start_ns") - F.max("end_ns").over(before)
    begins = F.when(paused_ns >= F.col("threshold_ns"), 1).otherwise(0)
    return (
        attempts(fates, gaps(history), history.runs)
        .withColumn("begins", begins)
        .withColumn("stretch", F.sum("begins").over(so_far))
        .groupBy(*gap, "stretch")
        .agg(
            F.min("start_ns").alias("start_ns"),
            F.max("end_ns").alias("end_ns"),
            F.count("*").alias("attempts"),
        )
        .where(F.col("end_ns") - F.col("start_ns") >= F.col("threshold_ns"))
        .select(*gap[:3], "start_ns", "end_ns", "next_success_ns", "attempts")
    )


def gaps(history: History) -> DataFrame:
    """Stretches of at least the threshold without success: from_ns, to_ns, next_success_ns."""
    known = ["run_id", "load_start_ns", "load_end_ns", "threshold_ns", "tailing"]
    runs = F.broadcast(history.runs.select(*known))
    kind = F.when(is_ack(), "produce").when(is_delivery(), "consume")
    since_ns = F.col("end_ns") - F.col("load_start_ns")
    keys = ["run_id", "kind", "partition", "threshold_ns", "tailing"]
    slices = (
        history.operations.where(is_ack() | is_delivery())
        .join(runs, on="run_id", how="inner")
        .where(F.col("end_ns").between(F.col("load_start_ns"), F.col("load_end_ns")))
        .withColumns({"kind": kind, "slice": F.floor(since_ns / F.col("threshold_ns"))})
        .groupBy(*keys, "slice")
        .agg(F.min("end_ns").alias("to_ns"), F.max("end_ns").alias("last_ns"))
    )
    in_order = Window.partitionBy("run_id", "kind", "partition").orderBy("slice")
    return (
        slices.unionByName(_bounds(history.runs))
        .withColumn("from_ns", F.lag("last_ns").over(in_order))
        .where(F.col("to_ns") - F.col("from_ns") >= F.col("threshold_ns"))
        .where((F.col("kind") == "produce") | F.col("tailing"))
        .withColumn("next_success_ns", F.when(F.col("slice") < _LAST_SLICE, F.col("to_ns")))
        .drop("slice", "last_ns", "tailing")
    )


def attempts(fates: DataFrame, gaps: DataFrame, runs: DataFrame) -> DataFrame:
    """What was attempted in each gap, one row an attempt, cut to the gap: start_ns, end_ns.

    A send that was open when its producer died was attempted until then.
    """
    deaths = F.broadcast(runs.select("run_id", "deaths"))
    produce = F.col("kind") == "produce"
    start_ns = F.when(produce, F.col("sent_ns")).when(_waits(), F.col("acked_ns"))
    ended_ns = F.coalesce("ended_ns", died_ns())
    end_ns = F.when(produce, ended_ns).otherwise(F.col("delivered_ns"))
    return (
        fates.withColumnRenamed("home", "partition")
        .join(deaths, on="run_id", how="inner")
        .join(F.broadcast(gaps), on=["run_id", "partition"], how="inner")
        .where(start_ns < F.col("to_ns"))
        .where(F.coalesce(end_ns, F.col("to_ns")) > F.col("from_ns"))
        .withColumns(
            {
                "start_ns": F.greatest(start_ns, F.col("from_ns")),
                "end_ns": F.least(end_ns, F.col("to_ns")),  # an open one lasts: nulls are skipped
            }
        )
    )


def died_ns() -> Column:
    """When the producer of a value died (schema.RUNS, `deaths`); null: it ended in order."""
    producer = F.shiftright("value", SEQUENCE_BITS)
    its_own = F.filter("deaths", lambda death: death["producer"] == producer)
    return F.get(its_own, F.lit(0))["died_ns"]


def _waits() -> Column:
    """Whether an acked record waits to be delivered. What is provably gone waits for nobody."""
    late = F.col("delivered_ns").isNull() | (F.col("delivered_ns") > F.col("acked_ns"))
    return (F.col("sent") == ACKED) & is_readable() & late


def _bounds(runs: DataFrame) -> DataFrame:
    """The load's start and end as if something had succeeded there, for every partition."""

    def bound(number: int, at_ns: str) -> Column:
        return F.struct(
            F.lit(number).cast("bigint").alias("slice"),
            F.col(at_ns).alias("to_ns"),
            F.col(at_ns).alias("last_ns"),
        )

    both = F.array(bound(_FIRST_SLICE, "load_start_ns"), bound(_LAST_SLICE, "load_end_ns"))
    return (
        runs.select("*", F.posexplode("ends").alias("partition", "_"))
        .withColumn("kind", F.explode(F.array(F.lit("produce"), F.lit("consume"))))
        .withColumn("bound", F.explode(both))
        .select("run_id", "kind", "partition", "threshold_ns", "tailing", "bound.*")
    )
