"""How far the final read of two tables got in each partition.

    it has every offset that was acked or that another read has,      =>  complete, from its first
    and it ended after the last ack if both have times                    offset on
    it lacks an acked offset at or after its first                    =>  not complete: it stopped
                                                                          before, or passed over it
    an ack has no offset                                              =>  not complete: its end is
                                                                          not known
    the user says that it is complete                                 =>  complete, from offset 0
    some of its values are null                                       =>  not complete
    neither table has the partition                                   =>  nothing is said of it,
                                                                          unless the user says that
                                                                          it is complete

harness.foreign.final_read finds the same in lines; both make the events by
harness.model.runs.imported_history. Spark does the work; the driver holds one row per partition.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from analysis.tables.table_files import TableError
from analysis.tables.validation import Tables
from harness.model.runs.imported_history import end_fields


def ends(tables: Tables, *, complete: bool = False) -> list[dict[str, Any]]:
    """One row per partition of which anything is told, with the fields of an event `ends`; none
    without a final read. `complete`: the user says that it is, in all partitions. Raises TableError
    if the tables contradict that."""
    if not tables.final:
        if complete:
            raise TableError(
                "--final-read-is-complete: no read is of the final read: its column f must be "
                "final-read (`kafka-harness docs tables`)"
            )
        return []
    acked, ended = tables.last_ack_ns, tables.last_final_ns
    after_acks = acked is None or ended is None or ended >= acked
    if complete and not after_acks:
        raise TableError(
            "--final-read-is-complete: the final read ended before the last ack, by the end_ns of "
            "both tables: leave one of the two out, or read again"
        )
    extents, missing = _extents(tables), _first_missing(tables)
    return [
        {"partition": n, **_end(extents.get(n), missing.get(n), after_acks, complete)}
        for n in (range(tables.partitions) if complete else sorted(extents))
    ]


def _end(
    extent: Row | None, missing: int | None, after_acks: bool, complete: bool
) -> dict[str, Any]:
    """How far it got in one partition. `missing`: the first offset that it lacks."""
    if extent is not None and extent["without_value"]:
        return {"complete": False}
    if complete:
        highest = None if extent is None else extent["highest"]
        return end_fields(None, highest, None, complete=True)
    if extent is None or extent["first"] is None:  # it read nothing in the partition
        return end_fields(None, None, None, complete=False)
    whole = after_acks and not extent["without_offset"]
    return end_fields(extent["first"], extent["last"], missing, complete=whole)


def _extents(tables: Tables) -> dict[int, Row]:
    """By partition: first and last offset of the final read, the number of its records without a
    value, the number of acks without an offset, and the highest offset of both tables."""
    final = F.col("final")
    rows = _places(tables).groupBy("partition")
    extents = rows.agg(
        F.min(F.when(final, F.col("offset"))).alias("first"),
        F.max(F.when(final, F.col("offset"))).alias("last"),
        F.count_if(final & F.col("value").isNull()).alias("without_value"),
        F.count_if(F.col("is_ack") & F.col("offset").isNull()).alias("without_offset"),
        F.max("offset").alias("highest"),
    )
    return {row["partition"]: row for row in extents.collect()}


def _first_missing(tables: Tables) -> dict[int, int]:
    """By partition: the lowest offset that was acked or that another read has, and that the final
    read lacks although it began before it."""
    firsts = tables.reads.where("final").groupBy("partition").agg(F.min("offset").alias("first"))
    missing = (
        _places(tables)
        .groupBy("partition", "offset")
        .agg(F.max("final").alias("final"))
        .where(~F.col("final"))
        .join(F.broadcast(firsts), on="partition", how="inner")
        .where(F.col("offset") >= F.col("first"))  # leaves out acks without an offset
        .groupBy("partition")
        .agg(F.min("offset").alias("offset"))
    )
    return {row["partition"]: row["offset"] for row in missing.collect()}


def _places(tables: Tables) -> DataFrame:
    """The places of sends and reads; the offset of a send may be null, and it is if it is no ack.
    Sends that tell no partition are left out."""
    is_ack = (F.col("type") == "ok").alias("is_ack")
    sent = tables.sends.where(F.col("partition").isNotNull())
    sends = sent.select("partition", "offset", "value", is_ack, F.lit(False).alias("final"))
    read = ("partition", "offset", "value", F.lit(False).alias("is_ack"), "final")
    return sends.unionByName(tables.reads.select(*read))
