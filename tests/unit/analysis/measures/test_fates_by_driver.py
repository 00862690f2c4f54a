"""Landings and windows by the driver are Spark's: random histories, and the smallest by hand.

Half of the histories are any operations at all; in the others clients try all the time, and now and
then nobody succeeds for a while. Spark makes the fates, from which both sides go on.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from analysis.frames.history import History, runs_frame
from analysis.frames.operations import ACKED, OFFSET_BITS
from analysis.frames.schema import OPERATIONS
from analysis.measures.by_driver.batches import NONE, NotPlain, batches
from analysis.measures.by_driver.fates import Fates
from analysis.measures.by_driver.landings import Landings
from analysis.measures.by_driver.windows import Windows
from analysis.queries import Queries
from tests.support import story_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

S, MS = 10**9, 10**6
RUNS = 80
LOAD = (1_000 * S, 1_010 * S)
PARTITIONS = 3
FLAGS = ("complete", "passed", "one_copy")
KINDS = ("send", "send", "send", "read", "poll", "lookup", "process", "final-read", "final-read")
ENDS = {"send": ("ok", "ok", "info", "fail"), "lookup": ("ok", "fail"), "process": ("ok", "info")}
END = {"complete": (True, True, False), "log_start": (None, 0, 0, 3), "position": (None, 0, 5, 40)}
DEATH, ELECTION = {"producer": range(3)}, {"partition": range(PARTITIONS), "log_end": range(9)}
ENDED = {"ok": 0.97, "fail": 0.97, "info": 0.5}
READERS = {"read": "consumer", "poll": "member", "lookup": "seeker", "process": "member"}

Row = dict[str, Any]
Answers = list[SimpleNamespace]  # of a run, what it is and what both sides say of it


# Histories


def moment(draw: random.Random) -> int:
    """Now and then the same one, so that an edge is met to the nanosecond."""
    jitter = draw.choice([0, 0, 1, -1, draw.randrange(100 * MS)])
    return LOAD[0] + draw.randrange(-3, 103) * 100 * MS + jitter


def any_operations(draw: random.Random) -> list[Row]:
    """Operations that may contradict one another."""
    return [any_operation(draw) for _ in range(draw.choice([0, 1, 1, 80, 150, 150]))]


def any_operation(draw: random.Random) -> Row:
    f = draw.choice(KINDS)
    kind, start_ns = draw.choice(ENDS.get(f, ("ok",))), moment(draw)
    length_ns = draw.choice([0, 0, 5 * MS, 500 * MS, 500 * MS - 1, draw.randrange(3 * S)])
    placed = kind == "ok" and not (f in ("send", "process") and draw.random() < 0.2)
    return {
        "f": f,
        "type": kind,
        "process": READERS.get(f, f),
        "partition": draw.randrange(PARTITIONS + 1),
        "value": None if draw.random() < 0.05 else draw.randrange(3) << 40 | draw.randrange(9),
        "offset": draw.randrange(12) if placed else None,
        "error": "_NO_ACK" if kind == "info" and draw.random() < 0.4 else None,
        "intended_ns": start_ns - draw.choice([0, 5 * MS, 5 * MS + 4999]),
        "start_ns": start_ns,
        "end_ns": start_ns + length_ns if draw.random() < ENDED[kind] else None,
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


def facts(draw: random.Random, run_id: str) -> Row:
    """A row of schema.RUNS, as far as is asked."""
    return {
        "run_id": run_id,
        "load_start_ns": LOAD[0],
        "load_end_ns": LOAD[1],
        "threshold_ns": draw.choice([500 * MS, 200 * MS, 300 * MS + 1, 2 * S]),
        "tailing": draw.random() < 0.7,
        "grouped": draw.random() < 0.7,
        "one_copy": draw.choice([True, False, None]),
        "ends": [drawn(draw, END) for _ in range(draw.choice([0, 1, PARTITIONS, PARTITIONS, 9]))],
        "deaths": [
            {**drawn(draw, DEATH), "died_ns": moment(draw)} for _ in range(draw.randrange(4))
        ],
        "elections": [
            {**drawn(draw, ELECTION), "looked_ns": moment(draw)} for _ in range(draw.randrange(9))
        ],
    }


def drawn(draw: random.Random, columns: Mapping[str, Sequence[Any]]) -> Row:
    return {name: draw.choice(values) for name, values in columns.items()}


# Both sides


def fates_of(rows: Sequence[Mapping[str, Any]]) -> Fates:
    """Spark's rows as columns; what a row does not tell is null."""
    told: Row = {}
    for name in (field.name for field in fields(Fates)):
        nothing, kind = (False, np.bool_) if name in FLAGS else (NONE, np.int64)
        column = [row.get(name) for row in rows]
        told[name] = np.array([nothing if each is None else each for each in column], dtype=kind)
        told[name].setflags(write=False)
    return Fates(**told)


