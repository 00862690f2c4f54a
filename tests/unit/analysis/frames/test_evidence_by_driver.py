"""What is known around a found row: the driver tells what Spark tells.

Random rows, null wherever that can be, of runs with random leaders, faults and causes.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import IntegerType, LongType, StringType

from analysis.evidence.evidence import evidence as by_driver
from analysis.evidence.found_rows import COLUMNS, NUMBERS
from analysis.frames.claims import VICTIMS
from analysis.frames.evidence import evidence
from analysis.frames.history import History, runs_frame
from analysis.frames.operations import OFFSET_BITS, SENT_NAMES
from harness.history.record_format import SEQUENCE_BITS
from tests.support.random_histories.causes import a_cause, a_time, lacked_by, maybe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
RUNS, ROWS = 60, 60
SHORT = ("home", "sent", "copies")
KINDS = {
    **dict.fromkeys(COLUMNS, StringType()),
    **dict.fromkeys(NUMBERS, LongType()),
    **dict.fromkeys(SHORT, IntegerType()),
}
FOUND = ", ".join(
    f"{name} {VICTIMS if name == 'victims' else KINDS[name].simpleString()}" for name in COLUMNS
)


def a_place(random: Random) -> Any:
    return maybe(random, *(n << OFFSET_BITS | random.randrange(3) for n in (0, 0, 1)))


def a_row(random: Random, run_id: str) -> Row:
    """A row that a checker may have found."""
    victims = [
        {"sent_ns": a_time(random), "known_ns": a_time(random)}
        | {"delivered": maybe(random, True, False)}
        for _ in range(random.randrange(4))
    ]
    return {
        **{name: a_time(random) for name in NUMBERS},
        "sender": maybe(random, 3, 4),
        "of_offsets": maybe(random, 1),
        "run_id": run_id,
        "anomaly": random.choice(["lost", "vanished"]),
        "value": maybe(random, *(n << SEQUENCE_BITS | n for n in (0, 1, 5))),
        "home": maybe(random, 0, 1),
        "sent": maybe(random, *SENT_NAMES),
        "place": a_place(random),
        "other_place": a_place(random),
        "outcome": maybe(random, "aborted", "in_reads", "other"),
        "polled_by": maybe(random, "member-0", "member-1"),
        "lacked_by": lacked_by(random),
        "reader": maybe(random, "reader-0"),
        "victims": maybe(random, victims),
    }


def a_state(random: Random) -> Row:
    """A leader for some time: one may not have ended as the next begins."""
    since = random.randrange(8)
    return {
        "partition": random.choice([0, 0, 1]),
        "leader": maybe(random, "kafka1", "kafka2"),
        "epoch": maybe(random, 1, 2),
        "from_ns": since,
        "to_ns": maybe(random, since + random.randrange(4)),
        "seen_to_ns": None,
    }


def a_settled(random: Random) -> Any:
    """Which transactions of a sender were settled."""
    sender, transaction = random.choice([3, 4]), random.choice([2, 4, 6])
    return {"sender": sender, "partition": maybe(random, 0, 1), "transaction": transaction}


def a_fault(random: Random, number: int) -> Row:
    since = random.randrange(8)
    end = maybe(random, since + random.randrange(4))
    return {"fault": number, "invoke_ns": since, "end_ns": end, "explains": True}


def facts(random: Random, run_id: str) -> Any:
    """What the driver knows of a run."""
    drawn = sorted(
        (a_cause(random) for _ in range(random.randrange(6))), key=lambda c: not c[0].sure
    )
    faults = [a_fault(random, number) for number in range(random.randrange(4))]
    return {
        "run_id": run_id,
        "load_start_ns": random.randrange(3),
        "states": [a_state(random) for _ in range(random.randrange(6))],
        "faults": sorted(faults, key=lambda fault: fault["invoke_ns"]),
        "causes": [
            cause.as_row(number, of, 0, [a_settled(random) for _ in range(random.randrange(3))])
            for number, (cause, of) in enumerate(drawn)
        ],
    }


def known(random: Random) -> tuple[dict[str, Any], list[Row]]:
    runs = {str(number): facts(random, str(number)) for number in range(RUNS)}
    return runs, [a_row(random, run_id) for run_id in runs for _ in range(ROWS)]


def test_the_driver_tells_what_spark_tells(spark: SparkSession) -> None:
    runs, rows = known(Random(17))  # the same rows in every test run
    frame = spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], FOUND)
    history = History(operations=frame, runs=runs_frame(spark, list(runs.values())))

    whole = evidence(frame, history).toArrow()
    found = frame.toArrow()
    parts = [
        by_driver(found.filter(pc.equal(found["run_id"], run_id)), each)
        for run_id, each in runs.items()
    ]

    told = pa.concat_tables(parts)
    want, got = (sorted(map(str, table.to_pylist())) for table in (whole, told))
    assert [pair for pair in zip(got, want, strict=True) if pair[0] != pair[1]] == []
    seen = told.to_pydict()
    assert set(seen["judged"]) == {"permitted", "in-doubt", "forbidden"}
    assert {*seen["leader"]} == {None, "kafka1", "kafka2"}
    assert max(map(len, seen["faults"])) > 1
    assert len(set(seen["next_fault"])) > 2
