"""Phantoms: a read returned a value that was certainly never written.

    send a -> fail    read or final read: a             =>  a is a phantom (send_failed)
                      read or final read: a             =>  a is a phantom (never_sent)
                      read: a payload that is no value  =>  a phantom (unparsable), one an offset
                      read: one of ours, but changed    =>  corrupt (analysis.checks.integrity)

Of an imported history a value below its first acknowledged offset is none: whether an earlier run
sent it is not known (harness.foreign.earlier_runs).

A send that ended info may be read, since its end is not known. A read contradicts only a certain
*fail*, and complete records of all producers without a send of the value.

The record of a failed send may be in the log if its transaction was aborted, whatever its own
error, unless it never left the client (`NOT_IN_LOG`).

Cannot see: a phantom that no reader got; a foreign record whose payload happens to be one of ours.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
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
from analysis.frames.evidence import Rule, Tables, by_place
from analysis.frames.operations import FAILED, is_send
from analysis.frames.signs import Sign
from harness.history.record_format import SEQUENCE_BITS
from harness.model.runs.imported_history import FIRST_STRANGER, UNSENT

# The errors of sends whose record certainly never left the client: produce() raised, or the client
# purged its queue (librdkafka, rd_kafka_produceva and rd_kafka_purge). A record that was purged in
# flight (_PURGE_INFLIGHT) may have arrived.
NOT_IN_LOG = frozenset(
    {
        "_QUEUE_FULL",
        "_PURGE_QUEUE",
        "_STATE",  # produce() outside a transaction
        "_INVALID_ARG",
        "_FATAL",
        "_UNKNOWN_TOPIC",
        "_UNKNOWN_PARTITION",
        "_CRIT_SYS_RESOURCE",
        "MSG_SIZE_TOO_LARGE",
    }
)
LAST_NS = 2**63 - 1
_UNSENT = UNSENT << SEQUENCE_BITS
_STRANGERS = (_UNSENT + FIRST_STRANGER, _UNSENT + (1 << SEQUENCE_BITS))


def phantom() -> Rule:
    """Values that were read although their send failed or there was none."""
    return Rule(
        holds=_is_phantom(),
        place=F.col("lowest_place"),
        time_ns=F.coalesce("delivered_ns", "sent_ns"),
        known_ns=_read_ns("delivered_ns"),  # a flipped bit counts at the time of the read
        outcome=F.when(F.col("sent").isNull(), "never_sent")
        .when(_is_aborted(), "aborted")
        .otherwise("send_failed"),
    )


def unparsable() -> Rule:
    """Payloads that are no values of ours, one row per place."""
    return Rule(
        holds=F.col("garbled_ns").isNotNull() & ~F.col("corrupt"),
        place=F.col("place"),
        time_ns=F.col("delivered_ns"),
        known_ns=_read_ns("garbled_ns"),
        outcome=F.lit("unparsable"),
    )


def _read_ns(name: str) -> Column:
    """When it was read; by the final read alone: after everything else."""
    return F.coalesce(F.col(name), F.lit(LAST_NS))


def _is_aborted() -> Column:
    """Whether the send failed with its transaction: its record is in the log unless it never left
    the client."""
    unsent = F.coalesce(F.col("fail_error").isin(*NOT_IN_LOG), F.lit(False))
    return F.col("transactional") & (F.col("sent") == FAILED) & ~unsent


def _is_phantom() -> Column:
    stranger = (F.col("value") >= _STRANGERS[0]) & (F.col("value") < _STRANGERS[1])
    unsent = (F.col("sent").isNull() & ~stranger) | (F.col("sent") == FAILED)
    return unsent & F.col("lowest_place").isNotNull()


def _by_phantom_value(tables: Tables) -> DataFrame:
    """A row for each value that was read and not sent: its fate, and the error of its send."""
    failed = tables.history.operations.where(is_send() & (F.col("type") == "fail"))
    errors = failed.groupBy("run_id", "value").agg(F.max("error").alias("fail_error"))
    runs = F.broadcast(tables.history.runs.select("run_id", "transactional"))
    return (
        tables.values()
        .where(_is_phantom())
        .join(errors, on=["run_id", "value"], how="left")
        .join(runs, on="run_id", how="inner")
    )


PHANTOM = Anomaly(
    name="phantom",
    rules={_by_phantom_value: phantom, by_place: unparsable},
    signs={_by_phantom_value: (Sign.UNCLAIMED, Sign.STRAY), by_place: (Sign.GARBLED,)},
    outcomes=("never_sent", "send_failed", "aborted", "unparsable"),
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
