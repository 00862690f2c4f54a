"""What must not go back: a log's committed end, a leader's watermark, the last stable offset.

**end-back**: the least log end of the ISR is below a high watermark that a broker had checkpointed
at an earlier look (`check.watermarks`; for looks see analysis.checks.replicas.watermarks). Records
below a watermark are committed, and every member of an ISR has all of them. One row where it
begins; `other_offset` is that watermark.

    looks: watermark 7, log ends 9 and 8    then log ends 6 and 6              =>  the end went back
    the same, then log ends 7 and 8: what was cut off was not committed        =>  nothing
    the same, then log ends 9 and 6, but the ISR is the first broker alone     =>  nothing

A watermark above a log end of its own look is *watermark-ahead*, and does not count here.

**watermark-back**: a leader's high watermark is below an earlier one of the same leader epoch. A
checkpoint is up to `replica.high.watermark.checkpoint.interval.ms` old, and may be of the time in
which the broker followed another one, whose watermark can be lower. So a look counts only if it
comes at least twice that time and two seconds after the epoch was first seen, and two seconds
before its end. If a blind stretch comes before the next epoch, the end may be where that begins.

    checkpoints every 100 ms, epoch 3 of kafka1 from 1 s on    9 at 4 s, 8 at 5 s    =>  went back
    the same, but epoch 3 ended at 4.5 s                                            =>  nothing
    the same, but it is blind from 4.5 s on, and then epoch 5                       =>  nothing
    the same, but the looks are at 1.1 s and 1.2 s                                  =>  nothing

**stable-back**: a consumer of committed records was given one, and the last stable offset of the
final read is not above it, although the high watermark is. One row per partition, at the furthest
such record; `other_offset` is that last stable offset.

    read: a at 7    at the end: stable up to 5, watermark 9                    =>  it went back
    read: a at 4    the same                                                   =>  nothing
    read: a at 7    at the end: stable up to 5, watermark 5                    =>  a has vanished
    read: a at 7, b at 9    at the end: stable up to 5, watermark 9            =>  back, b vanished

Cannot see: what went back and rose again between two looks; watermarks of epochs that are shorter
than those margins; a last stable offset that fell during the load and rose again.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import AFTER_STRIKE, AFTER_TRUNCATION, BIT_AT_THE_END, INTERNAL
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    CRCS,
    FLIPPED,
    OTHERWISE,
    REPLICATION,
    SET_BACK,
    SHRINKS,
    TOOK,
    UNCLEAN,
    forbidden,
    permitted,
)
from analysis.checks.replicas.watermarks import (
    AFTER_A_STRIKE,
    WHERE_SAMPLED,
    by_look,
    ending_below,
)
from analysis.checks.transactions.atomicity import READ_COMMITTED
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import offset_of, partition_of, place_of
from analysis.frames.signs import Sign

SEEN_LATE_NS = 2 * 10**9


def end_back() -> Rule:
    """The first looks at which the ISR's log ends are below an earlier watermark."""
    return Rule(
        holds=_is_below() & ~F.coalesce("was_below", F.lit(False)),
        place=place_of(F.col("partition"), F.col("least_end")),
        time_ns=F.col("time_ns"),
        shown_ns=F.col("looked_until_ns"),
        other_place=place_of(F.col("partition"), F.col("highest")),
        lacked_by=ending_below(F.col("highest")),
    )


def watermark_back() -> Rule:
    """Looks at which a leader's watermark is below an earlier one."""
    return Rule(
        holds=F.col("high_watermark") < F.col("before"),
        place=place_of(F.col("partition"), F.col("high_watermark")),
        time_ns=F.col("time_ns"),
        shown_ns=F.col("end_ns"),
        other_place=place_of(F.col("partition"), F.col("before")),
    )


def stable_back() -> Rule:
    """Partitions whose last stable offset is not above what was read as committed."""
    offset = offset_of(F.col("place"))
    return Rule(
        holds=F.col("committed_end") <= offset,
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        shown_ns=F.col("load_end_ns"),
        other_place=place_of(F.col("partition"), F.col("committed_end")),
    )


def _is_below() -> Column:
    ahead = F.col("watermark") > F.col("least_end")
    return (F.col("least_end") < F.col("highest")) & ~F.coalesce(ahead, F.lit(False))


