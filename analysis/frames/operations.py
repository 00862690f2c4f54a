"""Kinds of operations, and the fates of values and places, for all checks.

A *place* is a partition and an offset in one number, so that Spark can compare, count and
aggregate it as it stands (offsets stay far below 2^48, partitions below 2^15).

`fates`: one row per value, with all that is known of it; one shuffle, by value:

    send 7 -> ok at 0/41    lookup: 7 at 0/41    final read: 7 at 0/41
    =>  sent ACKED, acked_place = delivered_place = first_place = last_place = 0/41, copies 1

`places`: one row per place that was acknowledged or read, with the values that were there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

OFFSET_BITS = 48
NO_ACK = "_NO_ACK"  # the workers' error for the end of a send with acks=0

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
    return F.col("f").isin("read", "lookup", "poll") & (F.col("type") == "ok")


def is_processed() -> Column:
    """Whether an operation is a record that a member of the consumer group processed."""
    return (F.col("f") == "process") & (F.col("type") == "ok")


def is_final() -> Column:
    """Whether an operation is a record of the final read."""
    return F.col("f") == "final-read"


def place_of(partition: Column, offset: Column) -> Column:
    """Partition and offset as one number; null where the offset is."""
    return F.shiftleft(partition.cast("bigint"), OFFSET_BITS).bitwiseOR(offset)


def partition_of(place: Column) -> Column:
    """The partition of a place."""
    return F.shiftright(place, OFFSET_BITS).cast("int")


def offset_of(place: Column) -> Column:
    """The offset of a place."""
    return place.bitwiseAND(F.lit((1 << OFFSET_BITS) - 1))


def fates(operations: DataFrame, runs: DataFrame, *, compacted: bool = False) -> DataFrame:
    """One row for each (run_id, value); payloads that are no value have no fate.

    sent (one of the numbers above, null: never), home (the partition sent to or seen in), instance
    (of the client that sent it, under its worker's name; null: not recorded), sender (the CRC-32 of
    that name: the greatest of texts would need a sort), transaction (of that worker; null: none),
    intended_ns, sent_ns, ended_ns (null: open), acked_ns, acked_place, stayed (1: the final read
    has it there), delivered_ns (first), done_ns (first processed by a member of the group),
    delivered_place, lowest_place and highest_place (of all reads), first_place and last_place (of
    the final read), copies (in the final read), apart_place and apart_ns (the highest place of a
    delivery at which the final read does not have it, and when it was first delivered there),
    looked_ns, gave_up_ns (a look-up that did not find
    it), complete and log_start (of home's final read),
    passed (that was not complete, and went past the acked offset without finding the value there)
    one_copy (no send of the run can have left two: schema.RUNS) and superseded (its log need not
    have it any more). `compacted`: whether any run has such values.
    """
    here, finally_ = F.col("place"), F.col("finally").isNotNull()
    delivered, acked = F.col("delivered_ns").isNotNull(), F.col("sent") == ACKED
    apart = F.when(delivered & ~finally_, here)
    ends = F.broadcast(runs.select("run_id", "ends", "one_copy"))
    made = (
        _sightings(operations)
        .groupBy("run_id", "value")
        .agg(
            F.max("sent").alias("sent"),
            F.max("home").alias("home"),
            F.max("instance").alias("instance"),
            F.max("sender").alias("sender"),
            F.max("transaction").alias("transaction"),
            F.min("intended_ns").alias("intended_ns"),
            F.min("sent_ns").alias("sent_ns"),
            F.max("ended_ns").alias("ended_ns"),
            F.min("acked_ns").alias("acked_ns"),
            F.max(F.when(acked, here)).alias("acked_place"),
            F.max(F.when(acked & finally_, 1)).alias("stayed"),
            F.min("delivered_ns").alias("delivered_ns"),
            F.min("done_ns").alias("done_ns"),
            F.max(F.when(delivered, here)).alias("delivered_place"),
            F.min(F.when(delivered | finally_, here)).alias("lowest_place"),
            F.max(F.when(delivered | finally_, here)).alias("highest_place"),
            F.min(F.when(finally_, here)).alias("first_place"),
            F.max(F.when(finally_, here)).alias("last_place"),
            F.count("finally").cast("int").alias("copies"),
            F.max(apart).alias("apart_place"),
            F.max_by("delivered_ns", apart).alias("apart_ns"),
            F.min("looked_ns").alias("looked_ns"),
            F.max("gave_up_ns").alias("gave_up_ns"),
        )
        .withColumn("home", F.coalesce("home", partition_of(F.col("lowest_place"))))
        .join(ends, on="run_id", how="inner")
        .withColumn("end", F.get("ends", F.col("home")))
        .withColumn("complete", F.coalesce("end.complete", F.lit(False)))
        .withColumn("log_start", F.coalesce("end.log_start", F.lit(0)))
        .withColumn("passed", _passed())
        .drop("end", "ends")
    )
    return made.withColumn("superseded", F.lit(False)) if not compacted else _behind(made, runs)


def _behind(made: DataFrame, runs: DataFrame) -> DataFrame:
    """Fates with superseded."""
    gone = runs.select("run_id", F.explode("superseded").alias("value"), F.lit(1).alias("behind"))
    return (
        made.join(F.broadcast(gone), on=["run_id", "value"], how="left")
        .withColumn("superseded", F.col("behind").isNotNull())
        .drop("behind")
    )


def _passed() -> Column:
    """Whether a final read that was not complete read the acked offset, and the value not there."""
    offset = offset_of(F.col("acked_place"))
    within = (offset >= F.col("log_start")) & (offset < F.col("end.position"))
    missed = F.col("stayed").isNull() & ~F.col("complete")
    return missed & F.coalesce(within, F.lit(False))


def places(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, place) that was acknowledged or read.

    value and other_value (the lowest and the highest that was acked or read there), final_value
    (what the final read has there), garbled_ns (when a payload that is no value was first read
    there; null: never), delivered_ns (first).
    """
    value, was_read = F.col("value"), is_delivery() | is_final()
    return (
        operations.where(was_read | (is_ack() & F.col("offset").isNotNull()))
        .groupBy("run_id", place_of(F.col("partition"), F.col("offset")).alias("place"))
        .agg(
            F.min(value).alias("value"),
            F.max(value).alias("other_value"),
            F.max(F.when(is_final(), value)).alias("final_value"),
            F.min(F.when(was_read & value.isNull(), F.col("end_ns"))).alias("garbled_ns"),
            F.min(F.when(is_delivery(), F.col("end_ns"))).alias("delivered_ns"),
        )
    )


def _sightings(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, value, place): was it acked there, delivered there, there at the
    end? `place` is null where none is known."""
    ok, lookup = F.col("type") == "ok", F.col("f") == "lookup"
    rank = (
        F.when(ok, ACKED)
        .when(F.col("type") == "fail", FAILED)
        .when(F.col("error") == NO_ACK, UNASKED)
        .otherwise(UNKNOWN)
    )
    place = F.when(ok, place_of(F.col("partition"), F.col("offset")))
    instance, transaction = (
        F.col(name) if name in operations.columns else F.lit(None).cast("int")
        for name in ("instance", "transaction")
    )
    return (
        operations.where(F.col("value").isNotNull())
        .withColumn("place", place)
        .repartition("run_id", "value")  # the one shuffle: both aggregations are within it
        .groupBy("run_id", "value", "place")
        .agg(
            F.max(F.when(is_send(), rank)).alias("sent"),
            F.max(F.when(is_send(), F.col("partition"))).alias("home"),
            F.max(F.when(is_send(), instance)).alias("instance"),
            F.max(F.when(is_send(), F.crc32("process"))).alias("sender"),
            F.max(F.when(is_send(), transaction)).alias("transaction"),
            F.min(F.when(is_send(), F.col("intended_ns"))).alias("intended_ns"),
            F.min(F.when(is_send(), F.col("start_ns"))).alias("sent_ns"),
            F.max(F.when(is_send(), F.col("end_ns"))).alias("ended_ns"),
            F.min(F.when(is_ack(), F.col("end_ns"))).alias("acked_ns"),
            F.min(F.when(is_delivery(), F.col("end_ns"))).alias("delivered_ns"),
            F.min(F.when(is_processed(), F.col("end_ns"))).alias("done_ns"),
            F.max(F.when(is_final(), 1)).alias("finally"),
            F.min(F.when(lookup, F.col("start_ns"))).alias("looked_ns"),
            F.max(F.when(lookup & ~ok, F.col("end_ns"))).alias("gave_up_ns"),
        )
    )
