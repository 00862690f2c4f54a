"""Circular flow: committed transactions that read from each other in a cycle (Adya's G1c).

A transaction *reads from* another one if it processed a record that the other one sent. One row for
each transaction in a cycle, with the first record that it read in it (`value`, and from whom:
`reader`) and the first of its own that was read in it (`other_value`).

    1 of a: processed y, sent x    2 of b: processed x, sent y    both committed    =>  a cycle
    the same, and 2 of b processed x after 1 of a had committed, who processed no y =>  nothing
    the first, and 2 of b was aborted                                               =>  nothing
    1 of a: processed x, which it sent itself                                       =>  nothing

Each of them read what was not decided yet: an abort of one would leave the others with records that
never were. Readers of committed records cannot be in a cycle: they read a record after its commit,
so each commit would come before itself. So one of the readings of a cycle is an uncommitted read
(`before`), and the cycle is its consequence.

analysis.checks.transactions.cycles finds the cycles, and says what counts as committed and as read.
Damage makes fewer of them; only damaged tables of transformers and final reads matter.

Cannot see: cycles through records that no transformer processed, or that were processed outside a
transaction; cycles through overwritten reads (rw edges: G-single, G2), since nothing records what a
read did not find.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import INTERNAL
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import OTHERWISE, SET_BACK, forbidden, permitted, when
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import place_of
from analysis.frames.signs import Sign


def circular() -> Rule:
    """Transactions in a cycle, one row each."""
    return Rule(
        holds=F.col("time_ns").isNotNull(),
        place=place_of(F.col("partition"), F.col("offset")),
        time_ns=F.col("time_ns"),
        other_place=place_of(F.col("other_partition"), F.col("other_offset")),
        other_value=F.col("other_value"),
        shown_ns=F.col("time_ns"),
    )


def _by_circular_transaction(tables: Tables) -> DataFrame | None:
    """A row for each transaction in a cycle, with the fate of the record that it read."""
    if not tables.history.circular:
        return None
    rows = tables.history.runs.select("run_id", F.inline("circular"))
    return tables.values().join(F.broadcast(rows), on=["run_id", "value"], how="inner")


CIRCULAR_FLOW = Anomaly(
    name="circular-flow",
    rules={_by_circular_transaction: circular},
    signs=(Sign.CYCLE,),
    meaning="a committed transaction that read, through others or at once, from one that read from "
    "it",
    noun="circular transaction",
    of="transaction",
    headline="{n} read from one another in a cycle",
    judged=when(
        "transformers with transactions, in histories of format 2",
        lambda facts: facts.transactional and facts.transforms and facts.history_format >= 2,
    ),
    promises=(
        permitted(
            when(
                "consumers with isolation.level=read_uncommitted", lambda facts: facts.uncommitted
            ),
            "Only consumers with isolation.level=read_committed wait for the commit of what they "
            "read.",
            "KIP-98",
        ),
        permitted(
            SET_BACK,
            "The coordinator's own log may have been set back, and a transaction be ended as an "
            "earlier one was, before its producer was done.",
            "KIP-98",
            by=INTERNAL,
        ),
        forbidden(
            OTHERWISE,
            "Who reads committed records reads them after their commit, and commits after that.",
            "KIP-98; KIP-447",
        ),
    ),
)
