"""Loss: what was acknowledged or delivered, and is not there any more.

**lost**: a send was acked, a complete final read of its partition does not contain its value, and
nothing deleted it.

    send a -> ok at 0    send b -> ok at 1    final read, complete: a          =>  b is lost
    the same, but the final read contains b as well                            =>  nothing

`delivered_before`: a consumer had been handed the record; `never_delivered`: none had.

**vanished**, the reader's twin: a read or lookup delivered a value during the load, and a complete
final read does not contain it, whether the send was acked or not.

    send a -> info       read: a at 0         final read, complete: nothing    =>  a has vanished

**unacknowledged-lost**: the send asked for no ack (acks=0), and a complete final read of a log that
was never cut at its start does not contain its value. Nothing was promised; it is counted apart.

    send a -> written, no ack    final read, complete: nothing    =>  a is unacknowledged-lost

**unseen**: acked and not found, but the final read of the partition is missing or not complete.
Whether the record is lost cannot be told, so it is never called lost.

    send a -> ok at 0    final read, stopped early: nothing                    =>  a is unseen

Cannot see: records below the log's start (deleted by retention; never called lost or vanished; an
ack without offset counts as unseen when the log does not start at 0); the loss of sends that ended
info. A value found in
another partition than it was sent to is no loss but an inconsistent offset.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.operations import ACKED, UNASKED, offset_of
from analysis.measures.evidence import Rule


def lost() -> Rule:
    """Acked records that are provably gone."""
    before = F.col("delivered_ns").isNotNull()
    return Rule(
        anomaly="lost",
        holds=_acked_and_absent() & _provable(),
        place=F.col("acked_place"),
        time_ns=F.col("acked_ns"),
        outcome=F.when(before, "delivered_before").otherwise("never_delivered"),
    )


def unseen() -> Rule:
    """Acked records that were not found where not everything was read."""
    deleted = F.col("complete") & F.col("acked_place").isNotNull()
    return Rule(
        anomaly="unseen",
        holds=_acked_and_absent() & ~_provable() & ~deleted,
        place=F.col("acked_place"),
        time_ns=F.col("acked_ns"),
    )


def vanished() -> Rule:
    """Records that were delivered and are provably gone."""
    delivered = F.col("delivered_ns").isNotNull()
    kept = offset_of(F.col("delivered_place")) >= F.col("log_start")
    return Rule(
        anomaly="vanished",
        holds=delivered & _is_absent() & F.col("complete") & kept,
        place=F.col("delivered_place"),
        time_ns=F.col("delivered_ns"),
    )


def is_readable() -> Column:
    """Whether a value can be there to be read, as far as the final read tells."""
    return ~(_is_absent() & F.col("complete"))


def unacknowledged_lost() -> Rule:
    """Records that were sent for no ack, and are provably nowhere."""
    return Rule(
        anomaly="unacknowledged-lost",
        holds=is_unacknowledged_lost(),
        place=F.lit(None).cast("bigint"),
        time_ns=F.col("sent_ns"),
    )


def is_unacknowledged_lost() -> Column:
    """Whether a send that asked for no ack (acks=0) is provably not in the log."""
    whole = F.col("complete") & (F.col("log_start") == 0)
    return (F.col("sent") == UNASKED) & _is_absent() & whole


def _is_absent() -> Column:
    return F.col("first_place").isNull()


def _acked_and_absent() -> Column:
    return (F.col("sent") == ACKED) & _is_absent()


def _provable() -> Column:
    """Whether the record would be in the final read, had nobody lost it."""
    starts_at_zero = F.col("log_start") == 0
    kept = F.coalesce(offset_of(F.col("acked_place")) >= F.col("log_start"), starts_at_zero)
    return F.col("complete") & kept
