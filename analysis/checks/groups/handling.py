"""A consumer group's processing of the log: skipped and reprocessed records.

**skipped**: the group has committed past a record that is in the log, and no member has processed
it. At-most-once loss: no member will ever get it again.

    final read: a at 0, b at 1    poll a, b    process a    committed: 2    =>  b is skipped
    the same, but process b as well                                         =>  nothing
    the same, but committed: 1                                              =>  nothing as yet

`polled` if a member had got it, `never_polled` if none had, `failed` if its processing failed (a
transformer's output was certainly not written), `before_first` if it lies before the first record
that any member got of its partition: with auto.offset.reset=earliest a new group begins at the
log's start.

    final read: a at 0, b at 1    poll b, process b    committed: 2, earliest   =>  a is skipped
    the same, latest                                                        =>  nothing
    the same, and the reset is not known                                    =>  unknown

A record that a member's reset to the log's end passed over while it was in the log counts as in the
log, also if it was deleted later; the reset permits it.

    poll a at 0    reset from 1 to the end, log start 3    poll at 5    committed: 6    log start 5
    =>  3 and 4 are skipped; 1 and 2 were deleted before (analysis.measures: expired_unread)

**reprocessed**: members processed one record, value and offset, more than once.

    process a at 0    process a at 0                                        =>  a is reprocessed
    process a at 0    process a at 1                                        =>  a duplicate at most

`by_another` if two members did so, `by_the_same` if one did.

The committed offset is the last known one of a partition: an acknowledged commit, or the offset at
which the coordinator let the next member begin. Processing that began and never ended is in doubt:
such a record is not skipped, and its second processing does not prove a first. Failed processing,
such as that of an aborted transaction, does not count.

    process a -> fail    process a at 0                                     =>  nothing

Cannot see: records before the first that the group got, if it began at the log's end
(`auto.offset.reset=latest`) or is imported; records that are gone from the log (lost, vanished); an
unanswered commit that no later answer shows; a commit past the log's end, until records are there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import (
    AFTER_STRIKE,
    AFTER_TRUNCATION,
    BEGUN_UNKNOWN,
    INTERNAL,
    MEMBER_STOPPED,
    OFFSETS_GONE,
    PROCESSING_FAILED,
    READ_AS_ANOTHER,
    RESET_TO_LATEST,
    UNSETTLED,
)
from analysis.checks.anomaly import Anomaly
from analysis.checks.groups.given import is_begun, is_behind, with_handling, with_last_poll
from analysis.checks.promise import (
    AUTO_COMMIT,
    CRCS,
    EXACTLY_ONCE,
    FLIPPED,
    IN_TRANSACTIONS,
    OTHERWISE,
    SEMANTICS,
    SET_BACK,
    SHRINKS,
    TOOK,
    UNCLEAN,
    UNSTABLE,
    UNSTABLE_OFFSETS,
    Condition,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import offset_of, partition_of
from analysis.frames.signs import Sign
from harness.model.client_settings import LATEST


def skipped() -> Rule:
    """Values in the log that the group went past, one row per value."""
    given = F.col("polled_ns").isNotNull()
    return Rule(
        holds=_is_skipped(),
        place=F.col("first_place"),
        time_ns=F.coalesce("polled_ns", "committed_ns"),
        shown_ns=_skipped_ns(),
        outcome=F.when(~is_begun(), "before_first")
        .when(F.col("failed") > 0, "failed")
        .when(given, "polled")
        .otherwise("never_polled"),
    )


def _skipped_ns() -> Column:
    """When both were known: that the record was in the log, and that the group had gone past it.
    After a truncation a record may be written below an offset that was committed before."""
    acked = F.when(F.col("acked_place") == F.col("first_place"), F.col("acked_ns"))
    given = F.when(F.col("delivered_place") == F.col("first_place"), F.col("delivered_ns"))
    in_log_ns = F.least(acked, given)
    both = in_log_ns.isNotNull() & F.col("went_on_ns").isNotNull()
    return F.when(both, F.greatest(in_log_ns, F.col("went_on_ns")))


def reprocessed() -> Rule:
    """Values that were processed more than once at one place, one row per value."""
    return Rule(
        holds=F.col("processed") > 1,
        place=F.col("processed_place"),
        time_ns=F.col("processed_ns"),
        shown_ns=F.col("processed_ns"),
        outcome=F.when(F.col("members") > 1, "by_another").otherwise("by_the_same"),
    )


def _is_skipped() -> Column:
    untouched = (F.coalesce("processed", F.lit(0)) == 0) & (F.coalesce("begun", F.lit(0)) == 0)
    begun = is_begun() | F.coalesce("from_start", F.lit(False))
    return is_behind() & begun & untouched & ~F.col("superseded")


def _by_handled_value(tables: Tables) -> DataFrame | None:
    history = tables.history
    return with_handling(history.operations, tables.values()) if history.groups else None


def _by_skipped_value(tables: Tables) -> DataFrame | None:
    history = tables.history
    if not history.groups:
        return None
    runs = F.broadcast(history.runs.select("run_id", "from_start", "passed_over"))
    there = F.coalesce("first_place", F.when(_was_there(), F.col("acked_place")))
    values = tables.values().join(runs, on="run_id", how="inner").withColumn("first_place", there)
    handled = with_handling(history.operations, values)
    skipped = handled.withColumn("started", F.least("started", _was_at())).where(_is_skipped())
    return with_last_poll(skipped, history.operations)


def _was_at() -> Column:
    """Where the group was before a reset put it to the end of the partition; null: by none."""
    here = F.filter("passed_over", lambda row: row["partition"] == F.col("partition"))
    return F.array_min(F.transform(here, lambda row: row["from_offset"]))


def _was_there() -> Column:
    """Whether a reset passed over a record while it was in the log."""
    partition, offset = partition_of(F.col("acked_place")), offset_of(F.col("acked_place"))
    deleted = F.col("complete") & (offset < F.col("log_start"))

    def within(row: Column) -> Column:
        begun = (row["partition"] == partition) & (offset >= row["from_offset"])
        return begun & (offset < row["to_offset"])

    return deleted & F.exists("passed_over", within)


OFFSETS_ALONE = permitted(
    IN_TRANSACTIONS,
    "Where what the coordinator knew of a transaction is set back before its markers are written, "
    "its offsets may be committed without the rest.",
    "KIP-98; KIP-966",
    by=UNSETTLED,
)
_WITH_A_GROUP = when(
    "where the workload has a consumer group", lambda facts: facts.commit is not None
)

SKIPPED = Anomaly(
    name="skipped",
    rules={_by_skipped_value: skipped},
    signs=(Sign.PASSED,),
    outcomes=("polled", "never_polled", "failed", "before_first"),
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
            "A group whose committed offset is gone goes on where auto.offset.reset says.",
            "KIP-966",
            by=OFFSETS_GONE,
        ),
        permitted(
            when("auto.offset.reset=latest", lambda facts: facts.resets == LATEST),
            "A member whose position is no longer in the log, since records were deleted, goes on "
            "at the log's end; what is still there before that is not given to it.",
            "Kafka documentation, Consumer Configs: auto.offset.reset",
            by=RESET_TO_LATEST,
        ),
        OFFSETS_ALONE,
        permitted(
            Condition(words="a group of which it is not known where it began"),
            "A new group begins at the log's start where auto.offset.reset=earliest, and a client "
            "that commits by itself may have stored more than the worker wrote down.",
            AUTO_COMMIT,
            by=BEGUN_UNKNOWN,
        ),
        permitted(
            FLIPPED,
            "A batch whose CRC is wrong is passed over, or one of its records read as another one, "
            "and so never given to the group.",
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