def _by_leader(tables: Tables) -> DataFrame | None:
    """A row for each look at a leader whose epoch was seen long enough before and after: `before`
    is its greatest earlier watermark."""
    watermarks = tables.history.watermarks
    if watermarks is None:
        return None
    runs = tables.history.runs
    epochs = runs.select("run_id", "checkpoint_ns", F.inline("states")).select(
        "run_id",
        "partition",
        F.col("leader").alias("broker"),
        "epoch",
        (F.col("from_ns") + 2 * F.col("checkpoint_ns") + SEEN_LATE_NS).alias("since_ns"),
        (F.col("seen_to_ns") - SEEN_LATE_NS).alias("until_ns"),
    )
    ends = F.col("until_ns").isNull() | (F.col("end_ns") <= F.col("until_ns"))
    by_epoch = Window.partitionBy("run_id", "partition", "broker", "epoch", "since_ns")
    before = by_epoch.orderBy("time_ns").rowsBetween(Window.unboundedPreceding, -1)
    return (
        watermarks.where(F.col("leads") & F.col("high_watermark").isNotNull())
        .join(F.broadcast(epochs), on=["run_id", "partition", "broker"], how="inner")
        .where((F.col("since_ns") <= F.col("time_ns")) & ends)
        .withColumn("before", F.max("high_watermark").over(before))
    )


def _by_partition(tables: Tables) -> DataFrame | None:
    """A row for each partition of which committed records were read: the furthest `place` that is
    still in the log, and the ends in the final read."""
    history = tables.history
    if history.transactions is None:
        return None
    at = F.col("delivered_place")
    partition = partition_of(at).alias("partition")
    runs = history.runs.select(
        "run_id", "load_end_ns", F.posexplode("ends").alias("partition", "end")
    )
    keys = ("run_id", "partition", "load_end_ns", "committed_end", "uncommitted_end")
    return (
        tables.values()
        .where(at.isNotNull())
        .select("run_id", partition, "delivered_place", "delivered_ns", "value")
        .join(
            F.broadcast(runs.select("*", "end.committed_end", "end.uncommitted_end").drop("end")),
            on=["run_id", "partition"],
            how="inner",
        )
        .where(offset_of(at) < F.col("uncommitted_end"))
        .groupBy(*keys)
        # Several values may have been read at one place.
        .agg(F.max(F.struct("delivered_place", "delivered_ns", "value")).alias("last"))
        .select(
            *keys, F.col("last.delivered_place").alias("place"), "last.delivered_ns", "last.value"
        )
    )


_NEW_LEADER_LACKS = permitted(
    SHRINKS,
    "A new leader that lacks records makes the others truncate theirs, committed ones too.",
    f"{UNCLEAN}; KIP-101",
    by=AFTER_TRUNCATION,
)

END_BACK = Anomaly(
    name="end-back",
    rules={by_look: end_back},
    meaning="a log end of the ISR below an earlier high watermark",
    noun="falling committed end",
    of="log end",
    headline="{n} {was} below what had been committed before",
    judged=WHERE_SAMPLED,
    promises=(
        _NEW_LEADER_LACKS,
        *AFTER_A_STRIKE,
        forbidden(
            OTHERWISE,
            "Every member of the ISR has what is below the high watermark, and leaders are elected "
            "from the ISR.",
            f"{REPLICATION}; KIP-101; KIP-279",
        ),
    ),
)
WATERMARK_BACK = Anomaly(
    name="watermark-back",
    rules={_by_leader: watermark_back},
    meaning="a leader's high watermark below an earlier one of the same epoch",
    noun="falling watermark",
    of="high watermark",
    headline="{n} of a leader went back",
    judged=WHERE_SAMPLED,
    promises=(
        forbidden(
            OTHERWISE,
            "As long as a broker leads, its high watermark only grows.",
            REPLICATION,
        ),
    ),
)
STABLE_BACK = Anomaly(
    name="stable-back",
    rules={_by_partition: stable_back},
    signs=(Sign.UNSTABLE,),
    meaning="a last stable offset that is not above what was read as committed",
    noun="falling stable offset",
    of="last stable offset",
    headline="{n} went back, below what had been read as committed",
    judged=READ_COMMITTED,
    promises=(
        _NEW_LEADER_LACKS,
        permitted(
            TOOK,
            "What a broker lost with its disk was committed.",
            "KIP-966",
            by=AFTER_STRIKE,
        ),
        permitted(
            SET_BACK,
            "A coordinator whose log was set back may not know that a transaction was ended.",
            "KIP-98; KIP-664",
            by=INTERNAL,
        ),
        permitted(
            FLIPPED,
            "A record may be read at another offset than it has.",
            CRCS,
            by=BIT_AT_THE_END,
        ),
        forbidden(
            OTHERWISE,
            "What is below the last stable offset is decided for good.",
            "KIP-98",
        ),
    ),
)
