"""The rows of two tables as operations of a history: each text becomes a number, exactly.

    producer "a" sends "x" at 1, "y" at 2    =>  values 0 << 40 and (0 << 40) + 1: its first two
    "z" is read and was never sent           =>  3999 << 40: the first unsent value
    "x" at 3 is an earlier run's             =>  (3999 << 40) + (1 << 39): the first such record

The order of numbers is deterministic, by begin and then by text, so Spark may lose a kept frame and
compute it again. No text is hashed: texts are joined as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames import schema
from analysis.frames.operations import NO_ACK
from analysis.tables.earlier_runs import PLACE, Earlier, Keep
from analysis.tables.validation import FINAL, Tables
from harness.history.record_format import SEQUENCE_BITS
from harness.model.runs.imported_history import FIRST_STRANGER, UNSENT

_NUMBERS: Final = "array<struct<process:string,number:bigint,sent:bigint>>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """Two tables as a history."""

    operations: DataFrame  # schema.OPERATIONS without run_id, each process in order of its ids
    values: DataFrame  # value, text


def numbered(
    tables: Tables, earlier: Earlier, *, unplaced: int, without_acks: bool = False, keep: Keep
) -> Numbered:
    """Both tables with numbers for texts. `earlier`: what is none of their history; `unplaced`: the
    partition of sends that tell none and were not read; `without_acks`: the producers have acks=0,
    so an `ok` is no ack. `keep` persists a frame that is used twice."""
    reads = _marked(tables, earlier)
    own = reads.where(F.col("stranger").isNull())
    sends = keep(_sends(tables, own, unplaced=unplaced, without_acks=without_acks))
    unsent = keep(_unsent(own, sends))
    texts = sends.select("value", "text").unionByName(unsent)
    values = texts
    if earlier.records is not None:
        strangers = earlier.records.select(_stranger().alias("value"), F.col("value").alias("text"))
        values = texts.unionByName(strangers)
    operations = _operation(sends, sends=True).unionByName(
        _operation(_reads(tables, reads, texts), sends=False)
    )
    return Numbered(operations=operations, values=values)


def _marked(tables: Tables, earlier: Earlier) -> DataFrame:
    """The reads with `stranger`: null for a record of the history."""
    if earlier.records is None:
        return tables.reads.withColumn("stranger", F.lit(None).cast("bigint"))
    return tables.reads.join(earlier.records, on=[*PLACE], how="left")


def _stranger() -> Column:
    """The value of a record that is none of the history."""
    return F.lit((UNSENT << SEQUENCE_BITS) + FIRST_STRANGER) + F.col("stranger")


def _sends(tables: Tables, own: DataFrame, *, unplaced: int, without_acks: bool) -> DataFrame:
    rows = tables.sends.withColumn("start_ns", _begin(tables)).withColumnRenamed("value", "text")
    if tables.without_partition:  # the partition where it was read is the one it was sent to
        seen = own.groupBy("value").agg(F.min("partition").alias("seen"))
        seen = seen.withColumnRenamed("value", "text")
        rows = rows.join(seen, on="text", how="left").withColumn(
            "partition", F.coalesce("partition", "seen", F.lit(unplaced))
        )
    rows = _with_numbers(rows, _numbers(tables))
    in_order = Window.partitionBy("process").orderBy("start_ns", "text")
    unacked = F.lit(without_acks) & (F.col("type") == "ok")
    return (
        rows.withColumn("id", F.row_number().over(in_order).cast("bigint") - 1)
        .withColumn("value", F.shiftleft("number", SEQUENCE_BITS) + F.col("id"))
        .withColumn("end_ns", _end(tables))
        .withColumn("error", F.when(unacked, F.lit(NO_ACK)))
        .withColumn("offset", F.when(~unacked, F.col("offset")))
        .withColumn("type", F.when(unacked, F.lit("info")).otherwise(F.col("type")))
        .withColumn("f", F.lit("send"))
    )


def _begin(tables: Tables) -> Column:
    """When a send began; no rule looks at it unless all begins are known."""
    if tables.has_begins:
        return F.greatest("start_ns", F.lit(1))
    return F.lit(tables.start_ns).cast("bigint")


def _end(tables: Tables) -> Column:
    """When a send ended: one with an answer and without a time at the end of both tables."""
    end_ns = F.coalesce("end_ns", F.when(F.col("type") != "info", F.lit(tables.end_ns)))
    return F.greatest(end_ns, F.when(end_ns.isNotNull(), F.col("start_ns")))


def _unsent(own: DataFrame, sends: DataFrame) -> DataFrame:
    """The texts that were read and never sent, with numbers of their own."""
    read = own.where(F.col("value").isNotNull())
    texts = read.select(F.col("value").alias("text")).distinct()
    in_order = Window.orderBy("text")
    first = F.lit(UNSENT << SEQUENCE_BITS)
    return texts.join(sends.select("text"), on="text", how="left_anti").select(
        (first + F.row_number().over(in_order) - 1).alias("value"), "text"
    )


def _reads(tables: Tables, reads: DataFrame, texts: DataFrame) -> DataFrame:
    rows = reads.withColumnRenamed("value", "text").join(texts, on="text", how="left")
    rows = rows.withColumn("value", F.coalesce(_stranger(), "value"))
    rows = _with_numbers(rows, _numbers(tables))
    # After the load if it is not known, so that it counts as no lag.
    time_ns = F.greatest(F.coalesce("end_ns", F.lit(tables.end_ns + 1)), F.lit(1))
    in_order = Window.partitionBy("process").orderBy("end_ns", "partition", "offset", "value", "f")
    return (
        rows.withColumn("end_ns", time_ns)
        .withColumn("start_ns", time_ns)
        .withColumn("f", F.when(F.col("final"), FINAL).otherwise("read"))
        .withColumn("type", F.lit("ok"))
        .withColumn("id", F.row_number().over(in_order).cast("bigint") - 1 + F.col("sent"))
    )


def _operation(rows: DataFrame, *, sends: bool) -> DataFrame:
    known = {
        "intended_ns": F.col("start_ns"),
        "instance": F.lit(0),
        **({} if sends else {"error": F.lit(None)}),
    }
    existing = {*rows.columns, *known}
    return rows.select(
        *(
            (known.get(field.name, F.col(field.name)) if field.name in existing else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in schema.OPERATIONS.fields
            if field.name != "run_id"
        )
    )


def _numbers(tables: Tables) -> Mapping[str, tuple[int, int]]:
    """By process: its number as a producer, and how many values it sent."""
    names = [*tables.producers, *(name for name in tables.readers if name not in tables.producers)]
    return {name: (number, tables.producers.get(name, 0)) for number, name in enumerate(names)}


def _with_numbers(rows: DataFrame, numbers: Mapping[str, tuple[int, int]]) -> DataFrame:
    text = json.dumps(
        [
            {"process": name, "number": number, "sent": sent}
            for name, (number, sent) in numbers.items()
        ]
    )
    parsed = F.from_json(F.lit(text), _NUMBERS)
    numbered_processes = rows.sparkSession.range(1).select(F.inline(parsed))
    return rows.join(F.broadcast(numbered_processes), on="process", how="inner")
