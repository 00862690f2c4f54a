"""The values that claim a place, since they were acked, read or held there, and their sends.

    send a -> ok at 0    final read: b at 0    =>  place 0/0 is claimed by a and by b

They are computed for the few places at which a check found something. A broadcast join takes their
rows out of the operations, so that nothing large is shuffled.

A *victim* is a value that should be at a place and is not, or not for all readers: if the complete
final read has one of the values, each other one, else each of them. The victims decide whether an
anomaly at a place is permitted.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.operations import is_ack, is_delivery, is_final, partition_of, place_of

VICTIMS = "array<struct<sent_ns:bigint,known_ns:bigint,delivered:boolean>>"


def odd(places: DataFrame) -> DataFrame:
    """The places (analysis.frames.operations.places) with two values, or a payload that is none."""
    return places.where(is_contested() | F.col("garbled_ns").isNotNull())


def is_contested() -> Column:
    """Whether two values claim a place, or a value and a payload that is none."""
    two = F.col("value") != F.col("other_value")
    return (two | F.col("garbled_ns").isNotNull()) & F.col("value").isNotNull()


def with_claims(few: DataFrame, operations: DataFrame, values: DataFrame) -> DataFrame:
    """`few` (run_id, place, …) with `claims`, one for each value that claims the place.

    sent_ns (null: never sent), known_ns (first acked or read there; null: neither), read_ns (first
    read there), delivered (whether a read had it there), final (whether the final read has it
    there).
    """
    kinds = is_ack() | is_delivery() | is_final() | _is_held()
    claimed = (
        operations.where(kinds & F.col("value").isNotNull())
        .withColumn("place", place_of(F.col("partition"), F.col("offset")))
        .join(F.broadcast(few.select("run_id", "place")), on=["run_id", "place"], how="inner")
        .groupBy("run_id", "place", "value")
        .agg(
            F.min(F.when(~_is_held(), F.col("end_ns"))).alias("known_ns"),
            F.min(F.when(is_delivery() | is_final(), F.col("end_ns"))).alias("read_ns"),
            (F.count_if(is_delivery() | is_final()) > 0).alias("delivered"),
            (F.count_if(is_final()) > 0).alias("final"),
        )
    )
    claims = F.collect_list(F.struct("sent_ns", "known_ns", "read_ns", "delivered", "final"))
    by_place = (
        values.select("run_id", "value", "sent_ns")
        .join(F.broadcast(claimed), on=["run_id", "value"], how="inner")
        .groupBy("run_id", "place")
        .agg(claims.alias("claims"))
    )
    return few.join(F.broadcast(by_place), on=["run_id", "place"], how="left")


def contested(
    few: DataFrame, operations: DataFrame, values: DataFrame, runs: DataFrame
) -> DataFrame:
    """`few`, rows of `odd`, with the `victims` of each place, with `known_ns`, the time of the
    first ack or read of a value there, and with `corrupt`: a changed payload of ours was read
    there.

    It matters since when all of the ISR had a victim. Under acks=1 its ack does not show that, only
    a read does: no reader gets a record before all of the ISR has it.
    """
    facts = runs.select("run_id", "ends", "acks_of_leader", F.col("corrupt").alias("changed"))
    ends = F.broadcast(facts)
    changed = F.coalesce(F.array_contains("changed", F.col("place")), F.lit(False))
    complete = F.coalesce(F.get("ends", partition_of(F.col("place")))["complete"], F.lit(False))
    stays = F.size(F.filter("claims", lambda claim: claim["final"])) == 1
    gone = F.when(complete & stays, F.filter("claims", lambda claim: ~claim["final"]))
    return (
        with_claims(few, operations.where(~_is_held()), values)
        .join(ends, on="run_id", how="inner")
        .withColumn("known_ns", F.array_min(F.transform("claims", lambda claim: claim["known_ns"])))
        .withColumn("victims", F.concat(_sends(_by_reads(F.coalesce(gone, "claims"))), _garbled()))
        .withColumn("corrupt", F.col("garbled_ns").isNotNull() & changed)
        .drop("claims", "ends", "changed", "acks_of_leader")
    )


def all_of_them() -> Column:
    """Each value that claims a place, as victims."""
    return _sends(F.col("claims"))


def _by_reads(claims: Column) -> Column:
    """The claims, under acks=1 known since they were read."""
    read = F.transform(claims, lambda claim: claim.withField("known_ns", claim["read_ns"]))
    return F.when(F.coalesce("acks_of_leader", F.lit(False)), read).otherwise(claims)


def _sends(claims: Column) -> Column:
    records = F.transform(
        claims, lambda claim: F.struct(claim["sent_ns"], claim["known_ns"], claim["delivered"])
    )
    return F.coalesce(records.cast(VICTIMS), F.array().cast(VICTIMS))


def _garbled() -> Column:
    """The payload that is no value, as a victim without a send."""
    read = F.struct(F.lit(None).cast("bigint"), F.col("garbled_ns"), F.lit(True))
    return F.when(F.col("garbled_ns").isNotNull(), F.array(read)).otherwise(F.array()).cast(VICTIMS)


def _is_held() -> Column:
    """Whether an operation is a record of a replica's dump."""
    return F.col("f") == "replica"
