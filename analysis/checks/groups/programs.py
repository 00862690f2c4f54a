"""Outputs of the user's programs: inputs without one, with too many, and outputs of nothing.

An input is what a producer sent; an output is a record of the outputs' topic, or a line of the
outputs' command, that has an input's value as its id. `each` says how many an input has; here one.

**no-output**: an acknowledged input is in the final read, the programs' group has passed it, and
the complete read of all outputs has none of it.

    a acked at 0, final read: a; passed 1; outputs: none          =>  no output
    the same, but passed 0                                        =>  not passed
    the same, but a reader had an output of a during the load     =>  vanished: Kafka was to keep it
    the same, but the final read lacks a                          =>  a is lost, and nothing else

**two-outputs**: there are more outputs than the copies of the input call for. A record that Kafka
has twice is rightly answered twice.

    final read: a       outputs: a, a     =>  two outputs
    final read: a, a    outputs: a, a     =>  a duplicate

**strange-output**: an output without an id, or of a value that nobody sent (no send has it, or one
that failed) and that no reader had: what was in the log was rightly answered, and is a phantom. One
in doubt may have been there.

**not-passed**: no output, and at the end of the drain the group had not passed the input, or there
is no group: the programs may have been on their way. Demands on no-output are unknown then.

**vanished** has a rule here: an output that was read during the load and is in none of the
partitions at the end.

Cannot see: whether an output is right; a second output of an input whose second copy was deleted
before anybody read it; what a program does after the drain, and outputs that are no records.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checks.anomaly import Anomaly
from analysis.checks.promise import ALWAYS, permitted, when
from analysis.frames.evidence import Rule, Tables
from analysis.frames.operations import ACKED, FAILED, offset_of, partition_of, place_of
from analysis.frames.signs import Sign

_KNOWN = (
    *("sent", "home", "sent_ns", "acked_ns", "delivered_ns", "acked_place", "first_place"),
    *("copies", "lowest_place", "highest_place", "complete"),
)


def by_output(tables: Tables) -> DataFrame | None:
    """A row for each value that was sent or has an output, of runs with outputs; one for each
    output without a value.

    The columns of fates; outputs (how many there are at the end), output_place (the last of them),
    answered_ns (when one was first read during the load); asked (schema.OUTPUTS); reader (the
    processes of programs that lived when the input came).
    """
    history = tables.history
    if not history.outputs:
        return None
    final = F.col("f") == "final-output"
    here = F.coalesce(place_of(F.col("partition"), F.col("offset")), -1 - F.col("id"))
    outputs = (
        history.operations.where(final | (F.col("f") == "output"))
        .withColumn("here", here)
        .groupBy("run_id", "value", F.when(F.col("value").isNull(), here).alias("nameless"))
        .agg(
            F.size(F.collect_set(F.when(final, F.col("here")))).alias("outputs"),
            F.max(F.when(final, F.col("here"))).alias("output_place"),
            F.min(F.when(~final, F.col("end_ns"))).alias("answered_ns"),
        )
    )
    asked = history.runs.where(F.col("outputs").isNotNull())
    return (
        tables.values()
        .select("run_id", "value", *_KNOWN)
        .join(outputs, on=["run_id", "value"], how="full_outer")
        .withColumn("outputs", F.coalesce("outputs", F.lit(0)))
        .join(
            F.broadcast(asked.select("run_id", F.col("outputs").alias("asked"))),
            on="run_id",
            how="inner",
        )
        .withColumn("reader", F.array_join(F.transform(_living(), lambda each: each.process), ", "))
    )


def _living() -> Column:
    """The processes that lived when an input came."""
    came_ns = F.coalesce("acked_ns", "sent_ns")
    return F.filter(
        "asked.lives",
        lambda each: (each.from_ns <= came_ns) & (each.to_ns.isNull() | (each.to_ns >= came_ns)),
    )


def no_output() -> Rule:
    """Inputs that the group passed, with fewer outputs than they should have."""
    return _of_silent(_is_passed())


def not_passed() -> Rule:
    """Inputs with fewer outputs than they should have that the group has not passed."""
    return _of_silent(~_is_passed())


def two_outputs() -> Rule:
    """Inputs with more outputs than their copies call for."""
    places = 1 + F.coalesce(F.col("lowest_place") != F.col("highest_place"), F.lit(False)).cast(
        "int"
    )
    most = F.col("asked.most") * F.greatest(F.coalesce("copies", F.lit(0)), places)
    return Rule(
        holds=F.col("sent").isNotNull() & F.col("complete") & (F.col("outputs") > most),
        place=F.col("first_place"),
        time_ns=F.coalesce("answered_ns", "acked_ns", "sent_ns"),
        other_place=F.col("output_place"),
    )


def strange_output() -> Rule:
    """Outputs of no input."""
    unheard = F.col("first_place").isNull() & F.col("delivered_ns").isNull()
    nobody = (F.col("sent").isNull() | (F.col("sent") == FAILED)) & unheard
    return Rule(
        holds=(F.col("outputs") > 0) & nobody,
        place=F.lit(None).cast("bigint"),
        time_ns=F.col("answered_ns"),
        other_place=F.col("output_place"),
    )


def vanished_output() -> Rule:
    """Outputs that were read during the load, and are gone."""
    return Rule(
        holds=F.col("answered_ns").isNotNull() & (F.col("outputs") == 0) & F.col("asked.complete"),
        place=F.lit(None).cast("bigint"),
        time_ns=F.col("answered_ns"),
        known_ns=F.col("answered_ns"),
    )


def _of_silent(which: Column) -> Rule:
    """Inputs that should have an output and have none, or too few."""
    there = (F.col("sent") == ACKED) & F.col("first_place").isNotNull()
    unanswered = F.col("answered_ns").isNull() | (F.col("outputs") > 0)
    few = F.col("outputs") < F.col("asked.least")
    return Rule(
        holds=there & F.col("asked.complete") & few & unanswered & which,
        place=F.col("first_place"),
        time_ns=F.col("acked_ns"),
    )


def _is_passed() -> Column:
    place = F.col("first_place")
    return F.coalesce(F.get("asked.passed", partition_of(place)) > offset_of(place), F.lit(False))


WITH_OUTPUTS = when("where programs have [outputs]", lambda facts: facts.outputs)
_ITS_OWN = (
    "How the application reads and sends is its own: what it owes is what the scenario demands.",
    "kafka-harness, docs/applications.md",
)
OF_THE_APPLICATION = permitted(WITH_OUTPUTS, *_ITS_OWN)
STRANGE_OUTPUT = Anomaly(
    name="strange-output",
    rules={by_output: strange_output},
    signs=(Sign.OUTPUTS,),
    meaning="outputs without an id, or of what nobody sent",
    noun="strange output",
    of="output",
    headline="{n} {is} of no input",
    judged=WITH_OUTPUTS,
    promises=(permitted(ALWAYS, *_ITS_OWN),),
)
NOT_PASSED = Anomaly(
    name="not-passed",
    rules={by_output: not_passed},
    signs=(Sign.OUTPUTS,),
    meaning="inputs without an output that the programs had not passed when the drain ended",
    noun="input that was not passed",
    of="input",
    headline="{n} {was} not passed by the programs when the drain ended, and {is} without output",
    judged=WITH_OUTPUTS,
    promises=(permitted(ALWAYS, *_ITS_OWN),),
)
