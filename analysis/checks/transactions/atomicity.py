"""Transactions: all of one or nothing, and nothing before its commit was asked for.

A transaction is the sends that a producer gave one number, with the time at which it asked for the
commit. A history without these (format 1, or damaged events) is not judged.

**uncommitted-read**: a reader was given a record of a transaction before its producer asked for the
commit (`before`), or although it never did (`never`): it died, was fenced or lost its state, so the
transaction can only have been aborted. Only its producer may commit a transaction (KIP-98), so a
record of a fenced producer that readers of committed records get is one, too.

    send a, send b    read: a    commit asked    committed                 =>  a, before
    send a, send b    commit asked    read: a    committed                 =>  nothing
    send a, the producer is fenced    final read: a                        =>  a, never
    send a, the transaction was aborted    read: a                         =>  a phantom (aborted)

Readers with isolation.level=read_uncommitted may be given them (dirty reads, G1a's cause); they
count too.

**torn**: the complete final reads have one record of a transaction whose commit was asked for, and
lack another; one row per missing record. Doubtful transactions count, too: a part requires the
whole. An acknowledged record is lost as well.

    send a to 0, b to 1, committed    final reads, complete: a; nothing    =>  b is torn, lost
    send a to 0, b to 1, info         final reads, complete: a; nothing    =>  b is torn
    send a to 0, b to 1, info         neither is there                     =>  nothing: aborted
    the first, but the read of 1 stopped early                             =>  b is unseen

Only final reads count, when no transaction is open any more: readers of a live log see partitions
at different times. A transaction that failed with one of its records, and whose commit was never
asked for, must be in no read (`never` above).

**hanging-transaction** (KIP-664): the last stable offset of a partition stays below its end, but
every transaction has ended or must have timed out: readers of committed records get no further
until somebody aborts it by hand. One row per partition.

    committed; a minute later the final read stops at 5 of 9               =>  hanging at 5
    the producer died; transaction.timeout.ms has not passed               =>  nothing yet
    the same, asked before it had passed; the read ended later             =>  nothing yet

Cannot see: a commit without a request whose records nobody read; a commit of a transaction that had
timed out before the request (nothing records whether it had); a torn transaction with a part below
its log's start, or in a partition that was not read to its end; which transaction hangs.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import (
    ABORT_CUT,
    AFTER_STRIKE,
    AFTER_TRUNCATION,
    INTERNAL,
    UNSETTLED,
)
from analysis.causes.run_facts.configuration import Facts
from analysis.checks.anomaly import Anomaly
from analysis.checks.loss import ACKS_0, ACKS_1, LOST, is_owed
from analysis.checks.promise import (
    NO_EPOCHS,
    OTHERWISE,
    SET_BACK,
    SHRINKS,
    TOOK,
    UNCLEAN,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import ACKED, UNKNOWN, is_send, place_of
from analysis.frames.signs import Sign

COMMIT_ASKED = "commit-asked"


def uncommitted_read() -> Rule:
    """Records that readers got before, or without, a request to commit."""
    before, never = _is_before(), _is_never()
    return Rule(
        holds=before | never,
        place=F.coalesce("delivered_place", "first_place"),
        time_ns=F.coalesce("delivered_ns", "sent_ns"),
        outcome=F.when(before, "before").when(never, "never"),
        shown_ns=F.col("delivered_ns"),
    )


def torn() -> Rule:
    """Missing records of a transaction that has others in the log."""
    return Rule(
        holds=F.col("found_some") & F.col("asked_ns").isNotNull() & _is_missing(),
        place=F.col("acked_place"),
        time_ns=F.coalesce("acked_ns", "asked_ns"),
        outcome=F.when(F.col("sent") == ACKED, "committed").otherwise("doubtful"),
        known_ns=F.coalesce("acked_ns", "asked_ns"),
    )


def hanging() -> Rule:
    """Partitions whose last stable offset stands, one row each."""
    return Rule(
        holds=F.col("offset").isNotNull(),
        place=place_of(F.col("partition"), F.col("offset")),
        time_ns=F.col("time_ns"),
    )


def _is_before() -> Column:
    undecided = F.col("sent").isin(ACKED, UNKNOWN)
    return undecided & F.coalesce(F.col("delivered_ns") < F.col("asked_ns"), F.lit(False))


def _is_never() -> Column:
    # Acknowledged means committed: without a request, an event is missing.
    read = F.col("delivered_ns").isNotNull() | F.col("first_place").isNotNull()
    return (F.col("sent") == UNKNOWN) & F.col("asked_ns").isNull() & read


def _is_missing() -> Column:
    """Whether it is absent, and a commit with the others would have made it present."""
    return F.col("sent").isin(ACKED, UNKNOWN) & F.col("first_place").isNull() & is_owed()


def _by_value_in_transactions(tables: Tables) -> DataFrame | None:
    """A row for each value that was sent in a transaction: its fate, `asked_ns`, when its commit
    was asked for first (null: never), and `found_some`, whether the final read has a record of the
    same transaction."""
    events = tables.history.transactions
    if events is None:
        return None
    by_transaction = ("run_id", "sender", "transaction")
    asked = F.when(F.col("name") == COMMIT_ASKED, F.col("time_ns"))
    ends = (
        events.withColumn("sender", F.crc32("process"))
        .groupBy(*by_transaction)
        .agg(F.min(asked).alias("asked_ns"))
    )
    sends = tables.history.operations.where(is_send() & F.col("transaction").isNotNull()).select(
        "run_id", "value", F.crc32("process").alias("sender"), "transaction"
    )
    found_some = F.max(F.col("first_place").isNotNull()).over(Window.partitionBy(*by_transaction))
    return (
        tables.values()
        .drop("sender", "transaction")
        .join(sends, on=["run_id", "value"], how="inner")
        .join(ends, on=[*by_transaction], how="inner")
        .withColumn("found_some", found_some)
    )


def _by_hanging_partition(tables: Tables) -> DataFrame | None:
    """A row for each partition whose last stable offset stands."""
    if tables.history.transactions is None or not tables.history.hanging:
        return None
    return tables.history.runs.select("run_id", F.inline("hanging"))


def _records_transactions(facts: Facts) -> bool:
    return facts.transactional and facts.history_format >= 2


_WITH_TRANSACTIONS = when("transactions, in histories of format 2", _records_transactions)
READ_COMMITTED = when(
    "transactions and isolation.level=read_committed, in histories of format 2",
    lambda facts: _records_transactions(facts) and not facts.uncommitted,
)

UNCOMMITTED_READ = Anomaly(
    name="uncommitted-read",
    rules={_by_value_in_transactions: uncommitted_read},
    signs=(Sign.EARLY,),
    outcomes=("before", "never"),
    meaning="read though the commit of its transaction had not been asked for",
    noun="uncommitted read",
    headline="{n} {was} read whose commit nobody had asked for",
    judged=_WITH_TRANSACTIONS,
    promises=(
        permitted(
            when(
                "consumers with isolation.level=read_uncommitted", lambda facts: facts.uncommitted
            ),
            "Only consumers with isolation.level=read_committed wait for the commit.",
            "KIP-98",
        ),
        permitted(
            SHRINKS,
            "Where the log is set back, the marker that aborted a transaction may be cut off, and "
            "what it sent be taken for committed.",
            f"KIP-98; {UNCLEAN}",
            by=ABORT_CUT,
        ),
        permitted(
            SET_BACK,
            "The coordinator's own log may have been set back, and a transaction be ended as an "
            "earlier one was.",
            "KIP-98",
            by=UNSETTLED,
        ),
        forbidden(
            OTHERWISE,
            "Readers of committed records are given none of a transaction before its producer has "
            "had it committed; what a fenced one left open is aborted.",
            "KIP-98; KIP-360; KIP-890",
        ),
    ),
)
TORN = Anomaly(
    name="torn",
    rules={_by_value_in_transactions: torn},
    signs=(Sign.TORN,),
    outcomes=("committed", "doubtful"),
    meaning="missing from a transaction of which the final read has other records",
    noun="torn transaction's record",
    headline="{n} {is} missing from transactions of which others are there",
    unless_seen="lost",
    judged=READ_COMMITTED,
    # Transactions need acks=all, and brokers that have leader epochs (KIP-98).
    promises=tuple(
        row for row in LOST.promises if row.condition not in (ACKS_1, ACKS_0, NO_EPOCHS)
    ),
)
HANGING_TRANSACTION = Anomaly(
    name="hanging-transaction",
    rules={_by_hanging_partition: hanging},
    meaning="a partition whose last stable offset stands though no transaction can be open",
    noun="hanging transaction",
    of="partition",
    headline="{n} cannot be read to the end: a transaction stays open that nobody can end",
    judged=_WITH_TRANSACTIONS,
    promises=(
        permitted(
            SET_BACK,
            "A coordinator whose log was set back does not know the transaction any more, and "
            "nobody ends it.",
            "KIP-664",
            by=INTERNAL,
        ),
        permitted(
            SHRINKS,
            "Where the log is set back, the marker that ended the transaction may be cut off.",
            f"KIP-664; {UNCLEAN}",
            by=AFTER_TRUNCATION,
        ),
        permitted(
            TOOK,
            "The marker that ended the transaction may have been on the disks that lost it.",
            "KIP-664; KIP-966",
            by=AFTER_STRIKE,
        ),
        forbidden(
            OTHERWISE,
            "A coordinator ends each transaction, at the latest when transaction.timeout.ms has "
            "passed, and brokers take nothing into one that has ended.",
            "KIP-98; KIP-890",
        ),
    ),
)
