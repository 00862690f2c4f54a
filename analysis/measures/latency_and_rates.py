"""Counts, rates, latencies and the timeline: what a run did, not what went wrong.

Latency counts from the time at which an operation was due (`intended_ns`), so that a worker held up
by a slow ack does not hide how late the next sends were: of acks until the ack arrived, of
delivery until a consumer or a member of the group first had the record. One that is in the log, or
was acknowledged and is not provably gone, and that nobody was given counts as it waited until the
load ended: else a reader that leaves out what is late would be a fast one.

Quantiles are of latencies rounded to four significant digits, and to 0.01 ms at the least, as
HdrHistogram does: each is off by at most 0.05 %, or by 0.005 ms where that is more. So latencies
are counted, not sorted. Between two ranks Spark's `percentile` interpolates.

    two sends due at 1 s and 2 s, given to a consumer at 1.1 s and never    the load ends at 10 s
    =>  delivery after 0.1 s and 8 s
    the same, but there is no consumer                                      =>  no delivery

Each operation counts in the bucket of time in which it ended; one that never ended, in the bucket
in which it began.

A send is *aborted* if its client aborted its transaction without an error of the send's own or of
a commit: on purpose, or because a transformer gave it up with its partitions.

A *redelivery* is a record, partition and offset, that a reader was given once more during the load:
each delivery after its first counts. A reader is a consumer that follows the log, or all members of
the consumer group together. Looking one record up (`lookup`) is no delivery of the log.

    consumer-0 reads 0, 1, 1 and 0          =>  2 redeliveries
    consumer-0 and consumer-1 read 0 each   =>  nothing: they follow the log on their own
    one member polls 0, then another does   =>  1 redelivery
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checks.loss import is_below_start, is_readable, is_unacknowledged_lost, lost
from analysis.frames.elections import is_past
from analysis.frames.history import History
from analysis.frames.operations import (
    ACKED,
    FAILED,
    UNASKED,
    UNKNOWN,
    is_ack,
    is_delivery,
    is_final,
    is_processed,
    is_send,
)

ABORTED_NAME = "_ABORTED"  # docs/history.md, "In a transaction"
UNITS_NS = (10**4, 10**5, 10**6, 10**7)  # what latencies are rounded to: each up to 10,000 of it
PLACES = 6  # of a quantile, in ms
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


def counts(history: History) -> DataFrame:
    """One row a run (bucket null) and one for each of its buckets, numbered from the load's start:
    how many operations of each sort, and `latency_ms`, the latency quantiles of acks.

    Operations are counted by what tells them apart first, and all sums are of these few rows.
    Latencies are counted apart, since sends are few of the rows, and in files of their own.
    """
    runs = F.broadcast(history.runs.select("run_id", "load_start_ns", "bucket_ns", "alone"))
    apart = {
        "ended": F.col("end_ns").isNotNull(),
        "placed": F.col("offset").isNotNull(),
        "aborted": F.coalesce(F.col("error") == ABORTED_NAME, F.lit(False)),
        "alone": is_ack() & (F.size("alone") > 0) & F.exists("alone", _within),
    }
    totals = {name: F.sum(F.when(sort, F.col("times"))) for name, sort in _sorts().items()}
    counted = (
        history.operations.join(runs, on="run_id", how="inner")
        .select("run_id", _bucket(), "f", "type", *[how.alias(name) for name, how in apart.items()])
        .groupBy("run_id", "bucket", "f", "type", *apart)
        .agg(F.count(F.lit(1)).alias("times"))
        .groupingSets([["run_id"], ["run_id", "bucket"]], "run_id", "bucket")
        .agg(*[F.coalesce(total, F.lit(0)).alias(name) for name, total in totals.items()])
    )
    return counted.join(
        _latencies(history).withColumnsRenamed({"run_id": "run", "bucket": "of_bucket"}),
        on=(F.col("run_id") == F.col("run")) & F.col("bucket").eqNullSafe(F.col("of_bucket")),
        how="left",
    ).drop("run", "of_bucket")


def _latencies(history: History) -> DataFrame:
    """The quantiles of acks, `latency_ms`, of each run and each of its buckets."""
    runs = F.broadcast(history.runs.select("run_id", "load_start_ns", "bucket_ns"))
    took = hundredths(F.col("end_ns") - F.col("intended_ns"))
    return (
        history.operations.where(is_ack())
        .join(runs, on="run_id", how="inner")
        .groupBy("run_id", _bucket(), took.alias("took"))
        .agg(F.count(F.lit(1)).alias("times"))
        .groupingSets([["run_id"], ["run_id", "bucket"]], "run_id", "bucket")
        .agg(quantiles("took", F.col("times")).alias("latency_ms"))
    )


def _bucket() -> Column:
    """The bucket of time in which an operation counts; of the final read -1."""
    since_ns = F.coalesce("end_ns", "start_ns") - F.col("load_start_ns")
    number = F.floor(since_ns / F.col("bucket_ns"))
    return F.when(~is_final(), number).otherwise(-1).alias("bucket")


def _sorts() -> dict[str, Column]:
    """What each count is of."""
    kind, lookup = F.col("type"), F.col("f") == "lookup"
    return {
        "sends": is_send(),
        "acked": is_ack(),
        "acked_without_offset": is_ack() & ~F.col("placed"),
        "acked_isr_alone": F.col("alone"),
        "failed": is_send() & (kind == "fail"),
        "aborted": is_send() & (kind == "fail") & F.col("aborted"),
        "indeterminate": is_send() & (kind == "info"),
        "reads": F.col("f") == "read",
        "deliveries": is_delivery(),
        "lookups": lookup,
        "lookups_not_found": lookup & (kind != "ok") & F.col("ended"),
        "final_read_records": is_final(),
        "processed": is_processed(),
        "commits": (F.col("f") == "commit") & (kind == "ok"),
    }


def landings(fates: DataFrame, runs: DataFrame) -> DataFrame:
    """One row a run: what became of sends in doubt, of records acked below the log's start and of
    what an elected leader did not have (analysis.frames.elections), and `delivery_ms`, its latency
    quantiles."""
    doubt = F.col("sent").isin(UNKNOWN, UNASKED)
    landed, whole = F.col("first_place").isNotNull(), F.col("complete")
    had_ns = F.coalesce("delivered_ns", F.when(_waits_in_vain(), F.col("load_end_ns")))
    late = F.when(F.col("sent").isNotNull(), hundredths(had_ns - F.col("intended_ns")))
    gone, past = lost().holds, is_past()
    known = F.broadcast(runs.select("run_id", "elections", "load_end_ns", "tailing", "grouped"))
    return (
        fates.join(known, on="run_id", how="inner")
        .groupBy("run_id")
        .agg(
            F.count_if(doubt & landed).alias("indeterminate_landed"),
            F.count_if(doubt & ~landed & whole).alias("indeterminate_not_landed"),
            F.count_if(is_below_start()).alias("acked_below_log_start"),
            F.count_if(is_unacknowledged_lost()).alias("unacknowledged_lost"),
            F.count_if(past & gone).alias("lost_past_log_end"),
            F.count_if(past & landed).alias("kept_past_log_end"),
            quantiles(late).alias("latency_ms"),
        )
    )


def redeliveries(operations: DataFrame) -> DataFrame:
    """One row for each run in which anything was delivered: how many redeliveries there were."""
    in_group = F.col("f") == "poll"
    reader = F.when(~in_group, F.xxhash64("process")).otherwise(0)  # of a text: longer to compare
    bucket = F.bitmap_bucket_number(F.col("offset")).alias("bucket")
    # One bit for each offset: no row is shuffled.
    offsets = F.bitmap_count(F.bitmap_construct_agg(F.bitmap_bit_position(F.col("offset"))))
    return (
        # A look-up seeks its record: the same consumer may have been given it by a read before.
        operations.where(is_delivery() & (F.col("f") != "lookup"))
        .groupBy("run_id", reader.alias("reader"), "partition", bucket)
        .agg((F.count("*") - offsets).alias("again"))
        .groupBy("run_id")
        .agg(F.sum("again").alias("redeliveries"))
    )


def _waits_in_vain() -> Column:
    """Whether a record that was due within the load is there, somebody reads, and never had it."""
    landed = F.col("first_place").isNotNull() & (F.col("sent") != FAILED)
    there = landed | ((F.col("sent") == ACKED) & is_readable())
    due = F.col("intended_ns") < F.col("load_end_ns")
    return there & due & (F.col("tailing") | F.col("grouped"))


def _within(alone: Column) -> Column:
    """Whether an operation ended in this time of its partition's."""
    ended = F.col("end_ns")
    return (
        (alone["partition"] == F.col("partition"))
        & (ended >= alone["from_ns"])
        & (ended < alone["to_ns"])
    )


def hundredths(length_ns: Column) -> Column:
    """A time in hundredths of a millisecond, to four significant digits, beyond 100 s to 10 ms: few
    distinct numbers, so that they can be counted."""
    unit_ns = F.lit(UNITS_NS[-1])
    for unit in reversed(UNITS_NS[:-1]):
        unit_ns = F.when(length_ns < unit * 10_000, unit).otherwise(unit_ns)
    return F.floor((length_ns + unit_ns / 2) / unit_ns) * (unit_ns / UNITS_NS[0]).cast("bigint")


def quantiles(latency: Column | str, times: Column | int = 1) -> Column:
    """The quantiles, in ms, of latencies in hundredths, each seen so many times."""
    ranks = F.array(*[F.lit(q) for q in QUANTILES.values()])
    found = F.percentile(latency, ranks, times)
    # Between two hundredths lie thousandths of these at most: the rest is floating point's.
    return F.transform(found, lambda each: F.round(each / 100, PLACES))
