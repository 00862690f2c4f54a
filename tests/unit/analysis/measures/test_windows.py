"""Unavailability windows and landings: the smallest histories, by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.frames.operations import ACKED, OFFSET_BITS, UNKNOWN
from analysis.measures.consumer_lag import Reached
from analysis.measures.fates import Fates
from analysis.measures.latency_and_rates import Landings, Redeliveries
from analysis.measures.windows import Windows
from analysis.stored.batches import NONE, batches
from tests.support import story_runs

S, MS = 10**9, 10**6
FLAGS = ("complete", "passed", "one_copy", "taken")
READERS = {"read": "consumer", "poll": "member", "lookup": "seeker", "process": "member"}

Row = dict[str, Any]
RUN: Row = {"run_id": "0", "load_start_ns": 0, "load_end_ns": 10 * S, "threshold_ns": 500 * MS}
RUN |= {"tailing": True, "grouped": True, "ends": [{}], "deaths": [], "elections": []}
RUN |= {"from_start": True, "passed_over": [], "superseded": [], "in_use": False}


def fates_of(rows: Sequence[Mapping[str, Any]]) -> Fates:
    """Rows as columns; what a row does not tell is null."""
    told: Row = {}
    for name in (field.name for field in fields(Fates)):
        nothing, kind = (False, np.bool_) if name in FLAGS else (NONE, np.int64)
        column = [row.get(name) for row in rows]
        told[name] = np.array([nothing if each is None else each for each in column], dtype=kind)
        told[name].setflags(write=False)
    return Fates(**told)


def windows_of(run: Any, files: Iterable[Path], partitions: Iterable[Fates]) -> list[Any]:
    windows = Windows(run)
    for file in files:
        for batch in batches(file):
            windows.see(batch)
    return list(windows.rows(partitions))


def landings_of(run: Any, chunks: Iterable[Fates]) -> Row:
    landings = Landings(run, Reached(run).past)
    for chunk in chunks:
        landings.see(chunk)
    return landings.row()


def write(rows: Iterable[Row], folder: Path, run_id: str) -> list[Path]:
    """A file for each process."""
    mine: dict[str, list[Row]] = defaultdict(list)
    for number, row in enumerate(rows):
        mine[row["process"]].append({**row, "run_id": run_id, "id": number})
    files = {process: folder / f"{run_id}-{process}.parquet" for process in mine}
    for process, file in files.items():
        story_runs.write_rows(file, mine[process])
    return list(files.values())


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


def test_offsets_far_apart_are_counted_as_any_other(tmp_path: Path) -> None:
    """A log may begin anywhere: an array up to there would not fit into memory."""
    far = 1 << 45
    given = [(ms, offset) for ms, offset in enumerate((far, far + 1, far, 5, 5, 5))]
    (file,) = write(succeeded("read", *given), tmp_path, "0")
    redeliveries = Redeliveries(len(given))
    for batch in batches(file):
        redeliveries.see(batch)

    assert redeliveries.row() == {"redeliveries": 3}


def test_a_send_in_doubt_below_the_first_ack_is_known_only_in_a_topic_that_was_new() -> None:
    """Whatever part of the values comes first."""
    acks = [fate(offset, acked_place=offset, acked_ns=5) for offset in (7, 4)]
    doubt = [fate(offset, sent=UNKNOWN) for offset in (2, 3, 5)]
    other = [fate(2, sent=UNKNOWN, home=1, first_place=(1 << OFFSET_BITS) + 2)]  # no ack is there
    parts = [fates_of(rows) for rows in (doubt, acks, other)]

    for chunks in (parts, parts[::-1]):
        for in_use, landed in ((True, 2), (False, 4)):
            row = landings_of({**RUN, "in_use": in_use}, chunks)
            assert (row["indeterminate_landed"], row["undelivered"]) == (landed, 0)
