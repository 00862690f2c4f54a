"""Evidence: what is known around each anomaly, so that a person can judge it without the history.

A checker names a value, its places and the moment that counts (`finding`); `evidence` adds the
send's process, id and error, the leader at that moment as far as ZooKeeper told, the faults then in
force and the first fault injected after it. A record that is acked a millisecond before its leader
is killed is lost by the *next* fault.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis import schema
from analysis.load import History
from analysis.ops import SENT_NAMES, UNPARSABLE, is_send, offset_of, partition_of
from harness.history import SEQUENCE_BITS

_COLUMNS = {
    "run_id": "string", "anomaly": "string", "value": "bigint", "place": "bigint",
    "other_place": "bigint", "other_value": "bigint", "copies": "int", "outcome": "string",
    "time_ns": "bigint", "sent": "int", "home": "int", "sent_ns": "bigint", "acked_ns": "bigint",
    "delivered_ns": "bigint",
}  # fmt: skip


def finding(  # noqa: PLR0913  one argument a column
    rows: DataFrame,
    anomaly: str,
    *,
    place: Column,
    time_ns: Column,
    outcome: Column | None = None,
    other_place: Column | None = None,
    other_value: Column | None = None,
) -> DataFrame:
    """The rows as anomalies, in the columns that all checkers share; what is unknown is null."""
    given = {
        "anomaly": F.lit(anomaly),
        "place": place,
        "time_ns": time_ns,
        "outcome": outcome,
        "other_place": other_place,
        "other_value": other_value,
    }
    known = set(rows.columns)

    def column(name: str, kind: str) -> Column:
        value = given.get(name)
        if value is None:
            value = F.col(name) if name in known and name not in given else F.lit(None)
        return value.cast(kind).alias(name)

    return rows.select(*[column(name, kind) for name, kind in _COLUMNS.items()])


def evidence(findings: list[DataFrame], history: History) -> DataFrame:
    """All findings in one table with everything that is known of them: schema.EVIDENCE."""
    found = reduce(DataFrame.unionByName, findings)
    sends = history.operations.where(is_send()).select("run_id", "value", "process", "id", "error")
    told = (
        _with_names(found)
        .join(sends, on=["run_id", "value"], how="left")
        .join(F.broadcast(history.runs), on="run_id", how="left")
    )
    return _with_faults(_with_leader(told, history.leaders), history.faults).select(
        *[F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.EVIDENCE.fields]
    )


def _with_names(found: DataFrame) -> DataFrame:
    """Places as partitions and offsets, values as producers and sequences, ends as words."""
    names = F.create_map(*[F.lit(x) for pair in SENT_NAMES.items() for x in pair])
    value = F.when(F.col("value") != UNPARSABLE, F.col("value"))
    other = F.when(F.col("other_value") != UNPARSABLE, F.col("other_value"))
    return found.withColumns(
        {
            "partition": F.coalesce(partition_of(F.col("place")), "home"),
            "offset": offset_of(F.col("place")),
            "other_partition": partition_of(F.col("other_place")),
            "other_offset": offset_of(F.col("other_place")),
            "value": value,
            "other_value": other,
            "producer": F.shiftright(value, SEQUENCE_BITS),
            "sequence": value.bitwiseAND(F.lit((1 << SEQUENCE_BITS) - 1)),
            "sent": F.element_at(names, F.col("sent")),
        }
    )


def _with_leader(told: DataFrame, leaders: DataFrame) -> DataFrame:
    """Who led the partition at `time_ns`, and the times relative to the load's start."""
    then = F.broadcast(leaders).alias("l")
    at = told.alias("e")
    led = (
        (F.col("e.run_id") == F.col("l.run_id"))
        & (F.col("e.partition") == F.col("l.partition"))
        & (F.col("l.from_ns") <= F.col("e.time_ns"))
        & (F.col("l.to_ns").isNull() | (F.col("e.time_ns") < F.col("l.to_ns")))
    )
    times = {
        f"{name}_s": (F.col(f"e.{name}_ns") - F.col("e.load_start_ns")) / 1e9
        for name in ("time", "sent", "acked", "delivered")
    }
    joined = at.join(then, on=led, how="left")
    return joined.select("e.*", "l.leader", *[c.alias(n) for n, c in times.items()])


def _with_faults(told: DataFrame, faults: DataFrame) -> DataFrame:
    """The faults in force at `time_ns` and the next one: each run's faults as one short array."""
    per_run = faults.groupBy("run_id").agg(
        F.sort_array(F.collect_list(F.struct("invoke_ns", "fault", "end_ns"))).alias("all")
    )
    now = F.col("time_ns")
    in_force = F.filter(
        "all",
        lambda f: (f.invoke_ns <= now) & (f.end_ns.isNull() | (now < f.end_ns)),
    )
    later = F.filter("all", lambda f: f.invoke_ns > now)
    return told.join(F.broadcast(per_run), on="run_id", how="left").withColumns(
        {
            "faults": F.transform(in_force, lambda f: f.fault),
            "next_fault": F.get(later, F.lit(0)).fault,
        }
    )
