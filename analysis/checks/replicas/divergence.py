"""Divergence: replicas that differ after all faults are healed.

    kafka1: a at 0    kafka2: a at 0    kafka3: b at 0        =>  offset 0 has diverged (differs)
    final read, complete: a at 0    kafka3: nothing at 0      =>  offset 0 has diverged (lacks)
    kafka1: a at 0    kafka3: nothing at 0                    =>  nothing: it may be uncommitted

`differs`: two replicas, or a replica and the complete final read, have different values at one
offset. `lacks`: a dumped replica has nothing where the complete final read has a record, at or
above the replica's own log start. Every in-sync replica has what a consumer was given.

The logs are read from the brokers' disks at the end of a run (`check.replicas`), when every replica
is in the ISR and nothing is written any more. If a run did not record where each dumped log begins
and ends, its replicas are compared only with each other.

Aborted records and transaction markers are in the logs and not in a final read of committed
records, so only the final read's records can be lacking.

Cannot see: replicas that agreed again before the end; records that no producer of ours wrote; a
replica that was not dumped (analysis.verdict.doubts: the run is unknown).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import ANOTHER_LEADER, STRIKE
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import NO_EPOCHS, OTHERWISE, TOOK, forbidden, permitted, when
from analysis.frames.claims import all_of_them, with_claims
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import is_final, offset_of, partition_of, place_of
from analysis.frames.signs import Sign


def holdings(operations: DataFrame, runs: DataFrame) -> DataFrame:
    """One row for each (run_id, place) that a replica or the complete final read has.

    value and other_value (the least and the greatest), holders (how many replicas have one), owed
    (how many dumped replicas must: those whose log begins at or before it, if the final read has
    it), and dumped_ns (the last dump that has it).
    """
    value, final_value = F.col("value"), F.col("final_value")
    of_replica = F.col("f") == "replica"
    run_facts = F.broadcast(runs.select("run_id", "ends", "dumps", "load_end_ns"))
    partition, offset = partition_of(F.col("place")), offset_of(F.col("place"))
    dumps = F.filter("dumps", lambda dump: dump["partition"] == partition)
    complete = F.coalesce(F.get("ends", partition)["complete"], F.lit(False))
    final = F.when(complete & (F.size(dumps) > 0), final_value)
    owing = F.size(F.filter(dumps, lambda dump: dump["log_start"] <= offset))
    return (
        operations.where((of_replica | is_final()) & value.isNotNull())
        .groupBy("run_id", place_of(F.col("partition"), F.col("offset")).alias("place"))
        .agg(
            F.min(F.when(of_replica, value)).alias("least"),
            F.max(F.when(of_replica, value)).alias("greatest"),
            F.max(F.when(is_final(), value)).alias("final_value"),
            F.count_if(of_replica).alias("holders"),
            F.max(F.when(of_replica, F.col("end_ns"))).alias("dumped_ns"),
        )
        .join(run_facts, on="run_id", how="inner")
        .withColumn("value", F.least("least", final))
        .withColumn("other_value", F.greatest("greatest", final))
        .withColumn("owed", F.when(final.isNotNull(), owing).otherwise(0))
        .drop("ends", "dumps", "least", "greatest", "final_value")
    )


def diverged() -> Rule:
    """Places at which replicas differ, one row per place."""
    return Rule(
        holds=_is_diverged(),
        place=F.col("place"),
        time_ns=F.coalesce("dumped_ns", "load_end_ns"),
        outcome=F.when(_differs(), "differs").otherwise("lacks"),
        other_value=F.when(_differs(), F.col("other_value")),
        victims=all_of_them(),
    )


def _differs() -> Column:
    return F.coalesce(F.col("value") != F.col("other_value"), F.lit(False))


def _is_diverged() -> Column:
    return _differs() | (F.col("holders") < F.col("owed"))


def _by_diverged_place(tables: Tables) -> DataFrame | None:
    """A row for each diverged place, with the values that claim it."""
    history = tables.history
    if not history.replicas:
        return None
    few = holdings(history.operations, history.runs).where(_is_diverged())
    return with_claims(few, history.operations, tables.values())


DIVERGED = Anomaly(
    name="diverged",
    rules={_by_diverged_place: diverged},
    signs=(Sign.DIFFERS,),
    outcomes=("differs", "lacks"),
    meaning="two replicas hold different values at one offset, or one lacks a committed record",
    noun="diverged offset",
    headline="{n} {is} not the same on every replica",
    judged=when("where `check.replicas` is set", lambda facts: facts.compared),
    promises=(
        permitted(
            NO_EPOCHS,
            "Without leader epochs a follower keeps what lies below its own high watermark, "
            "whatever the leader has there.",
            "KIP-101",
            by=ANOTHER_LEADER,
        ),
        permitted(
            TOOK,
            "A replica that lost records may get other records at the same offsets.",
            "KIP-966",
            by=STRIKE,
        ),
        forbidden(
            OTHERWISE,
            "A follower truncates to where it agrees with the leader and copies what follows.",
            "KIP-101, KIP-279",
        ),
    ),
)
