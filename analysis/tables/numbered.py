"""The rows of two tables as operations of a history: each text becomes a number, exactly.

    producer "a" sends "x" at 1, "y" at 2    =>  values 0 << 40 and (0 << 40) + 1: its first two
    "z" is read, and nobody sent it          =>  3999 << 40: nobody's first

Numbers are given in an order that is the same however often it is made: by begin, then by text. So
Spark may lose what it keeps and make it again. No text is hashed; a text is found by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames import schema
from analysis.tables.told import FINAL, MOST_PROCESSES, Tables
from harness.history.record_format import SEQUENCE_BITS

NOBODY: Final = MOST_PROCESSES  # the producer of what nobody sent
Keep = Callable[[DataFrame], DataFrame]
_NUMBERS: Final = "array<struct<process:string,number:bigint,sent:bigint>>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """Two tables as a history has them."""

    operations: DataFrame  # schema.OPERATIONS without run_id, of each process in order of its ids
    values: DataFrame  # value, text


def numbered(found: Tables, *, asks_none: bool = False, keep: Keep) -> Numbered:
    """Both tables with numbers for texts. `asks_none`: producers ask for no acks, so `ok` says
    nothing. `keep`: of a frame that is looked at again the one to look at."""
    sends = keep(_sends(found, asks_none=asks_none))
    unsent = keep(_unsent(found, sends))
    values = sends.select("value", "text").unionByName(unsent)
    operations = _operation(sends, sends=True).unionByName(
        _operation(_reads(found, values), sends=False)
    )
    return Numbered(operations=operations, values=values)


def _sends(found: Tables, *, asks_none: bool) -> DataFrame:
    rows = found.sends.withColumn("start_ns", _begin(found)).withColumnRenamed("value", "text")
    if found.homeless:  # where it was read tells where it was sent to
        seen = found.reads.groupBy("value").agg(F.min("partition").alias("seen"))
        seen = seen.withColumnRenamed("value", "text")
        rows = rows.join(seen, on="text", how="left").withColumn(
            "partition", F.coalesce("partition", "seen", F.lit(0))
        )
    rows = _with_numbers(rows, _numbers(found))
    in_order = Window.partitionBy("process").orderBy("start_ns", "text")
    unasked = F.lit(asks_none) & (F.col("type") == "ok")
    return (
        rows.withColumn("id", F.row_number().over(in_order).cast("bigint") - 1)
        .withColumn("value", F.shiftleft("number", SEQUENCE_BITS) + F.col("id"))
        .withColumn("end_ns", _end(found))
        .withColumn("error", F.when(unasked, F.lit("_NO_ACK")))
        .withColumn("offset", F.when(~unasked, F.col("offset")))
        .withColumn("type", F.when(unasked, F.lit("info")).otherwise(F.col("type")))
        .withColumn("f", F.lit("send"))
    )


def _begin(found: Tables) -> Column:
    """When a send began: where that is not told of all, it is not looked at."""
    if found.begins_told:
        return F.greatest("start_ns", F.lit(1))
    return F.lit(found.start_ns).cast("bigint")


def _end(found: Tables) -> Column:
    """What has an answer ended; one whose end nobody tells did so last, for all that is known."""
    told = F.coalesce("end_ns", F.when(F.col("type") != "info", F.lit(found.end_ns)))
    return F.greatest(told, F.when(told.isNotNull(), F.col("start_ns")))


def _unsent(found: Tables, sends: DataFrame) -> DataFrame:
    """What was read and not sent, as nobody's values."""
    read = found.reads.where(F.col("value").isNotNull())
    texts = read.select(F.col("value").alias("text")).distinct()
    in_order = Window.orderBy("text")
    nobodys = F.lit(NOBODY << SEQUENCE_BITS)
    return texts.join(sends.select("text"), on="text", how="left_anti").select(
        (nobodys + F.row_number().over(in_order) - 1).alias("value"), "text"
    )


def _reads(found: Tables, values: DataFrame) -> DataFrame:
    rows = found.reads.withColumnRenamed("value", "text").join(values, on="text", how="left")
    rows = _with_numbers(rows, _numbers(found))
    # After the load where it is not told: so it is no lag of a reader.
    time_ns = F.greatest(F.coalesce("end_ns", F.lit(found.end_ns + 1)), F.lit(1))
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
    there = {*rows.columns, *known}
    return rows.select(
        *(
            (known.get(field.name, F.col(field.name)) if field.name in there else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in schema.OPERATIONS.fields
            if field.name != "run_id"
        )
    )


def _numbers(found: Tables) -> Mapping[str, tuple[int, int]]:
    """Of each process its number as a producer, and how many it sent."""
    names = [*found.producers, *(name for name in found.readers if name not in found.producers)]
    return {name: (number, found.producers.get(name, 0)) for number, name in enumerate(names)}


def _with_numbers(rows: DataFrame, numbers: Mapping[str, tuple[int, int]]) -> DataFrame:
    told = json.dumps(
        [
            {"process": name, "number": number, "sent": sent}
            for name, (number, sent) in numbers.items()
        ]
    )
    parsed = F.from_json(F.lit(told), _NUMBERS)
    few = rows.sparkSession.range(1).select(F.inline(parsed))
    return rows.join(F.broadcast(few), on="process", how="inner")
