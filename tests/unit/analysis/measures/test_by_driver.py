"""What the driver measures by itself is what Spark answers: random histories, and each odd one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.frames.history import History, run_row, runs_frame
from analysis.frames.schema import OPERATIONS
from analysis.measures import drawn_sends
from analysis.measures.by_driver.batches import NotPlain
from analysis.measures.by_driver.measured import Measured, measured, of_files
from analysis.measures.latency_and_rates import QUANTILES
from analysis.queries import Queries
from analysis.stored.stored_run import open_run
from harness.history import tables
from tests.support import story_runs
from tests.support.histories import final_read, read, sent, story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

S = 10**9
MS = 10**6
RUNS, ROWS = 60, 150
LOAD = (1_000 * S, 1_010 * S)
QUERIES = ("counts", "acks", "work", "positions", "redeliveries")
ERRORS = {
    "fail": ["_ABORTED", "_QUEUE_FULL", "_PURGE_QUEUE", "MSG_SIZE_TOO_LARGE", None],
    "info": ["_MSG_TIMED_OUT", "_NO_ACK", "_FATAL", None],
}
KINDS = ("read", "poll", "process", "commit", "committed", "lookup", "final-read")
WORKERS = {f"producer-{n}": ("send",) for n in range(3)} | {"one": KINDS, "other": KINDS}

Row = dict[str, Any]


def moment(draw: random.Random) -> int:
    """Now and then the same one, so that an edge is met to the nanosecond."""
    steps = draw.randrange(-10, 120)
    return LOAD[0] + steps * 100 * MS + draw.choice([0, 0, 1, -1, draw.randrange(100 * MS)])


def length_ns(draw: random.Random) -> int:
    return draw.choice([0, 100 * MS, 7 * MS + 123, draw.randrange(3 * S), draw.randrange(200 * S)])


def operations(draw: random.Random, run_id: str) -> dict[str, list[Row]]:
    """By process: rows of any kind, whose offsets are now and then missing or repeated."""
    return {
        process: [
            {**operation(draw, kinds), "run_id": run_id, "process": process, "id": number}
            for number in range(draw.randrange(ROWS))
        ]
        for process, kinds in WORKERS.items()
    }


def operation(draw: random.Random, kinds: tuple[str, ...]) -> Row:
    kind, f = draw.choice(["ok", "ok", "ok", "fail", "info"]), draw.choice(kinds)
    start_ns = moment(draw)
    ended = kind != "info" or draw.random() < 0.5
    given = f in ("read", "poll")
    return {
        "f": f,
        "type": kind,
        "partition": draw.randrange(4),
        "value": None if draw.random() < 0.1 else draw.randrange(3) << 40 | draw.randrange(99),
        "offset": None if not given and draw.random() < 0.2 else draw.randrange(300),
        "error": draw.choice(ERRORS[kind]) if kind in ERRORS else None,
        "intended_ns": start_ns - draw.choice([0, 0, 5 * MS, 5 * MS + 4999]),
        "start_ns": start_ns,
        "end_ns": start_ns + length_ns(draw) if ended else None,
    }


def facts(draw: random.Random, run_id: str) -> Row:
    """A row of schema.RUNS, as far as the measures ask."""
    return {
        "run_id": run_id,
        "load_start_ns": LOAD[0],
        "load_end_ns": LOAD[1],
        "bucket_ns": draw.choice([100, 500]) * MS,
        "ends": [{}] * draw.choice([0, 4, 1000]),
        "deaths": [
            {"producer": draw.randrange(3), "died_ns": moment(draw)}
            for _ in range(draw.randrange(3))
        ],
        "faults": [fault(draw, number) for number in range(draw.randrange(5))],
        "leaders": [{"from_ns": moment(draw)} for _ in range(draw.randrange(5))],
        "alone": [
            {"partition": draw.randrange(4), "from_ns": from_ns, "to_ns": from_ns + length_ns(draw)}
            for from_ns in [moment(draw) for _ in range(draw.randrange(3))]
        ],
    }


def fault(draw: random.Random, number: int) -> Row:
    invoke_ns = moment(draw)
    end_ns = None if draw.random() < 0.2 else invoke_ns + draw.choice([0, 200 * MS, S, 3 * S])
    explains = draw.random() < 0.7
    return {"fault": number, "invoke_ns": invoke_ns, "end_ns": end_ns, "explains": explains}


def same(row: Mapping[str, Any]) -> str:
    """A row as both tell it: faults in order, quantiles as far as both add alike."""

    def told(value: Any) -> Any:
        if isinstance(value, list):
            return sorted(round(each, 6) for each in value)
        return value

    return str(sorted((name, told(value)) for name, value in row.items() if name != "run_id"))


def by_run(table: Any) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {str(number): [] for number in range(RUNS)}
    for row in table.collect():
        found[row["run_id"]].append(row.asDict())
    return found


def limits(counts: Mapping[str, list[Row]]) -> list[Row]:
    """Of each run so few that some are drawn and some are not."""
    found = []
    for run_id, rows in counts.items():
        whole = next((row for row in rows if row["bucket"] is None), None)
        if whole is not None:
            many = {name: whole[name] * 400 for name in ("acked", "failed", "indeterminate")}
            known = dict(zip(QUANTILES, whole["latency_ms"] or [], strict=False))
            found.append(dict(drawn_sends.limits(run_id, many, known)))
    return found


@pytest.fixture(scope="module")
def both(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[dict[str, list[Row]], Measured]]:
    """What Spark answers and what the driver measures, of each of many random runs."""
    folder, draw = tmp_path_factory.mktemp("measured"), random.Random(17)
    known: list[Row] = []
    files: dict[str, list[Path]] = {}
    for run_id in map(str, range(RUNS)):
        known.append(facts(draw, run_id))
        files[run_id] = []
        for process, rows in operations(draw, run_id).items():
            files[run_id].append(folder / f"{run_id}-{process}.parquet")
            story_runs.write_rows(files[run_id][-1], rows)
    table = spark.read.schema(OPERATIONS).parquet(*(str(f) for fs in files.values() for f in fs))
    queries = Queries(History(operations=table, runs=runs_frame(spark, known)))
    asked = {name: by_run(getattr(queries, name)()) for name in QUERIES}
    few = limits(asked["counts"])
    asked["sends"] = by_run(drawn_sends.drawn(queries.sends(), few))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "analysis.measures.by_driver.measured._limits",
            lambda counted: limits({"0": list(counted)})[0],
        )
        return [
            (
                {name: answers[row["run_id"]] for name, answers in asked.items()},
                of_files(files[row["run_id"]], row, 1000),
            )
            for row in known
        ]


@pytest.mark.parametrize("name", [*QUERIES, "sends"])
def test_the_driver_measures_what_spark_does(
    both: list[tuple[dict[str, list[Row]], Measured]], name: str
) -> None:
    for asked, driver in both:
        rows = getattr(driver, name)
        assert Counter(map(same, rows)) == Counter(map(same, asked[name]))
    assert sum(len(getattr(driver, name)) for _, driver in both) >= RUNS / 2


def test_what_is_compared_has_everything_in_it(
    both: list[tuple[dict[str, list[Row]], Measured]],
) -> None:
    """Each count, faults that met a send and faults that did not, some sends drawn, not all."""
    whole = [row for _, driver in both for row in driver.counts if row["bucket"] is None]
    work = [row for _, driver in both for row in driver.work]
    sends = sum(row["sends"] for row in whole)

    for name in set(whole[0]) - {"bucket", "latency_ms"}:
        assert sum(row[name] for row in whole) > 0, name
    for name in ("refused", "unexplained", "met", "before"):
        assert any(row[name] for row in work), name
        assert any(not row[name] for row in work if row["f"] == "send"), name
    assert 0 < sum(len(driver.sends) for _, driver in both) < sends
    assert sum(row["redeliveries"] for _, driver in both for row in driver.redeliveries) > 0


# What is left to Spark


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One worker's two operations."""
    draw = random.Random(1)
    made = operation(draw, ("send",))
    rows = [{**made, "type": "ok", "run_id": "0", "process": "one", "id": n} for n in (1, 2)]
    story_runs.write_rows(tmp_path / "one.parquet", rows)
    return tmp_path / "one.parquet"


