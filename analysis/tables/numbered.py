"""The rows of two tables as operations of a history: each text becomes a number, exactly.

    producer "a" sends "x" at 1, "y" at 2    =>  values 0 << 40 and (0 << 40) + 1: its first two
    "z" is read and was never sent           =>  3999 << 40: the first unsent value

The order of numbers is deterministic, by begin and then by text, so Spark may lose a kept frame and
compute it again. No text is hashed: texts are joined as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames import schema
from analysis.frames.operations import NO_ACK
from analysis.tables.validation import FINAL, Tables
from harness.history.record_format import SEQUENCE_BITS
from harness.model.runs.imported_history import UNSENT

Keep = Callable[[DataFrame], DataFrame]
_NUMBERS: Final = "array<struct<process:string,number:bigint,sent:bigint>>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """Two tables as a history."""

    operations: DataFrame  # schema.OPERATIONS without run_id, each process in order of its ids
    values: DataFrame  # value, text


def numbered(tables: Tables, *, without_acks: bool = False, keep: Keep) -> Numbered:
    """Both tables with numbers for texts. `without_acks`: the producers have acks=0, so an `ok` is
    no ack. `keep` persists a frame that is used twice."""
    sends = keep(_sends(tables, without_acks=without_acks))
    unsent = keep(_unsent(tables, sends))
    values = sends.select("value", "text").unionByName(unsent)
    operations = _operation(sends, sends=True).unionByName(
        _operation(_reads(tables, values), sends=False)
    )
    return Numbered(operations=operations, values=values)


def _sends(tables: Tables, *, without_acks: bool) -> DataFrame:
    rows = tables.sends.withColumn("start_ns", _begin(tables)).withColumnRenamed("value", "text")
    if tables.without_partition:  # the partition where it was read is the one it was sent to
        seen = tables.reads.groupBy("value").agg(F.min("partition").alias("seen"))
        seen = seen.withColumnRenamed("value", "text")
        rows = rows.join(seen, on="text", how="left").withColumn(
            "partition", F.coalesce("partition", "seen", F.lit(0))
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


def _unsent(tables: Tables, sends: DataFrame) -> DataFrame:
    """The texts that were read and never sent, with numbers of their own."""
    read = tables.reads.where(F.col("value").isNotNull())
    texts = read.select(F.col("value").alias("text")).distinct()
    in_order = Window.orderBy("text")
    first = F.lit(UNSENT << SEQUENCE_BITS)
    return texts.join(sends.select("text"), on="text", how="left_anti").select(
        (first + F.row_number().over(in_order) - 1).alias("value"), "text"
    )


def _reads(tables: Tables, values: DataFrame) -> DataFrame:
    rows = tables.reads.withColumnRenamed("value", "text").join(values, on="text", how="left")
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
