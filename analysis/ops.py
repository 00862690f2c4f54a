"""Operations by what they are, and the fate of every value: the two tables that the checks share.

A *place* is a partition and an offset in one number, so that Spark can compare, count and
aggregate it as it stands (offsets stay far below 2^48, partitions below 2^15).

`sightings`: one row for each value and place of it: was it acked there, read there, is it there
at the end? `fates`: one row for each value that is one:

    send 7 -> ok at 0/41    lookup: 7 at 0/41    final read: 7 at 0/41
    =>  sent ACKED, acked_place = delivered_place = first_place = last_place = 0/41, copies 1

Both together shuffle the operations once, by value, whatever the number of runs.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

OFFSET_BITS = 48
NO_ACK = "_NO_ACK"  # how the workers name the end of a send that asked for no ack

UNPARSABLE = -1  # stands for a payload that is no value of ours

# How a send ended, best last: of two sends of one value the better one counts.
FAILED, UNKNOWN, UNASKED, ACKED = 1, 2, 3, 4
SENT_NAMES = {FAILED: "fail", UNKNOWN: "info", UNASKED: "no-ack", ACKED: "acked"}


def is_send() -> Column:
    """Whether an operation is a send."""
    return F.col("f") == "send"


def is_ack() -> Column:
    """Whether an operation is a send that was acknowledged."""
    return is_send() & (F.col("type") == "ok")


def is_delivery() -> Column:
    """Whether an operation handed a record to a consumer during the load."""
    return F.col("f").isin("read", "lookup") & (F.col("type") == "ok")


def place_of(partition: Column, offset: Column) -> Column:
    """Partition and offset as one number; null where the offset is."""
    return F.shiftleft(partition.cast("bigint"), OFFSET_BITS).bitwiseOR(offset)


def partition_of(place: Column) -> Column:
    """The partition of a place."""
    return F.shiftright(place, OFFSET_BITS).cast("int")


def offset_of(place: Column) -> Column:
    """The offset of a place."""
    return place.bitwiseAND(F.lit((1 << OFFSET_BITS) - 1))


def sightings(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, value, place); place is null where none is known.

    Columns: sent, home (the partition sent to), intended_ns, sent_ns, acked_ns, delivered_ns
    (first delivery here), finally (1 if the final read found it here), looked_ns, gave_up_ns
    (a lookup that did not find it).
    """
    ok, lookup = F.col("type") == "ok", F.col("f") == "lookup"
    rank = (
        F.when(ok, ACKED)
        .when(F.col("type") == "fail", FAILED)
        .when(F.col("error") == NO_ACK, UNASKED)
        .otherwise(UNKNOWN)
    )
    place = F.when(ok, place_of(F.col("partition"), F.col("offset")))
    return (
        operations.withColumn("place", place)
        .repartition("run_id", "value")
        .groupBy("run_id", "value", "place")
        .agg(
            F.max(F.when(is_send(), rank)).alias("sent"),
            F.max(F.when(is_send(), F.col("partition"))).alias("home"),
            F.min(F.when(is_send(), F.col("intended_ns"))).alias("intended_ns"),
            F.min(F.when(is_send(), F.col("start_ns"))).alias("sent_ns"),
            F.min(F.when(is_ack(), F.col("end_ns"))).alias("acked_ns"),
            F.min(F.when(is_delivery(), F.col("end_ns"))).alias("delivered_ns"),
            F.max(F.when(F.col("f") == "final-read", 1)).alias("finally"),
            F.min(F.when(lookup, F.col("start_ns"))).alias("looked_ns"),
            F.max(F.when(lookup & ~ok, F.col("end_ns"))).alias("gave_up_ns"),
        )
    )


def fates(sightings: DataFrame, partitions: DataFrame) -> DataFrame:
    """One row for each (run_id, value): how it was sent, where it was seen, and whether the final
    read of its partition is complete (with its log_start). Unparsable payloads have no fate.
    """
    here, finally_ = F.col("place"), F.col("finally").isNotNull()
    delivered, acked = F.col("delivered_ns").isNotNull(), F.col("sent") == ACKED
    values = (
        sightings.where(F.col("value").isNotNull())
        .groupBy("run_id", "value")
        .agg(
            F.max("sent").alias("sent"),
            F.max("home").alias("home"),
            F.min("intended_ns").alias("intended_ns"),
            F.min("sent_ns").alias("sent_ns"),
            F.min("acked_ns").alias("acked_ns"),
            F.max(F.when(acked, here)).alias("acked_place"),
            F.max(F.when(acked & finally_, 1)).alias("stayed"),
            F.min("delivered_ns").alias("delivered_ns"),
            F.max(F.when(delivered, here)).alias("delivered_place"),
            F.min(F.when(delivered | finally_, here)).alias("lowest_place"),
            F.max(F.when(delivered | finally_, here)).alias("highest_place"),
            F.min(F.when(finally_, here)).alias("first_place"),
            F.max(F.when(finally_, here)).alias("last_place"),
            F.count("finally").cast("int").alias("copies"),
            F.min("looked_ns").alias("looked_ns"),
            F.max("gave_up_ns").alias("gave_up_ns"),
        )
    )
    homes = F.broadcast(partitions.withColumnRenamed("partition", "home"))
    return (
        values.withColumn("home", F.coalesce("home", partition_of(F.col("lowest_place"))))
        .join(homes, on=["run_id", "home"], how="left")
        .withColumn("complete", F.coalesce("complete", F.lit(False)))  # noqa: FBT003
        .withColumn("log_start", F.coalesce("log_start", F.lit(0)))
    )