def by_home(rows: Sequence[Row]) -> list[Fates]:
    homes: dict[int | None, list[Row]] = defaultdict(list)
    for row in rows:
        homes[row["home"]].append(row)
    return [fates_of(mine) for mine in homes.values()]


def windows_of(run: Row, files: Iterable[Path], partitions: Iterable[Fates]) -> list[Row]:
    windows = Windows(run)
    for file in files:
        for batch in batches(file, run["run_id"]):
            windows.see(batch)
    return in_order(windows.rows(partitions))


def landings_of(run: Row, chunks: Iterable[Fates]) -> Row:
    landings = Landings(run)
    for chunk in chunks:
        landings.see(chunk)
    return landings.row()


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["kind"], row["partition"], row["start_ns"]))


def write(rows: Iterable[Row], folder: Path, run_id: str) -> list[Path]:
    """A file for each process."""
    mine: dict[str, list[Row]] = defaultdict(list)
    for number, row in enumerate(rows):
        mine[row["process"]].append({**row, "run_id": run_id, "id": number})
    files = {process: folder / f"{run_id}-{process}.parquet" for process in mine}
    for process, file in files.items():
        story_runs.write_rows(file, mine[process])
    return list(files.values())


def asked(table: Any) -> dict[str, list[Row]]:
    """Spark's rows by run."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in (row.asDict() for row in table.collect()):
        found[row.pop("run_id")].append(row)
    return found


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Of each of many random runs; the driver sees a few rows at a time."""
    folder, draw = tmp_path_factory.mktemp("fates"), random.Random(29)
    known = {run_id: facts(draw, run_id) for run_id in map(str, range(RUNS))}
    rows = {run_id: (any_operations, lives)[int(run_id) % 2](draw) for run_id in known}
    files = {run_id: write(mine, folder, run_id) for run_id, mine in rows.items()}
    names = [str(file) for mine in files.values() for file in mine]
    operations = spark.read.schema(OPERATIONS).parquet(*names)
    history = History(operations=operations, runs=runs_frame(spark, [*known.values()]))
    queries = Queries(history)
    fates, landings, windows = map(asked, (queries.fates, queries.landings(), queries.windows()))
    queries.forget()
    with pytest.MonkeyPatch.context() as patched:
        for name, few in {"batches.ROWS": 7, "windows._FEW": 0, "windows._MANY": 5}.items():
            patched.setattr(f"analysis.measures.by_driver.{name}", few)
        return [
            SimpleNamespace(
                facts=run,
                fates=fates[run_id],
                landings=landings_of(run, by_home(fates[run_id])),
                spark_landings=(landings[run_id] or [{}])[0],
                windows=windows_of(run, files[run_id], by_home(fates[run_id])),
                spark_windows=in_order(windows[run_id]),
            )
            for run_id, run in known.items()
        ]


def test_the_driver_counts_the_landings_that_spark_does(answers: Answers) -> None:
    for both in answers:
        assert both.landings == both.spark_landings


def test_the_driver_finds_the_windows_that_spark_does(answers: Answers) -> None:
    for both in answers:
        assert both.windows == both.spark_windows


def test_what_is_compared_has_all_landings_in_it(answers: Answers) -> None:
    rows = [both.landings for both in answers]

    assert {} in rows
    for name in {*rows[1]} - {"latency_ms"}:
        assert sum(row.get(name, 0) for row in rows) > 2, name
    assert {row["latency_ms"] is None for row in rows if row} == {True, False}


