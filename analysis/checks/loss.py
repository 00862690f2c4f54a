"""Loss: acknowledged or delivered records that the log does not have.

**lost**: a send was acked, a complete final read of its partition does not contain its value, and
nothing deleted it.

    send a -> ok at 0    send b -> ok at 1    final read, complete: a          =>  b is lost
    the same, but the final read contains b as well                            =>  nothing

An incomplete final read also proves a loss if it *passed* the acked offset: it began at or before
it, got beyond it, its table is whole, and the value is nowhere. This needs that no second copy can
lie further on (an idempotent producer, or no retries); otherwise it proves a wrong ack: an
inconsistent offset.

    send a -> ok at 0    final read, stopped at 5: nothing at 0, no retries    =>  a is lost
    the same, but stopped at 0                                                 =>  a is unseen

`other_value` is the value of the final read at the acked offset.

`delivered_before`: a consumer had got the record; `never_delivered`: none had.

**vanished**, the reader's twin: a read or lookup delivered a value during the load, and a complete
final read does not contain it, whether the send was acked or not.

    send a -> info       read: a at 0         final read, complete: nothing    =>  a has vanished
                         read: a at 0         final read, complete: nothing    =>  a phantom only

**unacknowledged-lost**: the send had acks=0, and a complete final read of a log that begins at 0
does not contain its value. Kafka promises nothing; it is counted apart.

    send a -> written, no ack    final read, complete: nothing    =>  a is unacknowledged-lost

**unseen**: acked and not found, but the final read of the partition is missing or not complete, and
did not pass the acked offset. Whether the record is lost is not known: it is never called lost.

    send a -> ok at 0    final read, stopped early: nothing                    =>  a is unseen

In a compacted log a record that a later one of its key supersedes, or may, need not be there: it is
none of these (analysis.stored.superseded).

    send a, then b of the same key, ok at 0 and 1    final read, complete: b   =>  nothing
    the same                                         final read, complete: a   =>  b is lost

Cannot see: records below the log's start (deleted by retention; never called lost or vanished; an
ack without offset counts as unseen when the log does not start at 0); the loss of sends that ended
info. A value in another partition than it was sent to is an inconsistent offset, not a loss.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import (
    BIT_AT_THE_END,
    LEADER_STRUCK,
    NOT_REPLICATED,
    OLD_ISR,
    STRIKE,
    TRUNCATION,
    UNCLEAN_ELECTION,
    UNSETTLED,
)
from analysis.checks.anomaly import Anomaly
from analysis.checks.groups.programs import by_output, vanished_output
from analysis.checks.promise import (
    ACKS,
    ALTERED,
    ALWAYS,
    CRCS,
    FLUSH,
    FORGOTTEN,
    NO_EPOCHS,
    OTHERWISE,
    REPLICATION,
    SEMANTICS,
    SHRINKS,
    TOOK,
    UNCLEAN,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, by_value
from analysis.frames.operations import ACKED, UNASKED, offset_of
from analysis.frames.signs import Sign


def lost() -> Rule:
    """Acked records that are provably gone."""
    before = F.col("delivered_ns").isNotNull()
    return Rule(
        holds=_acked_and_absent() & _provable(),
        place=F.col("acked_place"),
        time_ns=F.col("acked_ns"),
        outcome=F.when(before, "delivered_before").otherwise("never_delivered"),
        other_value=F.col("instead"),
    )


def unseen() -> Rule:
    """Acked records that an incomplete final read did not find."""
    deleted = F.col("complete") & F.col("acked_place").isNotNull()
    found_or_not = ~_provable() & ~deleted & ~F.col("passed") & ~F.col("superseded")
    return Rule(
        holds=_acked_and_absent() & found_or_not,
        place=F.col("acked_place"),
        time_ns=F.col("acked_ns"),
    )


def vanished() -> Rule:
    """Records that were delivered and are provably gone."""
    delivered = F.col("delivered_ns").isNotNull()
    kept = (offset_of(F.col("delivered_place")) >= F.col("log_start")) & ~F.col("superseded")
    return Rule(
        # A value without a send is a phantom.
        holds=delivered & F.col("sent").isNotNull() & _is_absent() & F.col("complete") & kept,
        place=F.col("delivered_place"),
        time_ns=F.col("delivered_ns"),
        known_ns=F.col("delivered_ns"),
    )


def is_readable() -> Column:
    """Whether a value can be in the log, by the final read."""
    return ~(_is_absent() & (F.col("complete") | _passed_for_good()))


def unacknowledged_lost() -> Rule:
    """Records that were sent without an ack, and are provably nowhere."""
    return Rule(
        holds=is_unacknowledged_lost(),
        place=F.lit(None).cast("bigint"),
        time_ns=F.col("sent_ns"),
    )


def is_below_start() -> Column:
    """Whether an acked record that was not found lay below the log's start."""
    return _is_absent() & (offset_of(F.col("acked_place")) < F.col("log_start"))


def is_unacknowledged_lost() -> Column:
    """Whether a send that asked for no ack (acks=0) is provably not in the log."""
    whole = F.col("complete") & (F.col("log_start") == 0)
    return (F.col("sent") == UNASKED) & _is_absent() & whole & ~F.col("superseded")


def _is_absent() -> Column:
    return F.col("first_place").isNull()


def _acked_and_absent() -> Column:
    return (F.col("sent") == ACKED) & _is_absent()


