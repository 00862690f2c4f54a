"""How far the final read of two tables got, of each partition.

    every offset that was acked, or that another read has, is in it   =>  complete, from the first
    and, where times are told, it ended after the last ack                offset that it has
    an acked offset at or behind its first is not in it               =>  not complete: it stopped
                                                                          before, or passed over it
    an ack told no offset                                             =>  not complete: nobody knows
                                                                          how far it had to get
    the user says that it is complete                                 =>  complete, from offset 0
    some of its values are not told                                   =>  not complete

As harness.foreign.final_read has it of lines, in Spark: nothing is held but one row per partition.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from analysis.tables.opened import TableError
from analysis.tables.told import Tables


def ends(found: Tables, *, complete: bool = False) -> list[dict[str, Any]]:
    """One row per partition, with the fields of an event `ends`; none without a final read. `complete`:
    the user says that it is. Raises TableError where the tables say otherwise."""
    if not found.final:
        if complete:
            raise TableError(
                "--final-read-is-complete: no read is of the final read: its column f must be "
                "final-read (`kafka-harness docs tables`)"
            )
        return []
    acked, ended = found.last_ack_ns, found.last_final_ns
    late = acked is None or ended is None or ended >= acked
    if complete and not late:
        raise TableError(
            "--final-read-is-complete: the final read ended before the last ack, by the end_ns of "
            "both tables: leave one of the two out, or read again"
        )
    told, missed = _told(found), _missed(found)
    return [
        {"partition": partition, **_end(told.get(partition), missed.get(partition), late, complete)}
        for partition in range(found.partitions)
    ]


def _end(told: Row | None, missed: int | None, late: bool, complete: bool) -> dict[str, Any]:
    """How far it got in one partition. `missed`: the first offset that it does not have."""
    if told is not None and told["valueless"]:
        return {"complete": False}
    if complete:
        return _to(0, _after(told), complete=True)
    if told is None or told["first"] is None:  # it read nothing there
        return _to(0, 0, complete=False)
    whole = late and missed is None and not told["unplaced"]
    return _to(told["first"], told["last"] + 1 if missed is None else missed, complete=whole)


def _after(told: Row | None) -> int:
    """The offset behind the last that anybody tells of."""
    return 0 if told is None or told["highest"] is None else int(told["highest"]) + 1


def _to(start: int, end: int, *, complete: bool) -> dict[str, Any]:
    """An incomplete one tells where it was, and not where the log ends."""
    known = {"committed_end": end, "uncommitted_end": end} if complete else {}
    return {"log_start": start, "position": end, "complete": complete, **known}


def _told(found: Tables) -> dict[int, Row]:
    """Of each partition the first and last offset of the final read, of how many of its records no
    value is told, how many acks tell no offset, and the highest offset that anybody tells of."""
    final = F.col("final")
    rows = _places(found).groupBy("partition")
    told = rows.agg(
        F.min(F.when(final, F.col("offset"))).alias("first"),
        F.max(F.when(final, F.col("offset"))).alias("last"),
        F.count_if(final & F.col("value").isNull()).alias("valueless"),
        F.count_if(F.col("offset").isNull()).alias("unplaced"),
        F.max("offset").alias("highest"),
    )
    return {row["partition"]: row for row in told.collect()}


def _missed(found: Tables) -> dict[int, int]:
    """The first offset of each partition behind the final read's first that it does not have, and
    that was acked or read by another."""
    firsts = found.reads.where("final").groupBy("partition").agg(F.min("offset").alias("first"))
    told = (
        _places(found)
        .groupBy("partition", "offset")
        .agg(F.max("final").alias("final"))
        .where(~F.col("final"))
        .join(F.broadcast(firsts), on="partition", how="inner")
        .where(F.col("offset") >= F.col("first"))  # no ack without offset
        .groupBy("partition")
        .agg(F.min("offset").alias("offset"))
    )
    return {row["partition"]: row["offset"] for row in told.collect()}


def _places(found: Tables) -> DataFrame:
    """Where a record was acked or read; the offset of an ack may not be known."""
    acked = found.sends.where(F.col("type") == "ok")
    where = acked.select("partition", "offset", "value", F.lit(False).alias("final"))
    return where.unionByName(found.reads.select("partition", "offset", "value", "final"))