def test_what_is_compared_has_all_sorts_of_windows_in_it(answers: Answers) -> None:
    """Of each kind: at the load's bounds and between, of one attempt and of many."""
    for kind in ("produce", "consume", "process"):
        rows = [row for both in answers for row in both.windows if row["kind"] == kind]
        assert len(rows) > RUNS, kind
        assert LOAD[0] in [row["start_ns"] for row in rows]
        assert LOAD[1] in [row["end_ns"] for row in rows]
        assert {row["attempts"] > 1 for row in rows} == {True, False}
        assert {row["next_success_ns"] is None for row in rows} == {True, False}
        assert {row["next_success_ns"] == row["end_ns"] for row in rows} == {True, False}


def test_what_is_compared_has_all_sorts_of_fates_in_it(answers: Answers) -> None:
    fates = [row for both in answers for row in both.fates]

    for name in ("home", "sent", "ended_ns", "acked_ns", "acked_place", "delivered_ns", "done_ns"):
        assert 3 < sum(row[name] is None for row in fates) < len(fates), name
    for name in FLAGS:
        assert 3 < sum(bool(row[name]) for row in fates) < len(fates), name
    ends = [(row["end_ns"], both.facts["deaths"]) for both in answers for row in both.windows]
    assert any(end_ns in [death["died_ns"] for death in deaths] for end_ns, deaths in ends)


# The smallest, by hand

RUN: Row = {"run_id": "0", "load_start_ns": 0, "load_end_ns": 10 * S, "threshold_ns": 500 * MS}
RUN |= {"tailing": True, "grouped": True, "ends": [{}], "deaths": [], "elections": []}


def succeeded(f: str, *at: tuple[int, int | None]) -> list[Row]:
    """Successes: ms and offset of each."""
    known = {"f": f, "type": "ok", "process": READERS.get(f, f), "partition": 0, "value": 1}
    times = ("intended_ns", "start_ns", "end_ns")
    return [{**known, "offset": offset, **dict.fromkeys(times, ms * MS)} for ms, offset in at]


def fate(offset: int = 0, **told: int) -> Row:
    """Of a record that is there, acked unless it says otherwise; times in ms."""
    ns = {name: at * MS for name, at in told.items() if name.endswith("_ns")}
    known = {"value": offset, "home": 0, "sent": ACKED, "log_start": 0, "first_place": offset}
    return {**known, **told, **ns}


NAMES = ("start_ns", "end_ns", "next_success_ns")
ACKS = succeeded("send", (1000, 0), (3000, 1))
PROCESSED = succeeded("process", (1000, 0), (3000, 5))
LATER, AT_0 = succeeded("process", (999, None), (1000, 2)), succeeded("process", (0, 5))
NO: list[Row] = []
OUT, LATE = fate(sent_ns=1200, ended_ns=3000), fate(sent_ns=2900, ended_ns=3000)
OPEN, NOWHERE = fate(sent_ns=1200), {**OUT, "home": NONE}
TIMES = ((900, 1100), (1000, 1700), (2200, 2300), (2799, 3000))
TRIED = [fate(sent_ns=since, ended_ns=until) for since, until in TIMES]
WAITS, STAYS = fate(1, acked_ns=1200), fate(6, acked_ns=1200)
DONE = fate(1, acked_ns=1200, done_ns=3000, delivered_ns=1300)
AT_ONCE = fate(acked_ns=2000, delivered_ns=2000)
DONE_LATE = fate(1, acked_ns=2900, done_ns=3000)
UP_TO, TO_THE_END = (1200, 3000, 3000, 1), (1200, 10_000, None, 1)
BY_HAND = {
    "a send was outstanding": ("produce", ACKS, [OUT], [UP_TO]),
    "nobody tried": ("produce", ACKS, [LATE], []),
    "a pause": ("produce", ACKS, TRIED, [(1000, 1700, 3000, 2), (2200, 3000, 3000, 2)]),
    "sent nowhere": ("produce", ACKS, [NOWHERE], []),
    "one of two sent nowhere": ("produce", ACKS, [NOWHERE, OUT], [UP_TO]),
    "delivered, but not processed": ("process", PROCESSED, [DONE], [UP_TO]),
    "nothing to do": ("process", PROCESSED, [DONE_LATE], []),
    "passed over at 3 s": ("process", PROCESSED, [WAITS], [UP_TO]),
    "never passed over": ("process", PROCESSED, [STAYS], [UP_TO, (3000, 10_000, None, 1)]),
    "passed over as the load began": ("process", AT_0, [WAITS], []),
    "before the first": ("process", LATER, [WAITS], []),
    "the first": ("process", LATER, [fate(2, acked_ns=200)], [(200, 999, 999, 1)]),
    "no first": ("process", NO, [WAITS], [TO_THE_END]),
    "never delivered": ("consume", NO, [WAITS, AT_ONCE], [TO_THE_END]),
}


