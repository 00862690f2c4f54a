"""What a screen says is empty has nothing in it: by the oracle, and each thing that it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import screens
from analysis.checks.order import in_order_of_place
from analysis.frames.steps import by_step
from analysis.stored.stored_run import open_run
from harness.history import tables
from tests.support import told_runs
from tests.support.histories import final_read, sent, story
from tests.support.oracle import Case, oracle
from tests.support.random_histories.any_rows import chaos
from tests.support.random_histories.drawing import drawn
from tests.support.random_histories.plants import planted

SECOND = 10**9
PLAIN: dict[screens.Screen, set[str]] = {
    screens.steps_are_plain: {"poll-skip", "poll-back", "epoch-back", "hole"},
    screens.order_is_plain: {"reordered", "real-time-violation"},
    screens.answers_are_plain: {"commit-back"},
}
END = {"partition": 0, "log_start": 0, "complete": True, "position": 2}

Row = dict[str, Any]


def table(rows: Iterable[Row]) -> pa.Table:
    """Operations as a screen is given them; `id` and times by their order unless a row has them."""
    told = [
        {
            "type": "ok",
            "id": number,
            "partition": 0,
            "start_ns": number * SECOND,
            "end_ns": number * SECOND + 1,
            **row,
        }
        for number, row in enumerate(rows)
    ]
    names = [*screens.COLUMNS, *screens.TIMES, "process"]
    known = tables.schema(tables.OPERATION_COLUMNS)
    fields = [known.field(name) for name in names[:-1]] + [pa.field("process", pa.int64())]
    processes = sorted({row["process"] for row in told})
    for row in told:
        row["process"] = processes.index(row["process"])
    return pa.Table.from_pylist(
        [{name: row.get(name) for name in names} for row in told], schema=pa.schema(fields)
    )


def send(value: int, offset: int, **more: Any) -> Row:
    return {"f": "send", "process": "producer-0", "value": value, "offset": offset, **more}


def read(value: int, offset: int, f: str = "read", **more: Any) -> Row:
    said = {"f": f, "process": f"{f}-0", "value": value, "offset": offset, "instance": 0}
    return {**said, "epoch": 3, **more}


def both(*values: int) -> list[Row]:
    """The sends of 1 and 2, a consumer's reads and the final read."""
    sends = [send(1, 0), send(2, 1)]
    finals = [read(value, offset, "final-read") for offset, value in enumerate(values)]
    return [*sends, read(1, 0), read(2, 1), *finals]


def told_case(case: Case) -> tuple[pa.Table, list[Row]]:
    rows = [
        {**row, "id": n, "start_ns": row["start"], "end_ns": row["end"]}
        for n, row in enumerate(case.rows)
    ]
    return table(rows), [{**end, "partition": n} for n, end in enumerate(case.ends)]


@pytest.mark.parametrize("screen", PLAIN)
@pytest.mark.parametrize("histories", [chaos, planted])
def test_what_is_proven_empty_is_empty(
    screen: screens.Screen, histories: Callable[[], Any]
) -> None:
    cases = drawn(histories())
    plain = [case for case in cases if screen(*told_case(case))]
    for case in plain:
        assert not PLAIN[screen] & {name for name, found in oracle(case).items() if +found}
    if histories is planted:
        assert len(plain) > len(cases) / 20


def test_a_plain_history_is_plain() -> None:
    told = table(both(1, 2))
    assert all(screen(told, [END]) for screen in PLAIN)


@pytest.mark.parametrize(
    "rows",
    [
        [read(1, 0), read(2, 2)],
        [read(2, 1), read(1, 0)],
        [read(1, 0), read(1, 0)],
        [read(1, 0), read(3, 1)],
        [read(1, 0), read(2, 1, epoch=2)],
        [read(1, 0, partition=None)],
        [read(2, 1), read(1, 0, f="poll", process="read-0")],
    ],
)
def test_a_step_that_is_odd_is_not_plain(rows: list[Row]) -> None:
    log = [read(1, 0, "final-read"), read(2, 1, "final-read")]
    assert not screens.steps_are_plain(table([*rows, *log]), [END])


@pytest.mark.parametrize(
    "rows",
    [
        [read(1, 0), read(2, 1, process="another")],
        [read(1, 0), read(2, 1), read(1, 0, instance=1)],
        [read(1, 0), read(2, 1, "poll"), read(0, 0, partition=1)],
        [read(1, 0, epoch=None), read(2, 1, epoch=None)],
        [read(1, 0), read(5, 1, type="fail")],
    ],
)
def test_what_others_read_is_no_step(rows: list[Row]) -> None:
    log = [read(1, 0, "final-read"), read(2, 1, "final-read")]
    assert screens.steps_are_plain(table([*rows, *log]), [END])


