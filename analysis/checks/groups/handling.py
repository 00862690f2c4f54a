"""What a consumer group made of the log: skipped and reprocessed records.

**skipped**: the group has committed past a record that is in the log, and none of its members has
processed it. At-most-once loss: nobody will ever be given it again.

    final read: a at 0, b at 1    poll a, b    process a    committed: 2    =>  b is skipped
    the same, but process b as well                                         =>  nothing
    the same, but committed: 1                                              =>  nothing as yet

`polled` if a member had been given it, `never_polled` if none had, `failed` if its processing
failed: what a transformer made of it certainly was not written.

**reprocessed**: members processed one record, value and offset, more than once.

    process a at 0    process a at 0                                        =>  a is reprocessed
    process a at 0    process a at 1                                        =>  a duplicate at most

`by_another` if two members did so, `by_the_same` if one did.

What counts as committed is the last thing known of a partition: a commit that was acknowledged, or
the offset at which the coordinator let the next member begin. Processing that was begun and never
ended is doubt: such a record is not skipped, and its second processing no proof of a first.
Processing that failed, as that of an aborted transaction, is none.

    process a -> fail    process a at 0                                     =>  nothing

Cannot see: records before the first that the group was ever given (`auto.offset.reset=latest`);
records that are gone from the log (lost, vanished); a commit without answer that nobody was told of
afterwards; a commit past the log's end, as long as no record comes to lie there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import (
    AFTER_STRIKE,
    AFTER_TRUNCATION,
    INTERNAL,
    MEMBER_STOPPED,
    OFFSETS_GONE,
    PROCESSING_FAILED,
    READ_AS_ANOTHER,
)
from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import (
    ALTERED,
    AUTO_COMMIT,
    CRCS,
    EXACTLY_ONCE,
    IN_TRANSACTIONS,
    OTHERWISE,
    SEMANTICS,
    SET_BACK,
    SHRINKS,
    TOOK,
    UNCLEAN,
    UNSTABLE,
    UNSTABLE_OFFSETS,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import is_processed, offset_of, partition_of, place_of
from analysis.frames.signs import Sign


def handled(operations: DataFrame, fates: DataFrame) -> DataFrame:
    """`fates` with what the group did to each value, of runs that have a group.

    polled_ns (first; null: never), processed (how often, at the place where it was most often),
    processed_place, processed_ns (the last there), members (1 or 2: two or more, there), begun (how
    often it is not known how processing ended), failed (how often it failed), committed and started
    (of the partition that has it in the end, if any: where the group would go on, and the lowest
    offset that it was given).
    """
    partition = partition_of(F.col("first_place")).alias("partition")
    return (
        fates.join(_by_value(operations), on=["run_id", "value"], how="left")
        .withColumn("partition", partition)
        .join(F.broadcast(_by_partition(operations)), on=["run_id", "partition"], how="left")
    )


def given_up(skipped: DataFrame, operations: DataFrame) -> DataFrame:
    """Skipped rows of `handled` with their last poll, and what came of the member that made it.

    polled_ns, polled_by, polled_partition and polled_offset (null: never polled), passed_ns: when
    that member began, after that poll, to process a record of a later offset of that partition
    (null: it never did), and went_on_ns: when the group was first known to have committed past it.
    """
    place = F.struct("end_ns", "process", "partition", "offset")
    last = (
        operations.where(F.col("f") == "poll")
        .join(F.broadcast(skipped.select("run_id", "value")), on=["run_id", "value"], how="inner")
        .groupBy("run_id", "value")
        .agg(F.max(place).alias("last"))
        .select(
            "run_id",
            "value",
            F.col("last.end_ns").alias("polled_ns"),
            F.col("last.process").alias("polled_by"),
            F.col("last.partition").alias("polled_partition"),
            F.col("last.offset").alias("polled_offset"),
        )
    )
    processed = operations.where(is_processed()).select(
        "run_id",
        F.col("process").alias("polled_by"),
        F.col("partition").alias("polled_partition"),
        F.col("offset").alias("later_offset"),
        F.col("start_ns").alias("later_ns"),
    )
    passed = (
        processed.join(
            F.broadcast(last), on=["run_id", "polled_by", "polled_partition"], how="inner"
        )
        .where(F.col("later_offset") > F.col("polled_offset"))
        .where(F.col("later_ns") >= F.col("polled_ns"))
        .groupBy("run_id", "value")
        .agg(F.min("later_ns").alias("passed_ns"))
    )
    return (
        skipped.drop("polled_ns")
        .join(last, on=["run_id", "value"], how="left")
        .join(passed, on=["run_id", "value"], how="left")
        .join(_went_on(skipped, operations), on=["run_id", "value"], how="left")
    )


def _went_on(skipped: DataFrame, operations: DataFrame) -> DataFrame:
    """run_id, value, went_on_ns: by one order of what was committed and of what was skipped."""
    known = ("run_id", "partition", "offset")
    commits = operations.where(_tells_of_commits()).select(*known, "end_ns")
    passed = skipped.withColumn("offset", offset_of(F.col("first_place"))).select(*known, "value")
    in_order = Window.partitionBy("run_id", "partition").orderBy("offset")
    behind = in_order.rangeBetween(1, Window.unboundedFollowing)
    return (
        commits.unionByName(passed, allowMissingColumns=True)
        .withColumn("went_on_ns", F.min("end_ns").over(behind))
        .where(F.col("value").isNotNull())
        .select("run_id", "value", "went_on_ns")
    )


def _tells_of_commits() -> Column:
    return F.col("f").isin("commit", "committed") & (F.col("type") == "ok")


def skipped() -> Rule:
    """Values in the log that the group went past, one row a value."""
    given = F.col("polled_ns").isNotNull()
    return Rule(
        holds=_is_skipped(),
        place=F.col("first_place"),
        time_ns=F.coalesce("polled_ns", "committed_ns"),
        shown_ns=_skipped_ns(),
        outcome=F.when(F.col("failed") > 0, "failed")
        .when(given, "polled")
        .otherwise("never_polled"),
    )


def _skipped_ns() -> Column:
    """When it was known both that the record was there and that the group had gone past it: a
    record may be written below an offset that was committed before the log was cut."""
    acked = F.when(F.col("acked_place") == F.col("first_place"), F.col("acked_ns"))
    given = F.when(F.col("delivered_place") == F.col("first_place"), F.col("delivered_ns"))
    there_ns = F.least(acked, given)
    both = there_ns.isNotNull() & F.col("went_on_ns").isNotNull()
    return F.when(both, F.greatest(there_ns, F.col("went_on_ns")))


def reprocessed() -> Rule:
    """Values that were processed more than once at one place, one row a value."""
    return Rule(
        holds=F.col("processed") > 1,
        place=F.col("processed_place"),
        time_ns=F.col("processed_ns"),
        shown_ns=F.col("processed_ns"),
        outcome=F.when(F.col("members") > 1, "by_another").otherwise("by_the_same"),
    )


def _by_value(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, value) that a member was given."""
    by_place = (
        operations.where(F.col("f").isin("poll", "process") & F.col("value").isNotNull())
        .groupBy("run_id", "value", place_of(F.col("partition"), F.col("offset")).alias("place"))
        .agg(
            F.min(F.when(F.col("f") == "poll", F.col("end_ns"))).alias("polled_ns"),
            F.count_if(is_processed()).alias("processed"),
            F.count_if((F.col("f") == "process") & (F.col("type") == "info")).alias("begun"),
            F.count_if((F.col("f") == "process") & (F.col("type") == "fail")).alias("failed"),
            F.max(F.when(is_processed(), F.col("end_ns"))).alias("processed_ns"),
            # Hashes: the least and the greatest of texts would need a sort.
            F.min(F.when(is_processed(), F.xxhash64("process"))).alias("one"),
            F.max(F.when(is_processed(), F.xxhash64("process"))).alias("other"),
        )
    )
    most = F.max_by(F.struct("place", "processed_ns", "one", "other"), F.col("processed")).alias(
        "most"
    )
    return (
        by_place.groupBy("run_id", "value")
        .agg(
            F.min("polled_ns").alias("polled_ns"),
            F.max("processed").alias("processed"),
            F.sum("begun").alias("begun"),
            F.sum("failed").alias("failed"),
            most,
        )
        .select(
            "run_id",
            "value",
            "polled_ns",
            "processed",
            "begun",
            "failed",
            F.col("most.place").alias("processed_place"),
            F.col("most.processed_ns").alias("processed_ns"),
            F.when(F.col("most.one") != F.col("most.other"), 2).otherwise(1).alias("members"),
        )
    )


