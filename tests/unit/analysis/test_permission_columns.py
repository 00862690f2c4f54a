"""The rule of what permits a record, as columns of Spark: the same as in plain Python.

Random causes and random rows, null wherever that can be, in one job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from analysis.causes.cause import Cause
from analysis.frames.permission import permission
from analysis.frames.schema import CAUSE
from analysis.stored.transactions.settled import Settled, Trace
from tests.support.permitting import Record, permits
from tests.support.random_histories.causes import a_cause, a_time, lacked_by, maybe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNS, ROWS = 120, 50
LONG, TEXT, FLAG = LongType(), StringType(), BooleanType()
VICTIM = {"sent_ns": LONG, "known_ns": LONG, "delivered": FLAG}
TIMES = ("sent_ns", "known_ns", "shown_ns", "time_ns", "polled_ns", "passed_ns")
Row = dict[str, Any]


def struct(columns: Any) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


COLUMNS = struct(
    {"number": LONG, "anomaly": TEXT, "outcome": TEXT}
    | dict.fromkeys(("partition", "other_partition"), IntegerType())
    | {"polled_by": TEXT, "lacked_by": TEXT, **dict.fromkeys(TIMES, LONG)}
    | {"offset": LONG, "worker": TEXT, "transaction": IntegerType(), "of_offsets": IntegerType()}
    | {"victims": ArrayType(struct(VICTIM)), "causes": ArrayType(CAUSE)}
)


def a_row(random: Random) -> Row:
    """A row of evidence, as far as the rule looks at it."""
    victims = [
        {"sent_ns": a_time(random), "known_ns": a_time(random)}
        | {"delivered": maybe(random, True, False)}
        for _ in range(random.randint(0, 3))
    ]
    return {
        "anomaly": random.choice(["lost", "vanished"]),
        "partition": maybe(random, 0, 0, 1, 1),
        "other_partition": maybe(random, 0, 1),
        "outcome": maybe(random, "aborted", "in_reads", "other"),
        "polled_by": maybe(random, "member-0", "member-1"),
        "lacked_by": lacked_by(random),
        "victims": maybe(random, victims),
        "worker": maybe(random, "producer-0", "producer-1"),
        "transaction": maybe(random, 0, 1, 2, 3),
        "of_offsets": maybe(random, 1),
        "offset": a_time(random),
        **{name: a_time(random) for name in TIMES},
    }


def some_traces(random: Random) -> tuple[Trace, ...]:
    """What a run tells of its settled transactions."""
    return tuple(
        Trace(
            time_ns=random.randint(1, 7),
            process=random.choice(["producer-0", "producer-1"]),
            transaction=random.randint(0, 3),
            partition=maybe(random, 0, 1),
        )
        for _ in range(random.randint(0, 4))
    )


def settled_ns(row: Row, traces: tuple[Trace, ...]) -> int | None:
    """When a row's transaction was: of offsets only where all partitions are."""
    here = (None,) if row["of_offsets"] else (None, row["partition"])
    number = -1 if row["transaction"] is None else row["transaction"]
    told = [
        each.time_ns
        for each in traces
        if each.process == row["worker"] and 0 <= number <= each.transaction
        if each.partition in here
    ]
    return min(told, default=None)


def expected(
    row: Row, causes: list[tuple[Cause, tuple[str, ...]]], traces: tuple[Trace, ...]
) -> tuple[str, int | None]:
    """By the rule in plain Python: one of its records is enough."""
    own = Record(
        partition=row["partition"],
        begun_ns=row["sent_ns"],
        known_ns=row["known_ns"],
        outcome=row["outcome"],
        shown_ns=row["shown_ns"],
        time_ns=row["time_ns"],
        settled_ns=settled_ns(row, traces),
        lacked_by=tuple(row["lacked_by"].split(",")) if row["lacked_by"] else (),
        polled_by=row["polled_by"],
        polled_ns=row["polled_ns"],
        passed_ns=row["passed_ns"],
        offset=row["offset"],
    )
    records = [own]
    if row["victims"] is not None:
        records = [
            replace(
                own,
                begun_ns=each["sent_ns"],
                known_ns=each["known_ns"],
                delivered=bool(each["delivered"]),
            )
            for each in row["victims"]
        ]
    for number, (cause, anomalies) in enumerate(causes):
        found = any(permits(cause, record) for record in records)
        if row["anomaly"] in anomalies and (found or (not records and named(cause, own, row))):
            return "permitted" if cause.sure else "in-doubt", number
    return "forbidden", None


def named(cause: Cause, own: Record, row: Row) -> bool:
    """Of a row that no record's loss explains: by a cause that names its outcome, here or there."""
    unlimited = replace(
        cause, begun_before_ns=None, known_from_ns=None, known_until_ns=None, acked_only=False
    )
    places = own, replace(own, partition=row["other_partition"])
    return bool(cause.outcomes) and any(permits(unlimited, place) for place in places)


def _told(
    number: int, cause: Cause, anomalies: tuple[str, ...], traces: tuple[Trace, ...]
) -> Mapping[str, Any]:
    limit_ns = cause.unsettled_ns
    settled = () if limit_ns is None else Settled(traces=traces).before(limit_ns)
    return cause.as_row(number, anomalies, 0, settled)


def test_columns_and_plain_python_say_the_same_of_any_row(spark: SparkSession) -> None:
    random = Random(14)  # the same rows in every test run
    rows: list[Row] = []
    wanted: list[tuple[str, int | None]] = []
    for _ in range(RUNS):
        drawn = [a_cause(random) for _ in range(random.randint(0, 5))]
        causes = sorted(drawn, key=lambda each: not each[0].sure)
        traces = some_traces(random)
        told = [_told(number, cause, of, traces) for number, (cause, of) in enumerate(causes)]
        for _ in range(ROWS):
            row = a_row(random)
            wanted.append(expected(row, causes, traces))
            rows.append({**row, "number": len(rows), "causes": told})

    frame = spark.createDataFrame(rows, schema=COLUMNS)
    frame = frame.withColumn("sender", F.crc32("worker")).withColumns(permission())
    found = frame.select("number", "judged", "cause").orderBy("number").collect()

    differ = [
        (row, got, want)
        for row, got, want in zip(rows, found, wanted, strict=True)
        if (got["judged"], got["cause"]) != want
    ]
    assert not differ, differ[0]
    assert {judged for judged, _ in wanted} == {"permitted", "in-doubt", "forbidden"}