@pytest.mark.parametrize(
    ("offsets", "end"),
    [
        ((0, 2), {**END, "position": 3}),
        ((0, 1), {**END, "position": 3}),
        ((1, 2), {**END, "position": 3}),
        ((), END),
        ((0, 1), {**END, "log_start": 1}),
        ((0, 0), END),
        ((0, 2), {**END, "log_start": 1, "position": 3}),
    ],
)
def test_a_log_with_a_hole_is_not_plain(offsets: tuple[int, ...], end: Row) -> None:
    finals = [
        read(9, offset, "final-read", process=f"final-read-{n}") for n, offset in enumerate(offsets)
    ]
    assert not screens.steps_are_plain(table(finals), [end])


@pytest.mark.parametrize(
    ("offsets", "end"),
    [
        ((4, 5), {**END, "log_start": 4, "position": 6}),
        ((0, 1), {**END, "complete": False, "position": None}),
        ((), {**END, "complete": False, "position": None}),
        ((), {**END, "position": 0, "log_start": None}),
    ],
)
def test_a_log_from_its_start_to_its_end_is_plain(offsets: tuple[int, ...], end: Row) -> None:
    finals = [read(9 + offset, offset, "final-read") for offset in offsets]
    assert screens.steps_are_plain(table(finals), [end])


def test_a_partition_that_nobody_knows_is_not_plain() -> None:
    log = [*both(1, 2), read(1, 0, "final-read", partition=1)]
    assert not screens.steps_are_plain(table(log), [END])


@pytest.mark.parametrize(
    "rows",
    [
        both(2, 1),
        [*both(1, 2), send(2, 5)],
        [*both(1, 2), read(1, 1, "final-read")],
        [*both(1, 2), read(1, 7, "final-read")],
        [*both(1 << 40, 1), send(1 << 40, 3, start_ns=SECOND * 90)],
        [*both(1, 2), {**send(3, 3), "value": None}],
    ],
)
def test_what_is_out_of_order_is_not_plain(rows: list[Row]) -> None:
    assert not screens.order_is_plain(table(rows), [END])


@pytest.mark.parametrize(
    "rows",
    [
        [*both(1, 2), send(0, 5, type="info"), read(0, 2, "final-read")],
        [*both(1, 2), send(3, 3, start_ns=0), read(3, 2, "final-read")],
        [*both(1, 2), read(99, 2, "final-read")],
        [
            send(1, 0),
            send(0, 0, partition=1, end_ns=9 * SECOND),
            read(1, 0, "final-read"),
            read(0, 0, "final-read", partition=1),
        ],
        [],
    ],
)
def test_what_is_in_order_is_plain(rows: list[Row]) -> None:
    assert screens.order_is_plain(table(rows), [END])


@pytest.mark.parametrize("names", [tables.OPERATION_COLUMNS, tables.OPERATION_COLUMNS[:-4]])
def test_a_run_of_either_format_is_read_from_its_files(tmp_path: Path, names: Any) -> None:
    """Format 1 has no instances and no epochs: what is not there is null."""
    folder = told_runs.write(story(sent(1, at=0), final_read(1)), tmp_path, "told/1")
    for file in (folder / "history" / "operations").iterdir():
        whole = pq.read_table(file)
        pq.write_table(whole.select([name for name, _ in names]), file)
    assert screens.proven_empty([open_run(folder)]) == set(screens.SCREENS)


def test_a_run_whose_reads_have_a_hole_is_left_to_the_checks(tmp_path: Path) -> None:
    parts = (sent(1, at=0), sent(2, at=2), final_read({0: 1, 2: 2}))
    folder = told_runs.write(story(*parts), tmp_path, "told/1")
    proven = screens.proven_empty([open_run(folder)])
    assert in_order_of_place in proven
    assert by_step not in proven


def test_a_large_run_is_left_to_the_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = told_runs.write(story(sent(1, at=0), final_read(1)), tmp_path, "told/1")
    monkeypatch.setattr(screens, "MOST", 1)
    assert screens.proven_empty([open_run(folder)]) == set()


def test_a_table_that_cannot_be_read_is_left_to_the_checks(tmp_path: Path) -> None:
    folder = told_runs.write(story(sent(1, at=0), final_read(1)), tmp_path, "told/1")
    run = open_run(folder)
    run.tables[0].write_bytes(b"PAR1")
    assert screens.proven_empty([run]) == set()


def test_a_real_time_violation_of_two_producers_is_not_plain() -> None:
    """The second was sent after the first was acked, and lies before it."""
    rows = [
        send(1, 1),
        send(1 << 40, 0, process="producer-1"),
        read(1 << 40, 0, "final-read"),
        read(1, 1, "final-read"),
    ]
    assert not screens.order_is_plain(table(rows), [END])
    together = [send(1, 1, end_ns=5 * SECOND), *rows[1:]]
    assert screens.order_is_plain(table(together), [END])
