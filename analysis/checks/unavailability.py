"""Unavailability windows: stretches with attempts and without a success.

Per partition and kind. **produce**: the attempts are sends, from invoke to their end however they
ended; a success is an ack. **consume**: an attempt is an acked record that is still in the log,
from its ack to its first delivery by a consumer that follows the log; a success is any delivery.
**process**: an attempt is such a record, from its ack until a member of the consumer group first
processed it; a success is any record that a member processed.

    threshold 500 ms    acks at 1.0 s and 3.0 s    sends outstanding from 1.2 s to 3.0 s
    =>  one produce window, 1.2 s to 3.0 s
    the same, but nothing outstanding between 1.2 s and 2.9 s   =>  nothing: no attempts

    threshold 500 ms    processed at 1.0 s and 3.0 s    a record acked at 1.2 s, processed at 3.0 s
    =>  one process window, 1.2 s to 3.0 s, whatever other members got meanwhile
    the same, but the record is acked at 2.9 s                  =>  nothing: there was nothing to do

A record that no member ever processed waits until the group has processed a later offset: then it
is *skipped* (docs/anomalies.md), and causes no pause. A record before the lowest offset that the
group processed does not wait: the group may have begun after it (auto.offset.reset=latest).

A window lies between two successive successes (or a success and the start or end of the load). It
begins with the first attempt after the one and ends with the last before the other. A stretch of
the threshold or longer without attempts ends it early, and another may begin. Shorter pauses do not
end it: for a client that fails at once and retries every 100 ms, writes are unavailable. No window
is shorter than the threshold.

Successes in one slice of time as long as the threshold are closer than that. So the first and the
last success of each slice show all stretches without success, and no row is sorted or shuffled.

Cannot see: unavailability without attempts, or shorter than the threshold; whether the cause is the
cluster or the clients' starved host (run.json `host` says how starved it was); a group that only
skips; after a truncation, records that are never processed and lie below what was.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checks.loss import is_readable
from analysis.frames.history_frames import History
from analysis.frames.operations import ACKED, is_ack, is_delivery, is_processed, offset_of
from harness.history.record_format import SEQUENCE_BITS

_FIRST_SLICE, _LAST_SLICE = -1, 2**62
_KINDS = ("produce", "consume", "process")


def windows(history: History, fates: DataFrame) -> DataFrame:
    """All windows of all runs. Columns: run_id, kind, partition, start_ns, end_ns, attempts, and
    next_success_ns (null: none until the load ended)."""
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
    """Stretches of at least the threshold without success: from_ns, to_ns, next_success_ns; and the
    offsets of the first success of all, `first_offset`, and of the furthest before, `reached`."""
    facts = ["run_id", "load_start_ns", "load_end_ns", "threshold_ns", "tailing", "grouped"]
    runs = F.broadcast(history.runs.select(*facts))
    kind = F.when(is_ack(), "produce").when(is_delivery(), "consume").otherwise("process")
    since_ns = F.col("end_ns") - F.col("load_start_ns")
    keys = ["run_id", "kind", "partition", "threshold_ns", "tailing", "grouped"]
    slices = (
        history.operations.where(is_ack() | is_delivery() | is_processed())
        .join(runs, on="run_id", how="inner")
        .where(F.col("end_ns").between(F.col("load_start_ns"), F.col("load_end_ns")))
        .withColumns({"kind": kind, "slice": F.floor(since_ns / F.col("threshold_ns"))})
        .groupBy(*keys, "slice")
        .agg(
            F.min("end_ns").alias("to_ns"),
            F.max("end_ns").alias("last_ns"),
            F.min("offset").alias("least"),
            F.max("offset").alias("most"),
        )
    )
    by_partition = Window.partitionBy("run_id", "kind", "partition")
    in_order = by_partition.orderBy("slice")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    return (
        slices.unionByName(_bounds(history.runs))
        .where(_is("produce") | (_is("consume") & F.col("tailing")) | _by_group())
        .withColumn("from_ns", F.lag("last_ns").over(in_order))
        .withColumn("reached", F.max("most").over(before))
        .withColumn("first_offset", F.min("least").over(by_partition))
        .where(F.col("to_ns") - F.col("from_ns") >= F.col("threshold_ns"))
        .withColumn("next_success_ns", F.when(F.col("slice") < _LAST_SLICE, F.col("to_ns")))
        .drop("slice", "last_ns", "least", "most", "tailing", "grouped")
    )


def attempts(fates: DataFrame, gaps: DataFrame, runs: DataFrame) -> DataFrame:
    """The attempts in each gap, one row each, cut to the gap: start_ns, end_ns.

    A send that was open when its producer died ends then.
    """
    deaths = F.broadcast(runs.select("run_id", "deaths"))
    produce, process = _is("produce"), _is("process")
    waits = F.when(process, _waits("done_ns") & _is_to_come()).otherwise(_waits("delivered_ns"))
    start_ns = F.when(produce, F.col("sent_ns")).when(waits, F.col("acked_ns"))
    ended_ns = F.coalesce("ended_ns", died_ns())
    end_ns = (
        F.when(produce, ended_ns).when(process, F.col("done_ns")).otherwise(F.col("delivered_ns"))
    )
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


def _by_group() -> Column:
    return _is("process") & F.col("grouped")


def _is(kind: str) -> Column:
    return F.col("kind") == kind


def _waits(until: str) -> Column:
    """Whether an acked record that is not provably gone waits to be delivered or processed."""
    late = F.col(until).isNull() | (F.col(until) > F.col("acked_ns"))
    return (F.col("sent") == ACKED) & is_readable() & late


def _is_to_come() -> Column:
    """Whether a record was still to be processed in a gap: it was processed in the end, or nothing
    beyond it had been and the group began at or before it."""
    offset = offset_of(F.coalesce("first_place", "acked_place"))
    beyond = F.coalesce(F.col("reached") >= offset, F.lit(False))
    before = F.coalesce(offset < F.col("first_offset"), F.lit(False))
    return F.col("done_ns").isNotNull() | ~(beyond | before)


def _bounds(runs: DataFrame) -> DataFrame:
    """The load's start and end as successes, for every partition."""

    def bound(number: int, at_ns: str) -> Column:
        return F.struct(
            F.lit(number).cast("bigint").alias("slice"),
            F.col(at_ns).alias("to_ns"),
            F.col(at_ns).alias("last_ns"),
            nothing.alias("least"),
            nothing.alias("most"),
        )

    nothing = F.lit(None).cast("bigint")

    both = F.array(bound(_FIRST_SLICE, "load_start_ns"), bound(_LAST_SLICE, "load_end_ns"))
    return (
        runs.select("*", F.posexplode("ends").alias("partition", "_"))
        .withColumn("kind", F.explode(F.array(*map(F.lit, _KINDS))))
        .withColumn("bound", F.explode(both))
        .select("run_id", "kind", "partition", "threshold_ns", "tailing", "grouped", "bound.*")
    )