def is_owed() -> Column:
    """Whether the final read is complete and would have the record if it were not lost."""
    starts_at_zero = F.col("log_start") == 0
    kept = F.coalesce(offset_of(F.col("acked_place")) >= F.col("log_start"), starts_at_zero)
    return F.col("complete") & kept & ~F.col("superseded")


def _provable() -> Column:
    """Whether the final read would have the record if it were not lost."""
    return is_owed() | (_passed_for_good() & ~F.col("superseded"))


def _passed_for_good() -> Column:
    """Whether a final read passed the acked offset, and no copy can lie beyond where it stopped."""
    return F.col("passed") & F.coalesce("one_copy", F.lit(False))


ACKS_1 = when("acks=1", lambda facts: facts.acks == "1")
ACKS_0 = when("acks=0: nothing is acknowledged", lambda facts: facts.acks == "0")

LOST = Anomaly(
    name="lost",
    rules={by_value: lost},
    signs=(Sign.MISSED,),
    outcomes=("delivered_before", "never_delivered"),
    meaning="acknowledged, and absent from the complete final read",
    noun="lost record",
    promises=(
        permitted(
            when("unclean election allowed", lambda facts: facts.replicated and facts.unclean),
            "With unclean leader election a replica that lacks records may become leader; these "
            "records are lost.",
            UNCLEAN,
            by=UNCLEAN_ELECTION,
        ),
        permitted(
            FORGOTTEN,
            "A controller without its disk may help to elect one that lacks committed metadata: "
            "then an ISR counts again that had been left, and who is elected from it may lack "
            "records.",
            "KIP-595; KIP-853",
            by=OLD_ISR,
        ),
        permitted(
            NO_EPOCHS,
            "Without leader epochs a follower truncates to its high watermark, which may lie below "
            "acknowledged records when it is elected next.",
            "KIP-101",
            by=NOT_REPLICATED,
        ),
        permitted(
            ACKS_1,
            "With acks=1 only the leader has the record when it is acknowledged; if the leader "
            "fails before the followers have copied it, the record is lost.",
            ACKS,
            by=NOT_REPLICATED,
        ),
        permitted(
            TOOK,
            "Records are acknowledged before they are synced to disk, and every broker that had "
            "them all may have lost some.",
            FLUSH,
            by=LEADER_STRUCK,
        ),
        permitted(
            when("transactions", lambda facts: facts.transactional),
            "A commit is answered before the markers of its partitions are written; if the "
            "coordinator's log is set back before that, the transaction is aborted.",
            "KIP-98",
            by=UNSETTLED,
        ),
        forbidden(
            ACKS_1,
            "With acks=1 nothing is lost as long as the leader stays.",
            ACKS,
        ),
        forbidden(
            ACKS_0,
            "With acks=0 nothing is acknowledged, so nothing acknowledged can be lost.",
            ACKS,
        ),
        forbidden(
            OTHERWISE,
            "With acks=all and clean elections every in-sync replica has an acknowledged record, "
            "and only an in-sync replica may lead.",
            f"{REPLICATION}; KIP-101, KIP-279",
        ),
    ),
)
VANISHED = Anomaly(
    name="vanished",
    rules={by_value: vanished, by_output: vanished_output},
    signs={by_value: (Sign.STRAY,), by_output: (Sign.OUTPUTS,)},
    meaning="seen by a read, and absent from the complete final read",
    noun="vanished record",
    headline="{n} that consumers had already read {is} gone",
    unless_seen="lost",
    promises=(
        permitted(
            SHRINKS,
            "A new leader that lacks records may make the others truncate what consumers had "
            "already read.",
            f"{UNCLEAN}; KIP-101",
            by=TRUNCATION,
        ),
        permitted(
            TOOK,
            "Records are delivered before they are synced to disk, and every broker that had "
            "them all may have lost some.",
            FLUSH,
            by=STRIKE,
        ),
        permitted(
            ALTERED,
            "A broker serves what is on its disk, and librdkafka checks CRCs only with "
            "check.crcs=true.",
            CRCS,
            by=BIT_AT_THE_END,
        ),
        forbidden(
            OTHERWISE,
            "Consumers read committed records only, and clean elections keep these.",
            f"{REPLICATION}; {SEMANTICS}",
        ),
    ),
)
UNSEEN = Anomaly(
    name="unseen",
    rules={by_value: unseen},
    signs=(Sign.MISSED,),
    meaning="acknowledged and not found, but the final read was incomplete",
    noun="unseen record",
    promises=(
        permitted(
            ALWAYS,
            "The final read did not reach the end of the log: whether these records are lost is "
            "unknown, and so is the verdict.",
            "kafka-harness, docs/anomalies.md",
        ),
    ),
)
UNACKNOWLEDGED_LOST = Anomaly(
    name="unacknowledged-lost",
    rules={by_value: unacknowledged_lost},
    signs=(Sign.UNASKED,),
    meaning="sent with acks=0, and absent from the complete final read",
    noun="unacknowledged lost record",
    headline="{n} sent with acks=0 {is} gone",
    judged=when("under acks=0", lambda facts: facts.acks == "0"),
    promises=(
        permitted(
            ALWAYS,
            "With acks=0 the client does not wait for a response: a record that does not arrive is "
            "not sent again, and no error is reported.",
            ACKS,
        ),
    ),
)