def measure(file: Path) -> Measured:
    return of_files([file], facts(random.Random(2), "0"), 1000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run_id", "another"),
        ("run_id", None),
        ("process", "another"),
        ("f", "nothing"),
        ("type", "odd"),
        ("type", None),
        ("id", None),
        ("partition", None),
        ("partition", -1),
        ("start_ns", None),
        ("intended_ns", None),
        ("intended_ns", 1 << 62),
        ("end_ns", 1),
    ],
)
def test_a_row_that_no_worker_writes_is_left_to_spark(file: Path, name: str, value: Any) -> None:
    assert measure(file).counts
    table = pq.read_table(file)
    column = [*table[name].to_pylist()[:1], value]
    at = table.schema.get_field_index(name)
    pq.write_table(table.set_column(at, name, pa.array(column, table.schema[at].type)), file)

    with pytest.raises(NotPlain):
        measure(file)


@pytest.mark.parametrize("offset", [None, -1, 1 << 40])
def test_a_read_without_a_likely_offset_is_left_to_spark(file: Path, offset: int | None) -> None:
    rows = pq.read_table(file).to_pylist()
    story_runs.write_rows(file, [{**rows[0], "f": "read", "offset": offset}])

    with pytest.raises(NotPlain):
        measure(file)


def test_columns_of_other_kinds_are_left_to_spark(file: Path) -> None:
    table = pq.read_table(file)
    known = [name for name, _ in tables.OPERATION_COLUMNS]
    pq.write_table(table.select([name for name in known if name != "error"]), file)

    with pytest.raises(NotPlain):
        measure(file)


def test_a_file_that_cannot_be_opened_is_left_to_spark(tmp_path: Path) -> None:
    parts = (sent(1, at=0), read(1, at=0), final_read(1))
    run = open_run(story_runs.write_story(story(*parts), tmp_path / "run", "told/1"))
    assert measured([run], {run.run_id: run_row(run)}, {}) is not None

    run.tables[0].write_bytes(b"PAR1")

    assert measured([run], {run.run_id: run_row(run)}, {}) is None
    run.tables[0].unlink()
    assert measured([run], {run.run_id: run_row(run)}, {}) is None
