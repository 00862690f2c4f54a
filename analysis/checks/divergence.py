"""Divergence: two replicas hold different values at one offset, when all is healed.

    kafka1: a at 0    kafka2: a at 0    kafka3: b at 0        =>  offset 0 has diverged
    kafka1: a at 0    kafka2: nothing at 0                    =>  nothing: a copy may be late

Seen on the brokers' disks at the end of a run (`check.replicas`), when every replica is in the ISR
and nothing is written any more. `delivered_ns` is missing: no consumer is asked.

Cannot see: replicas that agreed again before the end; records that no producer of ours wrote.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import ANOTHER_LEADER, STRIKE
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import NO_EPOCHS, OTHERWISE, TOOK, forbidden, permitted, when
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import place_of


def held(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, place) that a replica holds: the least and the greatest value."""
    return (
        operations.where(F.col("f") == "replica")
        .groupBy("run_id", place_of(F.col("partition"), F.col("offset")).alias("place"))
        .agg(
            F.min("value").alias("value"),
            F.max("value").alias("other_value"),
            F.max("end_ns").alias("dumped_ns"),
        )
    )


def diverged() -> Rule:
    """Places at which two replicas differ, one row a place."""
    return Rule(
        holds=F.col("value") != F.col("other_value"),
        place=F.col("place"),
        time_ns=F.col("dumped_ns"),
        other_value=F.col("other_value"),
    )


def _by_replicated_place(tables: Tables) -> DataFrame | None:
    return held(tables.history.operations) if tables.history.replicas else None


DIVERGED = Anomaly(
    name="diverged",
    rules={_by_replicated_place: diverged},
    meaning="two replicas hold different values at one offset",
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