def _by_partition(operations: DataFrame) -> DataFrame:
    """One row for each (run_id, partition) of which the group was given anything."""
    known = _tells_of_commits()
    at = F.when(known, F.col("offset"))
    moment = F.when(known, F.col("end_ns"))
    return (
        operations.where(F.col("f").isin("poll", "commit", "committed"))
        .groupBy("run_id", "partition")
        .agg(
            F.min(F.when(F.col("f") == "poll", F.col("offset"))).alias("started"),
            F.max_by(at, moment).alias("committed"),
            F.max(moment).alias("committed_ns"),
        )
    )


def is_passed() -> Column:
    """Whether a value of `handled` is in the log, and the group would go on behind it."""
    offset = offset_of(F.col("first_place"))
    return (offset < F.col("committed")) & (offset >= F.col("started"))


def _is_skipped() -> Column:
    untouched = (F.coalesce("processed", F.lit(0)) == 0) & (F.coalesce("begun", F.lit(0)) == 0)
    return is_passed() & untouched


def _by_handled_value(tables: Tables) -> DataFrame | None:
    history = tables.history
    return handled(history.operations, tables.values()) if history.groups else None


def _by_skipped_value(tables: Tables) -> DataFrame | None:
    given = _by_handled_value(tables)
    if given is None:
        return None
    return given_up(given.where(_is_skipped()), tables.history.operations)


