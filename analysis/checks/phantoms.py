"""Phantoms: a value was read that certainly was never written.

    send a -> fail    read or final read: a             =>  a is a phantom (send_failed)
                      read or final read: a             =>  a is a phantom (never_sent)
                      read: a payload that is no value  =>  a phantom (unparsable), one an offset

A send that ended info may be read: nobody knows how it ended. Only a certain *fail* can be
contradicted, and a value of which no producer recorded that it was begun.

Cannot see: a phantom that nobody read; a foreign record whose payload happens to be one of ours.
"""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.operations import FAILED
from analysis.measures.evidence import Rule


def phantom() -> Rule:
    """Values that were read though their send failed or never was."""
    unsent = F.col("sent").isNull() | (F.col("sent") == FAILED)
    return Rule(
        anomaly="phantom",
        holds=unsent & F.col("lowest_place").isNotNull(),
        place=F.col("lowest_place"),
        time_ns=F.coalesce("delivered_ns", "sent_ns"),
        outcome=F.when(F.col("sent").isNull(), "never_sent").otherwise("send_failed"),
    )


def unparsable() -> Rule:
    """Payloads that are no values of ours, one row a place."""
    return Rule(
        anomaly="phantom",
        holds=F.col("unparsable") > 0,
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        outcome=F.lit("unparsable"),
    )
