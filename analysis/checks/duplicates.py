"""Duplicates and inconsistent offsets: one value in two places, two values in one place.

**duplicate**: one value at two different offsets (or partitions) of the log.

    send a -> ok at 0    final read, complete: a at 0, a at 1                =>  a is a duplicate
    send a -> ok at 0    read: a at 0, a at 0 again    final read: a at 0    =>  a redelivery

A complete final read decides alone. What a consumer read at offset 5 before an unclean election may
be truncated and then appended anew at offset 9: the log never held two copies, so that is no
duplicate (it shows as an inconsistent offset). Where the final read is not complete all reads
together decide: a consumer was handed the value at two offsets, and nothing says otherwise.

**inconsistent-offset**: two values were read at one partition and offset; or a value was acked at
an offset, and a complete final read has it elsewhere only.

    read: a at 0    final read: b at 0                                       =>  inconsistent
    send a -> ok at 0    final read, complete: a at 1                        =>  inconsistent
    send a -> ok at 0    final read, complete: a at 0, a at 1                =>  a duplicate only

Cannot see: a copy that was deleted or truncated again before anybody read it; the offset of an ack
that came without one; an offset whose other value nobody ever read.
"""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.operations import ACKED, offset_of
from analysis.measures.evidence import Rule


def duplicate() -> Rule:
    """Values with two places, one row a value."""
    in_log = F.col("copies") > 1
    in_reads = ~F.col("complete") & (F.col("lowest_place") != F.col("highest_place"))
    return Rule(
        anomaly="duplicate",
        holds=in_log | in_reads,
        place=F.when(in_log, F.col("first_place")).otherwise(F.col("lowest_place")),
        time_ns=F.coalesce("acked_ns", "sent_ns"),
        other_place=F.when(in_log, F.col("last_place")).otherwise(F.col("highest_place")),
    )


def moved() -> Rule:
    """Values that are in the log, but not where their ack said."""
    found = F.col("first_place").isNotNull() & F.col("complete")
    elsewhere = F.col("acked_place").isNotNull() & F.col("stayed").isNull()
    kept = offset_of(F.col("acked_place")) >= F.col("log_start")
    return Rule(
        anomaly="inconsistent-offset",
        holds=(F.col("sent") == ACKED) & found & elsewhere & kept,
        place=F.col("acked_place"),
        time_ns=F.col("acked_ns"),
        other_place=F.col("first_place"),
        outcome=F.lit("acked_elsewhere"),
    )


def contested() -> Rule:
    """Places at which two values were read, one row a place."""
    values = F.col("value") != F.col("other_value")
    foreign = F.col("value").isNotNull() & (F.col("unparsable") > 0)
    return Rule(
        anomaly="inconsistent-offset",
        holds=F.coalesce(values, F.lit(False)) | foreign,
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        other_value=F.when(values, F.col("other_value")),
        outcome=F.lit("two_values"),
    )
