"""Owners: in each generation of a group each partition has one.

**two-owners**: two members have one partition in one generation.

    member-0: assigned 0 in generation 3    member-1: assigned 0 in generation 3      =>  two owners
    the same, but member-0 was revoked 0 before                                       =>  nothing
    the same, but member-1 in generation 4                                            =>  nothing

An expelled member learns of it late and keeps its partitions, in its old generation, while another
member has them in a newer one. That is legal, and its commits are then refused
(analysis.checks.groups.commits).

**unowned-partition**: a partition has no owner in a generation that lasts, so no member reads it.
One row per partition and generation.

    two partitions    member-0: assigned 0 in generation 3, for longer than a session    =>  1
    the same, member-1: assigned 1 in generation 3                            =>  nothing
    the first, but generation 4 begins before a session is over               =>  nothing: a member
    with 1 may have died before it recorded that

A generation lasts longer than a session if no member saw a newer one for `session.timeout.ms`
and ten seconds.

Cannot see: groups of the protocol in which each member has an epoch of its own (KIP-848), and of
static members, whose successors take over within a generation (KIP-345); a partition
without an owner while generations are short, which is an unavailability window (`process`), as is
one whose owner does not read it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checks.anomaly import Anomaly
from analysis.checks.groups.commits import COUNTED_ANEW
from analysis.checks.promise import OTHERWISE, forbidden, when
from analysis.frames.evidence import Rule, Tables


def _by_shared(tables: Tables) -> DataFrame | None:
    """A row for each two members that owned a partition together in one generation."""
    return _stretches(tables.history.runs, "shared") if tables.history.shared else None


def _by_unowned(tables: Tables) -> DataFrame | None:
    """A row for each partition and generation in which it had no owner."""
    return _stretches(tables.history.runs, "unowned") if tables.history.unowned else None


def _stretches(runs: DataFrame, name: str) -> DataFrame:
    """The partitions of one of the columns of schema.RUNS, and since when and until when."""
    return runs.select("run_id", F.inline(name)).withColumnsRenamed(
        {"partition": "home", "owners": "reader"}
    )


def wrongly_owned() -> Rule:
    """Partitions with two owners or none, one row per stretch of time."""
    return Rule(
        holds=F.col("from_ns").isNotNull(),
        place=F.lit(None).cast("bigint"),
        time_ns=F.col("from_ns"),
        shown_ns=F.col("from_ns"),
        lasted_ns=F.col("until_ns") - F.col("from_ns"),
    )


_OF_ONE_GENERATION = when(
    "where a consumer group's members are of one generation (classic protocol, none static), "
    "in histories of format 2",
    lambda facts: facts.commit is not None and facts.one_generation and facts.history_format >= 2,
)
_ONE_OWNER = forbidden(
    OTHERWISE,
    "In a generation each partition is given to one member.",
    "Kafka documentation, Design: Consumer Group Membership; KIP-429",
)

TWO_OWNERS = Anomaly(
    name="two-owners",
    rules={_by_shared: wrongly_owned},
    meaning="partitions that two members of the consumer group had in one generation",
    noun="doubly owned partition",
    of="partition",
    headline="{n} had two owners in one generation of the consumer group",
    lasts="until one of them lets it go",
    judged=_OF_ONE_GENERATION,
    promises=(COUNTED_ANEW, _ONE_OWNER),
)
UNOWNED_PARTITION = Anomaly(
    name="unowned-partition",
    rules={_by_unowned: wrongly_owned},
    meaning="partitions that no member of the consumer group had in a generation that lasted",
    noun="unowned partition",
    of="partition",
    headline="{n} had no owner in a generation of the consumer group",
    lasts="until another generation",
    judged=_OF_ONE_GENERATION,
    promises=(COUNTED_ANEW, _ONE_OWNER),
)