_WITH_A_GROUP = when(
    "where the workload has a consumer group", lambda facts: facts.commit is not None
)

SKIPPED = Anomaly(
    name="skipped",
    rules={_by_skipped_value: skipped},
    signs=(Sign.PASSED,),
    outcomes=("polled", "never_polled", "failed"),
    meaning="committed by the consumer group, but processed by no member",
    noun="skipped record",
    headline="{n} {was} committed by the consumer group and never processed",
    judged=_WITH_A_GROUP,
    promises=(
        permitted(
            SHRINKS,
            "A group continues at its committed offset; where the log was truncated below it, new "
            "records at the old offsets are skipped.",
            f"{UNCLEAN}; KIP-101",
            by=AFTER_TRUNCATION,
        ),
        permitted(
            TOOK,
            "A log that lost its end with the last copy is written anew from there, below what was "
            "committed.",
            "KIP-966",
            by=AFTER_STRIKE,
        ),
        permitted(
            SET_BACK,
            "A group whose committed offset is gone goes on where auto.offset.reset says, and what "
            "the coordinator knew of a transaction may have been set back.",
            "KIP-966",
            by=OFFSETS_GONE,
        ),
        permitted(
            ALTERED,
            "A record that is read as another one is never given to the group.",
            CRCS,
            by=READ_AS_ANOTHER,
        ),
        permitted(
            when("offsets committed by enable.auto.commit", lambda facts: facts.commit == "auto"),
            "The client commits the records that it has delivered, processed or not; what a member "
            "had not processed when it died is not delivered again.",
            AUTO_COMMIT,
            by=MEMBER_STOPPED,
        ),
        permitted(
            when("offsets committed before processing", lambda facts: facts.commit == "before"),
            "At most once: what was committed but not processed when the member stopped, or when "
            "the response to the commit was lost, is not delivered again.",
            SEMANTICS,
            by=MEMBER_STOPPED,
        ),
        permitted(
            when(
                "offsets committed before a record is sent for what was taken, or by "
                "enable.auto.commit",
                lambda facts: facts.transforms and facts.commit in ("before", "auto"),
            ),
            "What was committed is not taken again when what was made of it cannot be written.",
            SEMANTICS,
            by=PROCESSING_FAILED,
        ),
        forbidden(
            when("offsets committed after processing", lambda facts: facts.commit == "after"),
            "At least once: only what was processed is committed.",
            SEMANTICS,
        ),
        forbidden(
            IN_TRANSACTIONS,
            "Exactly once: an offset is committed with all that was made of the records before it.",
            EXACTLY_ONCE,
        ),
        forbidden(
            OTHERWISE,
            "A member that stays alive processes all records that are delivered to it.",
            SEMANTICS,
        ),
    ),
)
REPROCESSED = Anomaly(
    name="reprocessed",
    rules={_by_handled_value: reprocessed},
    signs=(Sign.AGAIN,),
    outcomes=("by_another", "by_the_same"),
    meaning="processed more than once by the consumer group",
    noun="reprocessed record",
    headline="{n} {was} processed more than once by the consumer group",
    judged=_WITH_A_GROUP,
    promises=(
        permitted(
            SHRINKS,
            "A group whose committed offset is no longer in the log starts again where "
            "auto.offset.reset says.",
            f"{UNCLEAN}; KIP-101",
            by=AFTER_TRUNCATION,
        ),
        permitted(
            SET_BACK,
            "The group's committed offsets may have been set back.",
            "KIP-966",
            by=INTERNAL,
        ),
        permitted(
            when("offsets committed by enable.auto.commit", lambda facts: facts.commit == "auto"),
            "What was processed since the last commit is delivered again to the member that takes "
            "over.",
            AUTO_COMMIT,
        ),
        permitted(
            when("offsets committed after processing", lambda facts: facts.commit == "after"),
            "At least once: what was processed but not yet committed is delivered again to the "
            "member that takes over.",
            SEMANTICS,
        ),
        permitted(UNSTABLE, UNSTABLE_OFFSETS, EXACTLY_ONCE),
        forbidden(
            IN_TRANSACTIONS,
            "Exactly once: whoever takes over goes on behind what the last transaction committed, "
            "and a member of an older generation cannot commit.",
            EXACTLY_ONCE,
        ),
        forbidden(
            OTHERWISE,
            "At most once: nothing is processed before it is committed, and what is committed is "
            "not delivered again.",
            SEMANTICS,
        ),
    ),
)
