"""Outputs of transformers: inputs without an output, or with more than one. Those of the user's
programs are judged by analysis.checks.groups.programs, under the same names.

A transformer is a member of the group that sends an *output* for each *input*, a record that a
producer sent. An output belongs to the input whose processing began, in the same worker, at the
moment at which the output was due. An input is a value at a place: one that is twice in the log
rightly has two outputs.

**two-outputs**: the final read, complete or not, has two outputs of one input; one row per input.

    process a at 0: send x    process a at 0: send y    final read: a; x, y       =>  two outputs
    the same, but y -> fail, or the final read lacks y                            =>  nothing
    process a at 0: send x    final read: a; x, x                                 =>  a duplicate
    process a at 0: send x    process a at 1: send y    final read: a, a; x, y    =>  nothing: two

`by_another` if two workers sent them, `by_the_same` if one did. Processing that never ended has no
known offset: it counts if the value was seen at one place only.

**no-output**: the group has committed past an input that is in the log, and it has no output: none
was acknowledged, and none is in the final read, which is complete for every partition.

    final read: a at 0    committed: 1    process a at 0, nothing sent            =>  no output
    the same, and its output x -> info                                            =>  no output
    the same, but the final read has x                                            =>  nothing
    the same, but x was acknowledged, and is gone                                 =>  x is lost
    the same, but a is an output itself, or committed: 0                          =>  nothing

`never_sent` if no output was begun, `failed` if each certainly was not written, else `in_doubt`. A
skipped record has no output either: *skipped* is about its processing, this about its result. If an
output was acknowledged the group did its part: only *lost* reports it.

No two processings of a worker begin at one moment. If a history has two, an output of that moment
may be of either: *two-outputs* counts it for none, *no-output* for both.

A failed send is no output: in the log it is a phantom or, if readers ask for uncommitted records,
an aborted one. Nothing is concluded from a send in doubt there.

Cannot see: second outputs of an input that is at several places, if processing never ended; an
output in doubt in a partition whose log does not start at 0, which may have been deleted; records
before the first that the group was given.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.causes.kinds import ANY_LOG, FLIPPED_BIT, INTERNAL, OFFSETS_GONE
from analysis.checks.anomaly import Anomaly
from analysis.checks.groups import programs
from analysis.checks.groups.given import is_passed, passed_by, with_handling
from analysis.checks.groups.handling import OFFSETS_ALONE
from analysis.checks.promise import (
    AUTO_COMMIT,
    CRCS,
    EXACTLY_ONCE,
    FLIPPED,
    FLUSH,
    IN_TRANSACTIONS,
    OTHERWISE,
    SEMANTICS,
    SET_BACK,
    UNCLEAN,
    UNSTABLE,
    UNSTABLE_OFFSETS,
    Condition,
    forbidden,
    permitted,
    when,
)
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import ACKED, FAILED, UNASKED, UNKNOWN, is_send, place_of
from analysis.frames.signs import Sign
from harness.model.worker_kinds import KINDS

_TRANSFORMERS = "|".join(kind.name for kind in KINDS.values() if kind.transforms)


def outputs(operations: DataFrame, values: DataFrame, runs: DataFrame) -> DataFrame:
    """One row for each output and processing of its input.

    run_id, value and place (of the input; null: its processing never ended), output, worker,
    begun_ns (of its send), sent, stands (whether it is certainly an output of this input and in the
    final read), output_place (there), open (whether it may be in the log).
    """
    link = ["run_id", "worker", "due_ns"]
    ours = operations.where(_by_transformer() & F.col("value").isNotNull())
    place = place_of(F.col("partition"), F.col("offset"))
    sends = ours.where(is_send()).select(
        "run_id",
        F.col("process").alias("worker"),
        F.col("intended_ns").alias("due_ns"),
        F.col("value").alias("output"),
    )
    inputs = ours.where(F.col("f") == "process").select(
        "run_id",
        F.col("process").alias("worker"),
        F.col("start_ns").alias("due_ns"),
        "value",
        place.alias("place"),
        F.count("*").over(Window.partitionBy("run_id", "process", "start_ns")).alias("begun_then"),
    )
    fates = values.select(
        "run_id",
        F.col("value").alias("output"),
        F.col("sent_ns").alias("begun_ns"),
        "sent",
        F.col("first_place").alias("output_place"),
        "log_start",
    )
    return (
        sends.join(inputs, on=link, how="inner")
        .join(fates, on=["run_id", "output"], how="inner")
        .join(F.broadcast(runs.select("run_id", "dirty")), on="run_id", how="inner")
        .withColumn("dirty", F.coalesce("dirty", F.lit(False)))
        .withColumns({"stands": _stands(), "open": _may_be_there()})
        .drop("due_ns", "begun_then", "log_start", "dirty")
    )


def by_input(made: DataFrame, values: DataFrame) -> DataFrame:
    """A row for each input at a place that has an output which stands.

    The columns of `values`; place; least and last (of its outputs that stand: output, begun_ns,
    place); one and other (equal: one worker sent them all).
    """
    known = values.select(
        "run_id",
        "value",
        "home",
        "sent",
        "sent_ns",
        "acked_ns",
        "delivered_ns",
        "copies",
        F.when(F.col("lowest_place") == F.col("highest_place"), F.col("lowest_place")).alias(
            "only"
        ),
    )
    output = F.struct("output", "begun_ns", F.col("output_place").alias("place"))
    return (
        made.where("stands")
        .drop("sent")
        .join(known, on=["run_id", "value"], how="inner")
        .withColumn("place", F.coalesce("place", "only"))
        .where(F.col("place").isNotNull())
        .groupBy(*[name for name in known.columns if name != "only"], "place")
        .agg(
            F.min(output).alias("least"),
            F.max(output).alias("last"),
            # Hashes: the least and the greatest of texts would need a sort.
            F.min(F.xxhash64("worker")).alias("one"),
            F.max(F.xxhash64("worker")).alias("other"),
        )
    )


def without_output(given: DataFrame, made: DataFrame, operations: DataFrame) -> DataFrame:
    """Rows of `with_handling` of inputs without output that the group went past.

    With tried (the best end of its outputs' sends; null: none was sent), last_output (the highest
    of them), and the columns of `passed_by`.
    """
    of_input = made.select("run_id", "value", "output", "sent", "open", F.lit(False).alias("own"))
    own = operations.where(is_send() & _by_transformer()).select("run_id", "value")
    nothing = {"output": "bigint", "sent": "int", "open": "boolean"}
    is_output = own.withColumns(
        {name: F.lit(None).cast(kind) for name, kind in nothing.items()}
    ).withColumn("own", F.lit(True))
    known = (
        of_input.unionByName(is_output)
        .groupBy("run_id", "value")
        .agg(
            F.max("sent").alias("tried"),
            F.max("output").alias("last_output"),
            F.max(F.coalesce("open", F.lit(False)) | F.col("own")).alias("barred"),
        )
    )
    silent = (
        given.where(is_passed() & F.col("sent").isNotNull())
        .join(known, on=["run_id", "value"], how="left")
        .where(~F.coalesce("barred", F.lit(False)))
    )
    return silent.drop("sender", "transaction").join(
        passed_by(silent, operations), on=["run_id", "value"], how="left"
    )


def two_outputs() -> Rule:
    """Inputs with two outputs in the log, one row per input and place."""
    return Rule(
        holds=F.col("least.output") != F.col("last.output"),
        place=F.col("place"),
        time_ns=F.col("last.begun_ns"),
        outcome=F.when(F.col("one") != F.col("other"), "by_another").otherwise("by_the_same"),
        other_place=F.col("last.place"),
        other_value=F.col("last.output"),
    )


def no_output() -> Rule:
    """Inputs without output that the group went past, one row per value."""
    return Rule(
        holds=F.col("first_place").isNotNull(),
        place=F.col("first_place"),
        time_ns=F.coalesce("polled_ns", "committed_ns"),
        outcome=F.when(F.col("tried").isNull(), "never_sent")
        .when(F.col("tried") == FAILED, "failed")
        .otherwise("in_doubt"),
        other_value=F.col("last_output"),
    )


def _by_transformer() -> Column:
    return F.col("process").rlike(rf"^({_TRANSFORMERS})(-\d+)+$")


def _stands() -> Column:
    """Whether it is in the final read, not aborted, and certainly this input's."""
    certain = F.col("sent").isin(ACKED, UNASKED) | ((F.col("sent") == UNKNOWN) & ~F.col("dirty"))
    return certain & F.col("output_place").isNotNull() & (F.col("begun_then") == 1)


