"""Counts, rates, latencies and the timeline: what a run did, not what went wrong.

Latency counts from the time at which an operation was due (`intended_ns`), so that a worker held up
by a slow ack does not hide how late the next sends were: of acks until the ack arrived, of
delivery until a consumer first had the record. Quantiles are exact to 0.01 ms, the nearest rank
below or between two ranks as Spark's `percentile` interpolates.

Each operation counts in the bucket of time in which it ended; one that never ended, in the bucket
in which it began.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.load import History
from analysis.loss import is_unacknowledged_lost
from analysis.ops import ACKED, UNASKED, UNKNOWN, is_ack, is_delivery, is_send

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


def counts(operations: DataFrame) -> DataFrame:
    """One row a run: how many operations of each sort, and `ack_ms`, its latency quantiles."""
    kind, ended = F.col("type"), F.col("end_ns").isNotNull()
    lookup = F.col("f") == "lookup"
    sorts = {
        "sends": is_send(),
        "acked": is_ack(),
        "acked_without_offset": is_ack() & F.col("offset").isNull(),
        "failed": is_send() & (kind == "fail"),
        "indeterminate": is_send() & (kind == "info"),
        "reads": F.col("f") == "read",
        "lookups": lookup,
        "lookups_not_found": lookup & (kind != "ok") & ended,
        "final_read_records": F.col("f") == "final-read",
    }
    counted = [F.count_if(sort).alias(name) for name, sort in sorts.items()]
    return operations.groupBy("run_id").agg(*counted, _quantiles(_ack_ms()).alias("ack_ms"))


def landings(fates: DataFrame) -> DataFrame:
    """One row a run: what became of sends in doubt, and `delivery_ms`, its latency quantiles."""
    doubt = F.col("sent").isin(UNKNOWN, UNASKED)
    landed, whole = F.col("first_place").isNotNull(), F.col("complete")
    delivery = F.when(
        F.col("sent").isNotNull() & F.col("delivered_ns").isNotNull(),
        _ms(F.col("delivered_ns") - F.col("intended_ns")),
    )
    return fates.groupBy("run_id").agg(
        F.count_if(doubt & landed).alias("indeterminate_landed"),
        F.count_if(doubt & ~landed & whole).alias("indeterminate_not_landed"),
        F.count_if(is_unacknowledged_lost()).alias("unacknowledged_lost"),
        _quantiles(delivery).alias("delivery_ms"),
    )


def timeline(history: History, lost: DataFrame) -> DataFrame:
    """One row a run and bucket: t_s, acks, fails, infos, reads, lost (by their acks), latencies."""
    runs = F.broadcast(history.runs)
    happened = history.operations.where(F.col("f") != "final-read").select(
        "run_id",
        F.coalesce("end_ns", "start_ns").alias("time_ns"),
        is_ack().alias("ack"),
        (is_send() & (F.col("type") == "fail")).alias("fail"),
        (is_send() & (F.col("type") == "info")).alias("info"),
        is_delivery().alias("read"),
        F.lit(False).alias("lost"),  # noqa: FBT003
        _ack_ms().alias("ack_ms"),
    )
    no = F.lit(False)  # noqa: FBT003
    gone = lost.select(
        "run_id", F.col("acked_ns").alias("time_ns"), no.alias("ack"), no.alias("fail"),
        no.alias("info"), no.alias("read"), F.lit(True).alias("lost"),  # noqa: FBT003
        F.lit(None).cast("double").alias("ack_ms"),
    )  # fmt: skip
    since_ns = F.col("time_ns") - F.col("load_start_ns")
    ack_ms = F.percentile("ack_ms", F.array(F.lit(0.5), F.lit(0.99)))
    return (
        happened.unionByName(gone)
        .join(runs, on="run_id", how="inner")
        .withColumn("bucket", F.floor(since_ns / F.col("bucket_ns")))
        .groupBy("run_id", "bucket", "bucket_ns")
        .agg(
            *[F.count_if(name).alias(f"{name}s") for name in ("ack", "fail", "info", "read")],
            F.count_if("lost").alias("lost"),
            ack_ms.alias("ack_ms"),
        )
        .select(
            "run_id",
            (F.col("bucket") * F.col("bucket_ns") / 1e9).alias("t_s"),
            "acks", "fails", "infos", "reads", "lost",
            F.get("ack_ms", F.lit(0)).alias("ack_p50_ms"),
            F.get("ack_ms", F.lit(1)).alias("ack_p99_ms"),
        )
    )  # fmt: skip


def _ack_ms() -> Column:
    return F.when(is_ack(), _ms(F.col("end_ns") - F.col("intended_ns")))


def _ms(length_ns: Column) -> Column:
    """Milliseconds to two places: few distinct values, so that exact quantiles stay cheap."""
    return F.round(length_ns / 1e6, 2)


def _quantiles(column: Column) -> Column:
    return F.percentile(column, F.array(*[F.lit(q) for q in QUANTILES.values()]))
