"""What the replicas' high watermarks and log ends show, where they are sampled.

A *look* at a partition is a sample of harness.run.watermark_sampler, in this order: the watermark
of each broker, then the ISR, then the log end of each broker (`check.watermarks`).

**watermark-ahead**: a broker's high watermark is above the log end of a member of the ISR. One row
per look, at the watermark; `other_offset` is the least log end.

    look: watermark 7 on kafka1    ISR kafka1, kafka2    log ends 9 and 6      =>  ahead
    the same, log ends 9 and 7                                                 =>  nothing
    the same, log ends 9 and 6, but the ISR is kafka1 alone                    =>  nothing

**early-read**: a consumer was given a record that a member of the ISR did not have yet at the first
look begun after that. One row per record; `other_offset` is the least log end of that ISR.

    read: a at 7    look: ISR kafka1, kafka2, log ends 9 and 7                 =>  a was read early
    read: a at 6    the same look                                              =>  nothing

harness.run.watermark_sampler says why a look need not be one moment for this. A broker without a
log (its disk was emptied) does not count, and neither does a look without an answer of ZooKeeper.

Cannot see: what was right again at the next look, some 50 ms later: a record that every member had
by then, a watermark that was not checkpointed while it was too high; *which* record a member has
(*diverged* does); reads after the last look.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import AFTER_STRIKE, AFTER_TRUNCATION, REPLICA_STRUCK
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    OTHERWISE,
    REPLICATION,
    SHRINKS,
    TOOK,
    UNCLEAN,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import is_delivery, offset_of, partition_of, place_of, places

_SECOND_NS = 10**9


def looks(watermarks: DataFrame) -> DataFrame:
    """One row for each look at a partition with a known ISR: time_ns, since_ns (the look before;
    null: none), watermark (the greatest of any broker), least_end (of the ISR), members (of the
    ISR, with their log ends), looked_until_ns (the end of the look), highest (the greatest earlier
    watermark) and was_below (whether least_end was below that at the look before)."""
    member = F.col("in_isr") & F.col("log_end").isNotNull()
    in_order = Window.partitionBy("run_id", "partition").orderBy("time_ns")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    return (
        watermarks.groupBy("run_id", "partition", "time_ns")
        .agg(
            F.max("high_watermark").alias("watermark"),
            F.min(F.when(F.col("in_isr"), F.col("log_end"))).alias("least_end"),
            F.collect_list(F.when(member, F.struct("broker", "log_end"))).alias("members"),
            F.max("end_ns").alias("looked_until_ns"),
        )
        .where(F.col("least_end").isNotNull())
        .withColumn("since_ns", F.lag("time_ns").over(in_order))
        .withColumn("highest", F.max("watermark").over(before))
        .withColumn("was_below", F.lag(F.col("least_end") < F.col("highest")).over(in_order))
    )


def read_before(operations: DataFrame, looked: DataFrame) -> DataFrame:
    """One row for each delivered place, with the first look begun after that."""
    seconds = F.sequence(_second("since_ns"), _second("time_ns"))
    by_second = looked.where(F.col("since_ns").isNotNull()).select(
        "run_id",
        "partition",
        "since_ns",
        "time_ns",
        "looked_until_ns",
        "least_end",
        "members",
        F.explode(seconds).alias("second"),
    )
    given = (
        places(operations.where(is_delivery()))
        .withColumn("partition", partition_of(F.col("place")))
        .withColumn("second", _second("delivered_ns"))
    )
    after = (F.col("since_ns") < F.col("delivered_ns")) & (
        F.col("delivered_ns") <= F.col("time_ns")
    )
    return given.join(by_second, on=["run_id", "partition", "second"], how="inner").where(after)


def watermark_ahead() -> Rule:
    """Looks at which a watermark was above a log end of the ISR."""
    return Rule(
        holds=F.col("watermark") > F.col("least_end"),
        place=place_of(F.col("partition"), F.col("watermark")),
        time_ns=F.col("time_ns"),
        shown_ns=F.col("looked_until_ns"),
        other_place=place_of(F.col("partition"), F.col("least_end")),
        lacked_by=ending_below(F.col("watermark")),
    )


def early_read() -> Rule:
    """Records that were read before every member of the ISR had them."""
    return Rule(
        holds=offset_of(F.col("place")) >= F.col("least_end"),
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        shown_ns=F.col("looked_until_ns"),
        other_place=place_of(F.col("partition"), F.col("least_end")),
        lacked_by=ending_below(offset_of(F.col("place")) + 1),
    )


def ending_below(offset: Column) -> Column:
    """The members of the ISR of a look whose logs end below an offset, in order of their names."""
    short = F.filter("members", lambda member: member["log_end"] < offset)
    return F.array_sort(F.transform(short, lambda member: member["broker"]))


def _second(name: str) -> Column:
    return F.floor(F.col(name) / _SECOND_NS)


def by_look(tables: Tables) -> DataFrame | None:
    """A row for each look: `looks`."""
    watermarks = tables.history.watermarks
    return None if watermarks is None else looks(watermarks)


def _by_place_read_before(tables: Tables) -> DataFrame | None:
    looked = by_look(tables)
    return None if looked is None else read_before(tables.history.operations, looked)


AFTER_A_STRIKE = (
    permitted(
        TOOK,
        "What was lost with every copy, or on the disks of who leads now, is missing everywhere.",
        "KIP-966",
        by=AFTER_STRIKE,
    ),
    permitted(
        TOOK,
        "A broker that lost its data stays in the ISR until this is noticed.",
        "KIP-966",
        by=REPLICA_STRUCK,
    ),
)
WHERE_SAMPLED = when("where `check.watermarks` is set", lambda facts: facts.watched)

WATERMARK_AHEAD = Anomaly(
    name="watermark-ahead",
    rules={by_look: watermark_ahead},
    meaning="a high watermark above the log end of a member of the ISR",
    noun="early watermark",
    of="high watermark",
    headline="{n} {was} above the log end of an in-sync replica",
    judged=WHERE_SAMPLED,
    promises=(
        permitted(
            SHRINKS,
            "A new leader that lacks records may make the others truncate records below a high "
            "watermark.",
            f"{UNCLEAN}; KIP-101",
            by=AFTER_TRUNCATION,
        ),
        *AFTER_A_STRIKE,
        forbidden(
            OTHERWISE,
            "The leader's high watermark is the least log end of the ISR, and no follower's is "
            "above the leader's.",
            REPLICATION,
        ),
    ),
)
EARLY_READ = Anomaly(
    name="early-read",
    rules={_by_place_read_before: early_read},
    meaning="read by a consumer before every member of the ISR had it",
    noun="early read",
    headline="{n} {was} read before every in-sync replica had {them}",
    judged=WHERE_SAMPLED,
    promises=(
        permitted(
            SHRINKS,
            "Records that consumers have read may be truncated; the ISR then lacks them.",
            f"{UNCLEAN}; KIP-101",
            by=AFTER_TRUNCATION,
        ),
        *AFTER_A_STRIKE,
        forbidden(
            OTHERWISE,
            "Consumers read committed records only: those that every in-sync replica has.",
            REPLICATION,
        ),
    ),
)
