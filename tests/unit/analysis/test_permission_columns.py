"""The rule of what permits a record, as columns of Spark: the same as in plain Python.

Random causes and random rows, null wherever that can be, in one job.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

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
        **{name: a_time(random) for name in TIMES},
    }


def expected(row: Row, causes: list[tuple[Cause, tuple[str, ...]]]) -> tuple[str, int | None]:
    """By the rule in plain Python: one of its records is enough."""
    own = Record(
        partition=row["partition"],
        begun_ns=row["sent_ns"],
        known_ns=row["known_ns"],
        outcome=row["outcome"],
        shown_ns=row["shown_ns"],
        time_ns=row["time_ns"],
        lacked_by=tuple(row["lacked_by"].split(",")) if row["lacked_by"] else (),
        polled_by=row["polled_by"],
        polled_ns=row["polled_ns"],
        passed_ns=row["passed_ns"],
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


def test_columns_and_plain_python_say_the_same_of_any_row(spark: SparkSession) -> None:
    random = Random(14)  # the same rows in every test run
    rows: list[Row] = []
    wanted: list[tuple[str, int | None]] = []
    for _ in range(RUNS):
        drawn = [a_cause(random) for _ in range(random.randint(0, 5))]
        causes = sorted(drawn, key=lambda each: not each[0].sure)
        told = [cause.as_row(number, of, 0) for number, (cause, of) in enumerate(causes)]
        for _ in range(ROWS):
            row = a_row(random)
            wanted.append(expected(row, causes))
            rows.append({**row, "number": len(rows), "causes": told})

    frame = spark.createDataFrame(rows, schema=COLUMNS).withColumns(permission())
    found = frame.select("number", "judged", "cause").orderBy("number").collect()

    differ = [
        (row, got, want)
        for row, got, want in zip(rows, found, wanted, strict=True)
        if (got["judged"], got["cause"]) != want
    ]
    assert not differ, differ[0]
    assert {judged for judged, _ in wanted} == {"permitted", "in-doubt", "forbidden"}