def _may_be_there() -> Column:
    """Whether it is in the log, may be, or counts as lost."""
    in_log, aborted = F.col("output_place").isNotNull(), F.col("dirty") & (F.col("sent") == FAILED)
    deleted = (F.col("sent") == UNKNOWN) & (F.col("log_start") > 0)
    return F.col("sent").isin(ACKED, UNASKED) | (in_log & ~aborted) | deleted


def _by_input(tables: Tables) -> DataFrame | None:
    history = tables.history
    if not history.transforms:
        return None
    return by_input(outputs(history.operations, tables.values(), history.runs), tables.values())


def _by_passed_input(tables: Tables) -> DataFrame | None:
    history = tables.history
    if not history.transforms:
        return None
    is_readable = F.col("transforms") & F.forall("ends", lambda end: end["complete"])
    runs = history.runs.where(is_readable).select("run_id")
    values = tables.values().join(F.broadcast(runs), on="run_id", how="left_semi")
    made = outputs(history.operations, tables.values(), history.runs)
    return without_output(with_handling(history.operations, values), made, history.operations)


_TRANSFORMED = when(
    "where members of a consumer group send what they make of records, in histories of format 2",
    lambda facts: facts.transforms and facts.history_format >= 2,
)
_LOG_SET_BACK = Condition(words="a log of the topic that is set back")
_BY_THE_CLIENT = when(
    "offsets committed by enable.auto.commit", lambda facts: facts.commit == "auto"
)

