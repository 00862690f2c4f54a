"""The sends that the page draws one by one: a sample, by a rule that the page states.

Sends fall into four sorts: those without an ack (failed or in doubt), acked ones slower than p99.9,
those between p99 and that, and all others. Of each sort up to `EACH` are drawn, all where it has no
more; of a larger sort each send is drawn with the same chance, by a hash of its process and number,
so that the same run always gives the same picture. The slowest ack is always among them.

    9,989 acked, 8 failed, 3 in doubt  =>  those 11, the 100 slower than p99, 1,000 of the others

The sizes of the sorts are known from the counts, so that this is one more pass without a shuffle.

Cannot see: which send of a large sort would have said most; outages without many sends (the
timeline shows p99 of every bucket).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType

from analysis.frames import schema
from analysis.frames.history import History
from analysis.frames.operations import is_ack, is_send
from analysis.measures.latency_and_rates import hundredths
from analysis.stored.stored_run import Run

Row = Mapping[str, Any]
EACH = 1_000  # of a sort
DRAWS = 1 << 31  # a send's number is one of these, and is drawn if it is below its sort's


def sends(history: History) -> DataFrame:
    """Every send with the number that decides whether it is drawn: run_id, type, due_ns, end_ns
    (null: it never ended), ms (until its end), acked, draw."""
    ended_ns = F.col("end_ns") - F.col("intended_ns")
    return history.operations.where(is_send()).select(
        "run_id",
        "type",
        F.col("intended_ns").alias("due_ns"),
        "end_ns",
        (hundredths(ended_ns) / 100).alias("ms"),  # as the quantiles that it is compared with
        is_ack().alias("acked"),
        F.shiftrightunsigned(F.xxhash64(F.crc32("process"), "id"), 33).alias("draw"),
    )


def limits(run_id: str, counts: Row, quantiles: Mapping[str, float]) -> Row:
    """Of which sort sends are drawn below which number: a row of schema.DRAWN, from the run's
    counts and the quantiles of its acks (empty without any)."""
    acked, whole = counts["acked"], counts["failed"] + counts["indeterminate"]
    return {
        "run_id": run_id,
        "p99_ms": quantiles.get("p99"),
        "p999_ms": quantiles.get("p999"),
        "max_ms": quantiles.get("max"),
        "others": _below(acked),
        "slow": _below(acked / 100),
        "slowest": _below(acked / 1000),
        "unacked": _below(whole),
    }


def drawn(table: DataFrame, rows: Sequence[Row]) -> DataFrame:
    """The sends of `sends` that are drawn, by the rows of `limits`."""
    parsed = F.from_json(F.lit(json.dumps(rows)), ArrayType(schema.DRAWN))
    runs = table.sparkSession.range(1).select(F.inline(parsed))
    return (
        table.join(F.broadcast(runs), on="run_id", how="inner")
        .where((F.col("draw") < _limit()) | (F.col("acked") & (F.col("ms") >= F.col("max_ms"))))
        .select("run_id", "type", "due_ns", "end_ns")
    )


def points(run: Run, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What is drawn of each, in order of time: `due_s`, `ms`, and `type`. One that never ended
    waited until the load ended."""
    found = [
        {
            "due_s": run.seconds(row["due_ns"]),
            "ms": round((_end(run, row) - row["due_ns"]) / 1e6, 2),
            "type": row["type"],
        }
        for row in rows
    ]
    return sorted(found, key=lambda row: (row["due_s"], row["type"], row["ms"]))


def _end(run: Run, row: Row) -> int:
    ended_ns = row["end_ns"]
    return max(run.load_end_ns, row["due_ns"]) if ended_ns is None else int(ended_ns)


def _limit() -> Column:
    """The number below which a send of this sort is drawn."""
    return (
        F.when(~F.col("acked"), F.col("unacked"))
        .when(F.col("ms") > F.col("p999_ms"), F.col("slowest"))
        .when(F.col("ms") > F.col("p99_ms"), F.col("slow"))
        .otherwise(F.col("others"))
    )


def _below(size: float) -> int:
    """So many numbers that about EACH of this many sends are below."""
    return DRAWS if size <= EACH else int(DRAWS * EACH / size)
