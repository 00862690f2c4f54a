"""Which records of two tables are none of their history (harness.model.runs.earlier_runs).

    sends   a ok at 13, b ok at 14
    reads   a@11 a@13 b@14           =>  a@11 is taken out: an earlier run's, or in doubt

Spark does the work; the driver holds one row per partition. Where nothing lies below the first
acknowledged offset of its partition, one aggregate over both tables is all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.operations import place_of
from analysis.tables.validation import Tables
from harness.model.runs.earlier_runs import Parted, Records

Keep = Callable[[DataFrame], DataFrame]  # persists a frame that is used twice
PLACE: Final = ("value", "partition", "offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What was taken out of two tables."""

    parted: Parted = Parted()  # noqa: RUF009  frozen
    # One row per value (a text), partition and offset, with `stranger`: its number among all,
    # from 0. None: nothing was.
    records: DataFrame | None = None


def earlier(tables: Tables, *, new_topic: bool, once: bool, keep: Keep) -> Earlier:
    """The records that are none of the history. `new_topic`: it was empty; `once`: a send leaves
    one record at most."""
    bounds = {} if new_topic else _bounds(tables)
    first = [_of(bounds, number, "first") for number in range(tables.partitions)]
    lowest = [_of(bounds, number, "lowest") for number in range(tables.partitions)]
    pairs = zip(first, lowest, strict=True)
    if not any(low is not None and (ack is None or low < ack) for ack, low in pairs):
        return Earlier()
    judged = keep(_judged(tables, first, once=once))
    counted = judged.groupBy("partition").agg(
        F.count_if("out").alias("out"),
        F.count_if("sure").alias("sure"),
        F.count_if("landed").alias("landed"),
    )
    counts = {row["partition"]: row for row in counted.collect()}
    out, sure, landed = (
        [_of(counts, number, name) or 0 for number in range(tables.partitions)]
        for name in ("out", "sure", "landed")
    )
    parted = Parted(others=sum(sure), doubtful=sum(out) - sum(sure), landed=sum(landed))
    in_order = Window.partitionBy("partition").orderBy("offset", "value")
    begin = _by_partition([0, *accumulate(out)][:-1])
    stranger = begin + F.row_number().over(in_order) - 1
    records = judged.where("out").select(*PLACE, stranger.alias("stranger"))
    return Earlier(parted=parted, records=records if sum(out) else None)


def _of(rows: Mapping[int, Row], partition: int, name: str) -> int | None:
    return rows[partition][name] if partition in rows else None


def _by_partition(numbers: list[int] | list[int | None]) -> Column:
    """The number of a row's partition."""
    listed = F.from_json(F.lit(json.dumps(numbers)), "array<bigint>")
    return F.get(listed, F.col("partition").cast("int"))


def _bounds(tables: Tables) -> dict[int, Row]:
    """By partition: the first acknowledged offset, and the lowest that has a value."""
    offset = F.col("offset")
    acks = tables.sends.select("partition", offset.alias("first"), F.lit(None).alias("lowest"))
    read = tables.reads.where(F.col("value").isNotNull())
    reads = read.select("partition", F.lit(None).alias("first"), offset.alias("lowest"))
    found = (
        acks.unionByName(reads)
        .groupBy("partition")
        .agg(F.min("first").alias("first"), F.min("lowest").alias("lowest"))
    )
    return {row["partition"]: row for row in found.collect()}


def _judged(tables: Tables, first: list[int | None], *, once: bool) -> DataFrame:
    """Each place below, once, and whether it is `out`, `sure` and `landed`."""
    of_text = Window.partitionBy("value")
    sends = tables.sends.select("value", "type", F.col("offset").isNotNull().alias("named"))
    read = tables.reads.where(F.col("value").isNotNull()).select(*PLACE)
    rows = (
        read.repartition("value")  # the one shuffle: all that follows is within it
        .distinct()
        .join(sends, on="value", how="left")
        .withColumn("first", _by_partition(first))
        .withColumn("below", F.coalesce(F.col("offset") < F.col("first"), F.lit(True)))
        .withColumn("place", place_of(F.col("partition"), F.col("offset")))
        .withColumn("elsewhere", F.max(~F.col("below")).over(of_text))
        .withColumn("several", F.count("*").over(of_text) > 1)
    )
    records = Records(
        below=F.col("below"),
        has_first=F.col("first").isNotNull(),
        unwritten=F.coalesce(F.col("type") == "fail", F.lit(True)),
        in_doubt=F.coalesce(F.col("type") == "info", F.lit(False)),
        named=F.coalesce("named", F.lit(False)),
        once=F.lit(once),
        elsewhere=F.col("elsewhere"),
        several=F.col("several"),
    )
    last = F.max(F.when(records.may_stay, F.col("place"))).over(of_text)
    is_last = F.coalesce(F.col("place") == last, F.lit(False))
    return (
        rows.withColumn("is_last", is_last)
        .where("below")
        .select(
            *PLACE,
            records.taken_out(F.col("is_last")).alias("out"),
            records.sure(F.col("is_last")).alias("sure"),
            records.landed(F.col("is_last")).alias("landed"),
        )
    )
