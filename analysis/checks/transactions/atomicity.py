"""Transactions: all of one or nothing, and nothing before its commit was asked for.

A transaction is what a producer numbered so: its sends, and when it asked for the commit. A history
that does not tell (format 1, or damaged events) is not judged.

**uncommitted-read**: a reader was given a record of a transaction whose commit nobody had asked
for: not yet (`before`), or never (`never`): its producer died, was fenced or lost its state, so it
can only have been aborted. Nobody but its producer may commit a transaction (KIP-98); what a fenced
one wrote and readers of committed records see is such a record, too.

    send a, send b    read: a    commit asked    committed                 =>  a, before
    send a, send b    commit asked    read: a    committed                 =>  nothing
    send a, the producer is fenced    final read: a                        =>  a, never
    send a, the transaction was aborted    read: a                         =>  a phantom (aborted)

Readers with isolation.level=read_uncommitted may be given them (dirty reads, G1a's cause); they are
counted.

**torn**: of a transaction whose commit was asked for, the complete final reads have one record and
lack another; one row per missing record. Doubtful transactions count, too: where there is a part,
there must be all. An acknowledged record is lost as well.

    send a to 0, b to 1, committed    final reads, complete: a; nothing    =>  b is torn, lost
    send a to 0, b to 1, info         final reads, complete: a; nothing    =>  b is torn
    send a to 0, b to 1, info         neither is there                     =>  nothing: aborted
    the first, but the read of 1 stopped early                             =>  b is unseen

Final reads alone are asked, which are taken when nothing is open any more: readers of a live log
see partitions at different times. A transaction that ended with an error of one of its records and
was never asked to commit has no part in any read (`never` above).

**hanging-transaction** (KIP-664): the last stable offset of a partition stands below its end though
every transaction has been ended or must have timed out: readers of committed records get no further
until somebody aborts it by hand. One row per partition.

    committed; a minute later the final read stops at 5 of 9               =>  hanging at 5
    the producer died; transaction.timeout.ms has not passed               =>  nothing yet
    the same, asked before it had passed; the read ended later             =>  nothing yet

Cannot see: commits that a coordinator carried out without being asked and that nobody read; one
that it carried out though the transaction had timed out when it was asked for (that it had nobody
tells, so such a commit may have been carried out by right); a torn transaction one part of which is
below its log's start, or in a partition that was not read to its end; which transaction hangs.
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
    """Records that were given to readers before, or without, a commit being asked for."""
    before, never = _is_before(), _is_never()
    return Rule(
        holds=before | never,
        place=F.coalesce("delivered_place", "first_place"),
        time_ns=F.coalesce("delivered_ns", "sent_ns"),
        outcome=F.when(before, "before").when(never, "never"),
        shown_ns=F.col("delivered_ns"),
    )


def torn() -> Rule:
    """Records missing from a transaction of which others are there."""
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
    known = F.col("sent").isin(ACKED, UNKNOWN)
    return known & F.coalesce(F.col("delivered_ns") < F.col("asked_ns"), F.lit(False))


def _is_never() -> Column:
    # What was acknowledged was committed: if that was not asked for, an event is missing.
    read = F.col("delivered_ns").isNotNull() | F.col("first_place").isNotNull()
    return (F.col("sent") == UNKNOWN) & F.col("asked_ns").isNull() & read


def _is_missing() -> Column:
    """Whether it would have been found, had it been committed with the others."""
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
    found = F.max(F.col("first_place").isNotNull()).over(Window.partitionBy(*by_transaction))
    return (
        tables.values()
        .drop("sender", "transaction")
        .join(sends, on=["run_id", "value"], how="inner")
        .join(ends, on=[*by_transaction], how="inner")
        .withColumn("found_some", found)
    )


def _by_hanging_partition(tables: Tables) -> DataFrame | None:
    """A row for each partition whose last stable offset stands."""
    if tables.history.transactions is None or not tables.history.hanging:
        return None
    return tables.history.runs.select("run_id", F.inline("hanging"))


def _records_transactions(facts: Facts) -> bool:
    return facts.transactional and facts.history_format >= 2


_TOLD = when("transactions, in histories of format 2", _records_transactions)
TOLD_TO_COMMITTED = when(
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
    judged=_TOLD,
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
    judged=TOLD_TO_COMMITTED,
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
    judged=_TOLD,
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
