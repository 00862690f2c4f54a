"""What a group did with each value, and which commit went past it: tables for the rules on groups.

poll a, b    process a    committed: 2    =>  a: processed once    b: passed, by that commit
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.operations import is_processed, offset_of, partition_of, place_of


def with_handling(operations: DataFrame, fates: DataFrame) -> DataFrame:
    """`fates` with what the group did to each value, of runs that have a group.

    polled_ns (first; null: never), processed (how often, at the place where it was most often),
    processed_place, processed_ns (the last there), members (1, or 2: two or more, there), begun
    (how often processing has no known end), failed (how often it failed), committed and started (of
    the partition that has it in the end: where the group would go on, and the lowest offset that it
    was given).
    """
    partition = partition_of(F.col("first_place")).alias("partition")
    return (
        fates.join(_by_value(operations), on=["run_id", "value"], how="left")
        .withColumn("partition", partition)
        .join(F.broadcast(_by_partition(operations)), on=["run_id", "partition"], how="left")
    )


def with_last_poll(skipped: DataFrame, operations: DataFrame) -> DataFrame:
    """Skipped rows of `with_handling` with their last poll, and what its member did afterwards.

    polled_ns, polled_by, polled_partition and polled_offset (null: never polled), passed_ns (when
    that member then began to process a record at a later offset of that partition; null: never),
    and the columns of `passed_by`.
    """
    place = F.struct("end_ns", "process", "partition", "offset")
    last = (
        operations.where(F.col("f") == "poll")
        .join(F.broadcast(skipped.select("run_id", "value")), on=["run_id", "value"], how="inner")
        .groupBy("run_id", "value")
        .agg(F.max(place).alias("last"))
        .select(
            "run_id",
            "value",
            F.col("last.end_ns").alias("polled_ns"),
            F.col("last.process").alias("polled_by"),
            F.col("last.partition").alias("polled_partition"),
            F.col("last.offset").alias("polled_offset"),
        )
    )
    processed = operations.where(is_processed()).select(
        "run_id",
        F.col("process").alias("polled_by"),
        F.col("partition").alias("polled_partition"),
        F.col("offset").alias("later_offset"),
        F.col("start_ns").alias("later_ns"),
    )
    passed = (
        processed.join(
            F.broadcast(last), on=["run_id", "polled_by", "polled_partition"], how="inner"
        )
        .where(F.col("later_offset") > F.col("polled_offset"))
        .where(F.col("later_ns") >= F.col("polled_ns"))
        .groupBy("run_id", "value")
        .agg(F.min("later_ns").alias("passed_ns"))
    )
    return (
        skipped.drop("polled_ns")
        .join(last, on=["run_id", "value"], how="left")
        .join(passed, on=["run_id", "value"], how="left")
        .drop("sender", "transaction")
        .join(passed_by(skipped, operations), on=["run_id", "value"], how="left")
    )


def passed_by(rows: DataFrame, operations: DataFrame) -> DataFrame:
    """For rows of `with_handling` that the group went past: run_id, value, went_on_ns (when it was
    first known to have committed past them), sender and transaction (of that commit; null: none),
    and of_offsets, 1. Sorts commits and passed rows together, once."""
    place = ("run_id", "partition", "offset")
    commits = _transaction_commits(operations)
    passed = rows.withColumn("offset", offset_of(F.col("first_place"))).select(*place, "value")
    in_order = Window.partitionBy("run_id", "partition").orderBy("offset")
    behind = in_order.rangeBetween(1, Window.unboundedFollowing)
    return (
        commits.unionByName(passed, allowMissingColumns=True)
        .withColumn("first", F.min("tells").over(behind))
        .where(F.col("value").isNotNull())
        .select(
            "run_id",
            "value",
            F.col("first.end_ns").alias("went_on_ns"),
            "first.sender",
            "first.transaction",
            F.lit(1).alias("of_offsets"),
        )
    )


def _transaction_commits(operations: DataFrame) -> DataFrame:
    """run_id, partition, offset, and `tells` (end_ns, sender, transaction) of each commit that was
    acknowledged, or that the coordinator answered with. An answer is of the last transaction that
    handed in exactly that offset before."""
    place = ("run_id", "partition", "offset")
    sender = F.crc32("process").alias("sender")
    commits = operations.where(F.col("f") == "commit")
    handed_in = F.struct(F.col("start_ns").alias("begun_ns"), sender, "transaction")
    handed = commits.where(F.col("transaction").isNotNull()).select(*place, handed_in.alias("by"))
    answers = operations.where((F.col("f") == "committed") & (F.col("type") == "ok"))
    in_time = F.when(F.col("by.begun_ns") <= F.col("end_ns"), F.col("by"))
    by_answers = (
        answers.select(*place, "end_ns")
        .join(handed, on=[*place], how="left")
        .groupBy(*place, "end_ns")
        .agg(F.max(in_time).alias("by"))
        .select(*place, F.struct("end_ns", "by.sender", "by.transaction").alias("tells"))
    )
    acked = commits.where(F.col("type") == "ok")
    return acked.select(*place, F.struct("end_ns", sender, "transaction").alias("tells")).union(
        by_answers
    )


def _is_committed() -> Column:
    return F.col("f").isin("commit", "committed") & (F.col("type") == "ok")


def _by_value(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, value) that a member was given."""
    by_place = (
        operations.where(F.col("f").isin("poll", "process") & F.col("value").isNotNull())
        .groupBy("run_id", "value", place_of(F.col("partition"), F.col("offset")).alias("place"))
        .agg(
            F.min(F.when(F.col("f") == "poll", F.col("end_ns"))).alias("polled_ns"),
            F.count_if(is_processed()).alias("processed"),
            F.count_if((F.col("f") == "process") & (F.col("type") == "info")).alias("begun"),
            F.count_if((F.col("f") == "process") & (F.col("type") == "fail")).alias("failed"),
            F.max(F.when(is_processed(), F.col("end_ns"))).alias("processed_ns"),
            # Hashes: the least and the greatest of texts would need a sort.
            F.min(F.when(is_processed(), F.xxhash64("process"))).alias("one"),
            F.max(F.when(is_processed(), F.xxhash64("process"))).alias("other"),
        )
    )
    most = F.max_by(F.struct("place", "processed_ns", "one", "other"), F.col("processed")).alias(
        "most"
    )
    return (
        by_place.groupBy("run_id", "value")
        .agg(
            F.min("polled_ns").alias("polled_ns"),
            F.max("processed").alias("processed"),
            F.sum("begun").alias("begun"),
            F.sum("failed").alias("failed"),
            most,
        )
        .select(
            "run_id",
            "value",
            "polled_ns",
            "processed",
            "begun",
            "failed",
            F.col("most.place").alias("processed_place"),
            F.col("most.processed_ns").alias("processed_ns"),
            F.when(F.col("most.one") != F.col("most.other"), 2).otherwise(1).alias("members"),
        )
    )


def _by_partition(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, partition) that the group polled or committed."""
    committed = _is_committed()
    at = F.when(committed, F.col("offset"))
    moment = F.when(committed, F.col("end_ns"))
    return (
        operations.where(F.col("f").isin("poll", "commit", "committed"))
        .groupBy("run_id", "partition")
        .agg(
            F.min(F.when(F.col("f") == "poll", F.col("offset"))).alias("started"),
            F.max_by(at, moment).alias("committed"),
            F.max(moment).alias("committed_ns"),
        )
    )


def is_passed() -> Column:
    """Whether a value of `with_handling` is in the log, the group had begun at or before it, and
    would go on behind it."""
    return is_behind() & is_begun()


def is_behind() -> Column:
    """Whether the group would go on behind a value of `with_handling` that is in the log."""
    return offset_of(F.col("first_place")) < F.col("committed")


def is_begun() -> Column:
    """Whether it is at or behind the first offset that the group was given of its partition."""
    return F.coalesce(offset_of(F.col("first_place")) >= F.col("started"), F.lit(False))
