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

from analysis.causes.kinds import ABORT_CUT, ABORTED, BIT_WHEN_READ
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    ALTERED,
    CRCS,
    OTHERWISE,
    SEMANTICS,
    UNCLEAN,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, by_place, by_value
from analysis.frames.operations import FAILED


def phantom() -> Rule:
    """Values that were read though their send failed or never was."""
    unsent = F.col("sent").isNull() | (F.col("sent") == FAILED)
    return Rule(
        holds=unsent & F.col("lowest_place").isNotNull(),
        place=F.col("lowest_place"),
        time_ns=F.coalesce("delivered_ns", "sent_ns"),
        outcome=F.when(F.col("sent").isNull(), "never_sent").otherwise("send_failed"),
    )


def unparsable() -> Rule:
    """Payloads that are no values of ours, one row a place."""
    return Rule(
        holds=F.col("unparsable") > 0,
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        outcome=F.lit("unparsable"),
    )


PHANTOM = Anomaly(
    name="phantom",
    rules={by_value: phantom, by_place: unparsable},
    outcomes=("never_sent", "send_failed", "unparsable"),
    meaning="read, but never sent, or its send failed",
    noun="phantom",
    headline="{n} {was} read that {was} never {written}",
    promises=(
        permitted(
            ALTERED,
            "A broker serves what is on its disk, and librdkafka checks CRCs only with "
            "check.crcs=true.",
            CRCS,
            by=BIT_WHEN_READ,
        ),
        permitted(
            when(
                "transactions, and consumers with isolation.level=read_uncommitted",
                lambda facts: facts.transactional and facts.uncommitted,
            ),
            "The records of an aborted transaction stay in the log; only consumers with "
            "isolation.level=read_committed skip them.",
            "KIP-98",
            by=ABORTED,
        ),
        permitted(
            when("transactions", lambda facts: facts.transactional),
            "Where the log is set back, the marker that aborted a transaction may be cut off, and "
            "what it sent be taken for committed.",
            f"KIP-98; {UNCLEAN}",
            by=ABORT_CUT,
        ),
        forbidden(
            when("transactions", lambda facts: facts.transactional),
            "Only records that were sent are read, and none of an aborted transaction.",
            f"KIP-98; {SEMANTICS}",
        ),
        forbidden(
            OTHERWISE,
            "Only records that were sent are read, and none whose send certainly failed.",
            SEMANTICS,
        ),
    ),
)