def windows_in_ms(folder: Path, kind: str, successes: list[Row], *fates: Row, **run: Any) -> Any:
    """Start, end, next success and attempts of each."""
    files = write(successes, folder, "0")
    return [
        (*(None if row[name] is None else row[name] // MS for name in NAMES), row["attempts"])
        for row in windows_of({**RUN, **run}, files, [fates_of(fates)])
        if row["kind"] == kind
    ]


@pytest.mark.parametrize("name", BY_HAND)
def test_the_smallest_windows(tmp_path: Path, name: str) -> None:
    kind, successes, fates, windows = BY_HAND[name]
    assert windows_in_ms(tmp_path, kind, successes, *fates) == windows


def test_windows_are_as_the_run_says(tmp_path: Path) -> None:
    """A pause below the threshold; the first of two deaths; no reader."""
    deaths = [{"producer": 0, "died_ns": ns} for ns in (5 * S, 6 * S)]
    joined = windows_in_ms(tmp_path, "produce", ACKS, *TRIED, threshold_ns=501 * MS)
    died = windows_in_ms(tmp_path, "produce", [], OPEN, deaths=deaths)

    assert (joined, died) == ([(1000, 3000, 3000, 4)], [(1200, 5000, None, 1)])
    assert windows_in_ms(tmp_path, "consume", [], WAITS, tailing=False) == []


@pytest.mark.parametrize(("threshold_ns", "load_end_ns"), [(0, S), (-1, S), (1, 1 << 40)])
def test_too_many_slices_are_left_to_spark(threshold_ns: int, load_end_ns: int) -> None:
    with pytest.raises(NotPlain):
        Windows({**RUN, "threshold_ns": threshold_ns, "load_end_ns": load_end_ns})


def test_a_record_that_is_there_and_nobody_was_given_waited_to_the_end() -> None:
    had, waits = fate(intended_ns=1000, delivered_ns=1100), fate(intended_ns=2000)
    some = landings_of(RUN, [fates_of([had]), fates_of([waits])])["latency_ms"]

    assert (some[0], some[-1]) == ((100 + 8000) / 2, 8000)
    for nobody in ({"tailing": False, "grouped": False}, {"load_end_ns": 2 * S}):
        assert landings_of({**RUN, **nobody}, [fates_of([waits])])["latency_ms"] is None


def gone(**told: int) -> set[str]:
    """What a record counts as that was acked at 3, and that a complete final read does not have."""
    run = {**RUN, "elections": [{"partition": 0, "log_end": 3, "looked_ns": 2 * S}]}
    absent = {"acked_place": 3, "acked_ns": 1000, "first_place": NONE, "complete": True}
    counted = landings_of(run, [fates_of([fate(**{**absent, **told})])])
    return {name for name, many in counted.items() if many and name != "latency_ms"}


def test_what_is_gone_and_acked_before_an_election_is_lost_past_its_log_end() -> None:
    passed = {"complete": False, "passed": True}

    assert gone() == gone(**passed, one_copy=True) == {"lost_past_log_end"}
    assert gone(log_start=4) == {"acked_below_log_start"}
    for place in (2, 1 << OFFSET_BITS | 3, NONE):
        assert gone(acked_place=place) == set()
    assert gone(acked_ns=2000) == gone(**passed) == set()
