"""Commits of a group: offsets that go back, and commits of a generation that is over.

**commit-back**: the coordinator answers a new owner of a partition with a lower offset than one
whose commit it had acknowledged before the question.

    commit 10 -> ok    then asked by the partition's new owner: committed 7            =>  back
    the same: committed 10, or 12                                                      =>  nothing
    commit 10 -> ok, after the question was begun                                      =>  nothing
    commit 7 -> ok    commit 10 -> ok    commit 7 -> ok    committed 7                 =>  nothing
    commit 7 begun, no answer    commit 10 -> ok    committed 7                        =>  nothing

A member that commits a lower offset sets the group back itself, and a late commit (retried, or of
an older generation) is no fault of the storage. So the answer convicts only if each commit of
exactly that offset was acknowledged before the higher one began. A commit of a member that died
meanwhile has no known offset, and may be of any.

**zombie-commit**: a commit was acknowledged that a member began in a generation after another
member had been given its partitions in a newer one. It must be refused (ILLEGAL_GENERATION): it
may set the group back, or past what the new owner has not processed.

    member-1: assigned in generation 4    member-0, in generation 3: commit 10 -> ok   =>  zombie
    the same, and it is refused, or gets no answer                                     =>  nothing
    the same, begun before member-1 got them                                           =>  nothing
    the same, but the client knew generation 4 before the commit had ended             =>  nothing
    the same, in a transaction that was aborted                                        =>  nothing

A generation counts as assigned once a member got its partitions: by then the coordinator has stored
it. One that members have only joined may die with its coordinator.

Cannot see: automatic commits of clients (`commit = "auto"`), of which only the end is known;
offsets that are gone altogether, since an answer without an offset is not recorded.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import INTERNAL
from analysis.causes.run_facts.configuration import Facts
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    EXACTLY_ONCE,
    OTHERWISE,
    SET_BACK,
    UNSTABLE,
    UNSTABLE_OFFSETS,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import place_of
from analysis.frames.signs import Sign

_EVER_NS = 2**63 - 1


def answers(operations: DataFrame) -> DataFrame:
    """Each answer of the coordinator after a commit of a higher offset.

    run_id, reader, partition, offset, end_ns, higher (of the higher commits acknowledged before the
    question, the one begun last: begun_ns, offset, acked_ns), same_ns (when the last commit of
    exactly that offset had ended at the latest; null: there is none).
    """
    asked = operations.where((F.col("f") == "committed") & _took_time()).select(
        "run_id",
        "partition",
        F.col("process").alias("reader"),
        "id",
        "offset",
        "start_ns",
        "end_ns",
    )
    commits = operations.where((F.col("f") == "commit") & (F.col("type") != "fail")).select(
        "run_id",
        "partition",
        F.col("offset").alias("to"),
        F.col("start_ns").alias("begun_ns"),
        F.col("end_ns").alias("acked_ns"),
        ((F.col("type") == "ok") & _took_time()).alias("acked"),
    )
    above = F.col("acked") & (F.col("to") > F.col("offset"))
    above &= F.col("acked_ns") < F.col("start_ns")
    higher = F.struct("begun_ns", F.col("to").alias("offset"), "acked_ns")
    same = F.coalesce(F.col("to") == F.col("offset"), F.lit(True))
    same &= F.col("begun_ns") <= F.col("end_ns")
    ended = F.when(F.col("acked"), F.col("acked_ns")).otherwise(_EVER_NS)
    return (
        commits.join(F.broadcast(asked), on=["run_id", "partition"], how="inner")
        .where(above | same)
        .groupBy("run_id", "reader", "id", "partition", "offset", "end_ns")
        .agg(
            F.max(F.when(above, higher)).alias("higher"),
            F.max(F.when(same, ended)).alias("same_ns"),
        )
        .where(F.col("higher").isNotNull())
        .drop("id")
    )


def outdated_commits(operations: DataFrame, runs: DataFrame) -> DataFrame:
    """Each acknowledged commit of a member whose generation was over.

    run_id, reader, partition, offset, start_ns, end_ns, since_ns (from when on both the member and
    the newer generation existed), until_ns (when the member learned of another).
    """
    commits = operations.where(
        (F.col("f") == "commit") & (F.col("type") == "ok") & _took_time()
    ).select(
        "run_id",
        F.col("process").alias("reader"),
        "generation",
        "partition",
        "offset",
        "start_ns",
        "end_ns",
    )
    kept = runs.select("run_id", F.explode("outdated").alias("kept")).select(
        "run_id",
        F.col("kept.process").alias("reader"),
        F.col("kept.generation").alias("generation"),
        F.col("kept.since_ns").alias("since_ns"),
        F.col("kept.until_ns").alias("until_ns"),
    )
    return commits.join(F.broadcast(kept), on=["run_id", "reader", "generation"], how="inner")


def went_back() -> Rule:
    """Answers below what was committed, one row per answer."""
    return Rule(
        holds=F.col("same_ns").isNull() | (F.col("same_ns") < F.col("higher.begun_ns")),
        place=place_of(F.col("partition"), F.col("offset")),
        time_ns=F.col("end_ns"),
        known_ns=F.col("higher.acked_ns"),
        shown_ns=F.col("end_ns"),
        other_place=place_of(F.col("partition"), F.col("higher.offset")),
    )


def zombie_commit() -> Rule:
    """Commits of a generation that was over, one row per partition and commit."""
    learned = F.coalesce(F.col("until_ns") <= F.col("end_ns"), F.lit(False))
    return Rule(
        holds=(F.col("start_ns") > F.col("since_ns")) & ~learned,
        place=place_of(F.col("partition"), F.col("offset")),
        time_ns=F.col("end_ns"),
        known_ns=F.col("since_ns"),
        shown_ns=F.col("end_ns"),
    )


def by_answer(tables: Tables) -> DataFrame | None:
    """A row for each answer after a higher commit."""
    history = tables.history
    return answers(history.operations) if history.groups else None


def by_outdated_commit(tables: Tables) -> DataFrame | None:
    """A row for each commit of a member whose generation was over."""
    history = tables.history
    return outdated_commits(history.operations, history.runs) if history.outdated else None


def _took_time() -> Column:
    """Whether its begin was recorded. Of automatic commits, and in older histories of questions to
    the coordinator, only the end is known, and stands for both."""
    return F.coalesce(F.col("start_ns") < F.col("end_ns"), F.lit(False))


def _commits(facts: Facts) -> bool:
    return facts.commit in ("after", "before", "transaction") and facts.history_format >= 2


COUNTED_ANEW = permitted(
    SET_BACK,
    "The coordinator may have lost what it knew of the group, and count its generations anew.",
    "KIP-966",
    by=INTERNAL,
)
_GENERATIONS = "Kafka protocol: OffsetCommit, ILLEGAL_GENERATION; KIP-62"

COMMIT_BACK = Anomaly(
    name="commit-back",
    rules={by_answer: went_back},
    signs=(Sign.LOWER,),
    meaning="offsets that the coordinator knew no more, though it had acknowledged their commit",
    noun="falling committed offset",
    judged=when(
        "where members of a consumer group commit themselves, in histories of format 2", _commits
    ),
    promises=(
        permitted(
            SET_BACK,
            "Committed offsets are records of an internal topic, whose log may have been cut or "
            "destroyed.",
            "KIP-966",
            by=INTERNAL,
        ),
        permitted(UNSTABLE, UNSTABLE_OFFSETS, EXACTLY_ONCE),
        forbidden(
            OTHERWISE,
            "The coordinator stores an offset on all in-sync replicas before it acknowledges it, "
            "and answers with the last one.",
            "Kafka documentation, Implementation: Consumer Offset Tracking",
        ),
    ),
)
ZOMBIE_COMMIT = Anomaly(
    name="zombie-commit",
    rules={by_outdated_commit: zombie_commit},
    signs=(Sign.OUTDATED,),
    meaning="commits accepted from a member of a generation that was over",
    noun="zombie commit",
    judged=when(
        "where members of one generation (classic protocol, none static) commit themselves, in "
        "histories of format 2",
        lambda facts: _commits(facts) and facts.one_generation,
    ),
    promises=(
        COUNTED_ANEW,
        forbidden(
            OTHERWISE,
            "A commit that names another generation than the group's is refused.",
            _GENERATIONS,
        ),
    ),
)