_JUDGED = when(
    f"{_TRANSFORMED.words}; {programs.WITH_OUTPUTS.words}",
    lambda facts: _TRANSFORMED.holds(facts) or programs.WITH_OUTPUTS.holds(facts),
)

TWO_OUTPUTS = Anomaly(
    name="two-outputs",
    rules={_by_input: two_outputs, programs.by_output: programs.two_outputs},
    signs={_by_input: tuple(Sign), programs.by_output: (Sign.OUTPUTS,)},
    outcomes=("by_another", "by_the_same"),
    meaning="inputs of which the final read has two outputs",
    noun="twice-answered input",
    headline="{n} {is} in the log with two outputs",
    judged=_JUDGED,
    promises=(
        programs.OF_THE_APPLICATION,
        permitted(
            _LOG_SET_BACK,
            "A group whose committed offset is no longer in the log starts again where "
            "auto.offset.reset says, and an output whose abort was cut off is taken for committed.",
            f"{UNCLEAN}; KIP-101",
            by=ANY_LOG,
        ),
        permitted(
            SET_BACK,
            "The group's committed offsets, or what its coordinator knew of a transaction, may "
            "have been set back.",
            "KIP-966",
            by=INTERNAL,
        ),
        permitted(
            _BY_THE_CLIENT,
            "What was sent for records since the last commit is sent again by the member that "
            "takes over.",
            AUTO_COMMIT,
        ),
        permitted(
            when("offsets committed after the outputs", lambda facts: facts.commit == "after"),
            "At least once: an output whose input was not committed yet is sent again, by the "
            "member that takes over or where its acknowledgement did not come.",
            SEMANTICS,
        ),
        permitted(UNSTABLE, UNSTABLE_OFFSETS, EXACTLY_ONCE),
        forbidden(
            IN_TRANSACTIONS,
            "Exactly once: an output is committed with the offset of its input, or neither is.",
            EXACTLY_ONCE,
        ),
        forbidden(
            OTHERWISE,
            "At most once: an output is sent once its input was committed, and then never again.",
            SEMANTICS,
        ),
    ),
)
NO_OUTPUT = Anomaly(
    name="no-output",
    rules={_by_passed_input: no_output, programs.by_output: programs.no_output},
    signs={_by_passed_input: tuple(Sign), programs.by_output: (Sign.OUTPUTS,)},
    outcomes=("never_sent", "failed", "in_doubt"),
    meaning="inputs that the consumer group committed, and of which no output is there",
    noun="unanswered input",
    headline="{n} {was} committed by the consumer group and left no output",
    judged=_JUDGED,
    promises=(
        programs.OF_THE_APPLICATION,
        permitted(
            _LOG_SET_BACK,
            "A group continues at its committed offset, whatever a new leader put below it; and "
            "an output whose commit was not answered may have been cut off.",
            f"{UNCLEAN}; KIP-101; {FLUSH}",
            by=ANY_LOG,
        ),
        permitted(
            SET_BACK,
            "A group whose committed offset is gone goes on where auto.offset.reset says.",
            "KIP-966",
            by=OFFSETS_GONE,
        ),
        OFFSETS_ALONE,
        permitted(
            FLIPPED,
            "Of a record that is passed over, or read as another one, nothing is made.",
            CRCS,
            by=FLIPPED_BIT,
        ),
        permitted(
            _BY_THE_CLIENT,
            "The client commits the records that it has delivered, whatever became of the outputs.",
            AUTO_COMMIT,
        ),
        permitted(
            when("offsets committed before the outputs", lambda facts: facts.commit == "before"),
            "At most once: where an output fails, or the member stops before it is sent, its input "
            "is not taken again.",
            SEMANTICS,
        ),
        forbidden(
            IN_TRANSACTIONS,
            "Exactly once: an offset is committed with the outputs of all records before it.",
            EXACTLY_ONCE,
        ),
        forbidden(
            OTHERWISE,
            "At least once: an offset is committed once all outputs before it are acknowledged.",
            SEMANTICS,
        ),
    ),
)
