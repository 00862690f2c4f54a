"""Measures of random histories are those of the bench's SQL for DuckDB, row by row.

Half of the histories are any operations at all; in the others clients try all the time, and now and
then nobody succeeds for a while. Fates are made of all operations here, as where no screen tells
them; that a screen tells the same is tested beside it.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.frames.schema import TRANSACTIONS, arrow
from analysis.measures import fates
from analysis.measures.measured import Measured, measured
from analysis.stored.stored_run import EVENTS
from bench.checker import duckdb_side
from bench.checker.coverage import MEASURES
from tests.support import story_runs

S, MS = 10**9, 10**6
RUNS, ROWS = 40, 150
LOAD = (1_000 * S, 1_010 * S)
PARTITIONS = 3
KINDS = ("read", "poll", "process", "commit", "committed", "lookup", "final-read", "final-read")
WORKERS = {f"producer-{n}": ("send",) for n in range(3)} | {"one": KINDS, "other": KINDS}
ALWAYS_OK = ("read", "poll", "final-read", "committed")
ERRORS = {
    "fail": ["_ABORTED", "_QUEUE_FULL", "_PURGE_QUEUE", "MSG_SIZE_TOO_LARGE", None],
    "info": ["_MSG_TIMED_OUT", "_NO_ACK", "_FATAL", None],
}
READERS = {"read": "consumer", "poll": "member", "lookup": "seeker", "process": "member"}
NOTHING = ("hanging", "causes", "corrupt", "moves", "outdated", "shared", "unowned", "states")
TOO_FEW = 3  # rows with something in them, of which a rule might be right by chance

Row = dict[str, Any]


# Histories


def moment(draw: random.Random) -> int:
    """Now and then the same one, so that an edge is met to the nanosecond."""
    jitter = draw.choice([0, 0, 1, -1, draw.randrange(100 * MS)])
    return LOAD[0] + draw.randrange(-3, 103) * 100 * MS + jitter


def length_ns(draw: random.Random) -> int:
    lengths = [0, 100 * MS, 7 * MS + 123, 500 * MS, 500 * MS - 1, draw.randrange(3 * S)]
    return draw.choice([*lengths, draw.randrange(200 * S)])


def any_operations(draw: random.Random) -> Iterator[Row]:
    """Operations that may contradict one another."""
    for process, kinds in WORKERS.items():
        for _ in range(draw.choice([0, 1, 40, ROWS])):
            yield {**operation(draw, kinds), "process": process}


def operation(draw: random.Random, kinds: Sequence[str]) -> Row:
    f, start_ns = draw.choice(kinds), moment(draw)
    kind = "ok" if f in ALWAYS_OK else draw.choice(["ok", "ok", "ok", "fail", "info"])
    ended = kind != "info" or draw.random() < 0.5
    placed = kind == "ok" and (f != "send" or draw.random() < 0.8)
    return {
        "f": f,
        "type": kind,
        "partition": draw.randrange(PARTITIONS + 1),
        "value": None
        if f not in ("send", "lookup") and draw.random() < 0.1
        else draw.randrange(3) << 40 | draw.randrange(40),
        "offset": draw.randrange(60) if placed else None,
        "error": draw.choice(ERRORS[kind]) if kind in ERRORS else None,
        "intended_ns": start_ns - draw.choice([0, 0, 5 * MS, 5 * MS + 4999]),
        "start_ns": start_ns,
        "end_ns": start_ns + length_ns(draw) if ended else None,
    }


def lives(draw: random.Random) -> list[Row]:
    """What clients see that try all the time, of a cluster with outages."""
    cluster, many = Cluster(draw), draw.choice([30, 100, 250])
    return [
        row
        for number in range(many)
        for row in cluster.life(draw.randrange(3) << 40 | number, number * 10 * S // many)
    ]


class Cluster:
    """Where nobody succeeds for a second, now and then: what would have succeeded ends with it."""

    def __init__(self, draw: random.Random) -> None:
        self._draw, self._log = draw, [0] * PARTITIONS
        self._outages = {
            (f, partition): [moment(draw) for _ in range(draw.randrange(4))]
            for f in ("send", *READERS)
            for partition in range(PARTITIONS)
        }

    def life(self, value: int, due_ns: int) -> list[Row]:
        """A send and what becomes of its record."""
        draw, partition = self._draw, self._draw.randrange(PARTITIONS)
        intended_ns = LOAD[0] + due_ns + draw.choice([0, draw.randrange(50 * MS)])
        known = {"value": value, "partition": partition, "intended_ns": intended_ns}
        kind = draw.choice(["ok"] * 8 + ["info", "info", "fail"])
        start_ns, took_ns = intended_ns + draw.choice([0, MS, 30 * MS]), draw.choice([0, MS, S])
        send = {**known, **self._did("send", partition, start_ns, took_ns, kind)}
        if kind == "info":
            send["error"] = draw.choice(["_NO_ACK", "_MSG_TIMED_OUT"])
            send["end_ns"] = draw.choice([send["end_ns"], None])
        offset, lands = self._log[partition], kind != "fail" and draw.random() < 0.85
        self._log[partition] += 1
        rows = [{**send, "offset": None if kind != "ok" or draw.random() < 0.1 else offset}]
        since_ns = send["end_ns"] or LOAD[1]
        for f in READERS if lands else ():
            if draw.random() < 0.8:
                start_ns = since_ns - draw.choice([0, 0, MS])
                took_ns = draw.choice([0, MS, 20 * MS, 600 * MS, 3 * S])
                did = self._did(f, partition, start_ns, took_ns)
                rows.append({**known, **did, "offset": offset})
        if lands and draw.random() < 0.9:
            did = self._did("final-read", partition, LOAD[1] + S, 0)
            rows.append({**known, **did, "offset": offset})
        return rows

    def _did(self, f: str, partition: int, start_ns: int, took_ns: int, kind: str = "ok") -> Row:
        end_ns = start_ns + took_ns
        for begun_ns in self._outages.get((f, partition), ()):
            if kind == "ok" and begun_ns <= end_ns < begun_ns + S:
                end_ns = begun_ns + S
        known = {"f": f, "type": kind, "process": READERS.get(f, f)}
        return {**known, "start_ns": start_ns, "end_ns": end_ns}


def facts(draw: random.Random, run_id: str) -> Any:
    """A row of schema.RUNS, as far as is asked."""
    alone = [(moment(draw), draw.randrange(4)) for _ in range(draw.randrange(3))]
    return {
        **{name: [] for name in NOTHING},
        "run_id": run_id,
        "load_start_ns": LOAD[0],
        "load_end_ns": LOAD[1],
        "threshold_ns": draw.choice([500 * MS, 200 * MS, 300 * MS + 1, 2 * S]),
        "bucket_ns": draw.choice([100, 500]) * MS,
        "tailing": draw.random() < 0.7,
        "grouped": draw.random() < 0.7,
        "one_copy": draw.choice([True, False]),
        "in_use": int(run_id) % 4 < 2,
        "from_start": draw.choice([True, False]),
        "superseded": [producer << 40 | n for producer in range(3) for n in range(3, 90, 7)],
        "passed_over": [
            {"partition": draw.randrange(PARTITIONS), "from_offset": 1, "to_offset": 3}
            for _ in range(draw.randrange(2))
        ],
        "ends": [end(draw) for _ in range(draw.choice([0, 1, PARTITIONS, PARTITIONS, 9]))],
        "deaths": [
            {"producer": producer, "died_ns": moment(draw)}
            for producer in draw.sample(range(3), draw.randrange(3))
        ],
        "elections": [
            {
                "partition": draw.randrange(PARTITIONS),
                "log_end": draw.randrange(9),
                "looked_ns": moment(draw),
            }
            for _ in range(draw.randrange(9))
        ],
        "faults": [fault(draw, number) for number in range(draw.randrange(5))],
        "leaders": [
            {"partition": 0, "leader": None, "from_ns": moment(draw), "to_ns": None}
            for _ in range(draw.randrange(5))
        ],
        "alone": [
            {"partition": partition, "from_ns": from_ns, "to_ns": from_ns + length_ns(draw)}
            for from_ns, partition in alone
        ],
    }


def end(draw: random.Random) -> Row:
    return {
        "complete": draw.choice([True, True, False]),
        "log_start": draw.choice([None, 0, 0, 3, 30]),
        "position": draw.choice([None, 0, 5, 40]),
        "committed_end": None,
        "uncommitted_end": None,
    }


def fault(draw: random.Random, number: int) -> Row:
    invoke_ns = moment(draw)
    end_ns = None if draw.random() < 0.2 else invoke_ns + draw.choice([0, 200 * MS, S, 3 * S])
    explains = draw.random() < 0.7
    return {"fault": number, "invoke_ns": invoke_ns, "end_ns": end_ns, "explains": explains}


# Both sides


@dataclass(frozen=True, kw_only=True)
class Both:
    """A history, and what each side says of it."""

    facts: Any
    rows: Sequence[Row]
    ours: Measured
    theirs: Mapping[str, Sequence[Mapping[str, Any]]]

    def of(self, name: str) -> tuple[list[Row], list[Row]]:
        """The rows of one measure, of both."""
        ours = getattr(self.ours, name)
        theirs = [dict(row) for row in self.theirs[MEASURES[name]]]
        return ([ours] if ours else []) if isinstance(ours, dict) else list(ours), theirs


def write(rows: Iterable[Row], folder: Path, run_id: str) -> list[Path]:
    """A file for each process, as a run has them."""
    mine: dict[str, list[Row]] = defaultdict(list)
    for number, row in enumerate(rows):
        mine[row["process"]].append({**row, "run_id": run_id, "id": number})
    operations = folder / "history" / "operations"
    operations.mkdir(parents=True)
    files = [operations / f"{process}.parquet" for process in mine or ("nobody",)]
    for file in files:
        story_runs.write_rows(file, mine[file.stem])
    nothing = pa.Table.from_pylist([], schema=arrow(TRANSACTIONS))
    pq.write_table(nothing, folder / EVENTS)
    return files


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[Both]:
    """Seen a few rows at a time."""
    folder, draw, found = tmp_path_factory.mktemp("measured"), random.Random(29), []
    with pytest.MonkeyPatch.context() as patched:
        for name, few in {
            "analysis.stored.batches.ROWS": 7,
            "analysis.measures.windows._FEW": 0,
            "analysis.measures.windows._MANY": 5,
            "analysis.measures.fates.MOST": 100,
            "analysis.measures.fates.ROWS": 5,
        }.items():
            patched.setattr(name, few)
        for run_id in map(str, range(RUNS)):
            known = facts(draw, run_id)
            rows = list((any_operations, lives)[int(run_id) % 2](draw))
            files = write(rows, folder / run_id, run_id)
            values = fates.fates_of_files(files, known, len(rows), folder)
            ours = measured(files, known, len(rows), values)
            theirs = duckdb_side.measures(folder / run_id, known)
            found.append(Both(facts=known, rows=rows, ours=ours, theirs=theirs))
    return found


def same(row: Mapping[str, Any], like: Mapping[str, Any]) -> str:
    """A row as both tell it: the columns that the other has too, faults in order, no quantiles."""
    return str(
        sorted(
            (name, sorted(value) if isinstance(value, list) else value)
            for name, value in row.items()
            if name in like and name != "latency_ms"
        )
    )


@pytest.mark.parametrize(
    "name", ["counts", "acks", "work", "positions", "windows", "errors", "after_faults"]
)
def test_rows_are_those_of_the_sql(histories: list[Both], name: str) -> None:
    rows = 0
    for both in histories:
        ours, theirs = both.of(name)
        if not both.rows:
            continue
        like = theirs[0] if theirs else {}
        assert Counter(same(row, like) for row in ours) == Counter(same(row, row) for row in theirs)
        rows += len(ours)

    assert rows > 2 * RUNS


@pytest.mark.parametrize("name", ["landings", "redeliveries"])
def test_a_run_s_row_is_that_of_the_sql(histories: list[Both], name: str) -> None:
    for both in histories:
        ours, (theirs,) = both.of(name)
        told = {**dict.fromkeys(theirs, 0), **(ours[0] if ours else {})}
        assert same(told, theirs) == same(theirs, theirs)


def test_latencies_are_those_of_the_sql(histories: list[Both]) -> None:
    """Of acks, by bucket too, and of deliveries. Ours are rounded to four digits."""
    seen = 0
    for both in histories:
        ours = {row["bucket"]: row["latency_ms"] for row in both.ours.counts}
        theirs = {row["bucket"]: row["latency_ms"] for row in both.theirs["counts"]}
        pairs = [(ours[bucket], theirs[bucket]) for bucket in ours]
        landings = both.ours.landings.get("latency_ms"), both.theirs["landings"][0]["latency_ms"]
        for mine, other in (*pairs, landings):
            assert (mine is None) == (other is None)
            assert all(
                math.isclose(a, b, rel_tol=0.001, abs_tol=0.011)
                for a, b in zip(mine or (), other or (), strict=True)
            )
            seen += mine is not None

    assert seen > 2 * RUNS


def test_acks_of_a_leader_alone_in_its_isr_are_counted(histories: list[Both]) -> None:
    ours = [
        sum(r["acked_isr_alone"] for r in b.ours.counts if r["bucket"] is None) for b in histories
    ]

    assert ours == [both.theirs["acked_isr_alone"][0]["acked_isr_alone"] for both in histories]
    assert sum(ours) > TOO_FEW


# What is compared has everything in it


def test_each_count_and_landing_is_in_some(histories: list[Both]) -> None:
    counted: Counter[str] = Counter()
    for both in histories:
        whole = next((row for row in both.ours.counts if row["bucket"] is None), {})
        for row in (whole, both.ours.landings, both.ours.redeliveries):
            counted.update({name: n for name, n in row.items() if isinstance(n, int)})

    assert {name: n for name, n in counted.items() if n < TOO_FEW} == {}
    assert {"lost_past_log_end", "kept_past_log_end", "redeliveries", "aborted"} <= counted.keys()


def test_work_met_faults_and_did_not(histories: list[Both]) -> None:
    work = [row for both in histories for row in both.ours.work]

    for name in ("refused", "unexplained", "met", "before"):
        assert any(row[name] for row in work), name
        assert any(not row[name] for row in work if row["f"] == "send"), name


@pytest.mark.parametrize("kind", ["produce", "consume", "process"])
def test_windows_lie_at_the_load_s_bounds_and_between(histories: list[Both], kind: str) -> None:
    rows = [row for both in histories for row in both.ours.windows if row["kind"] == kind]

    assert len(rows) > RUNS / 2
    assert LOAD[0] in [row["start_ns"] for row in rows]
    assert LOAD[1] in [row["end_ns"] for row in rows]
    for differ in (
        {row["attempts"] > 1 for row in rows},
        {row["next_success_ns"] is None for row in rows},
        {row["next_success_ns"] == row["end_ns"] for row in rows},
    ):
        assert differ == {True, False}
