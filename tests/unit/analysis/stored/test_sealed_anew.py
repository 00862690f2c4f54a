"""What a history lacks although all its digests are right: it is named, and its twin lacks nothing.

Each history is recorded by the recorder itself, so that its promises are those that are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.stored.stored_run import open_run
from tests.support.spoiled.sealed_anew import (
    MEMBER,
    READER,
    SENDER,
    edited,
    recorded_run,
    sealed_anew,
)

Row = dict[str, Any]
EVENTS = "history/events.parquet"
TORN = {"run_id": "told/run", "kind": "torn", "count": 1, "text": ""}


def told(run: Path) -> list[str]:
    """What is damaged, in the words of a reason."""
    return [f"{damage.file}: {damage.why}" for damage in open_run(run).damage]


def without(number: int, f: str | None = None) -> Callable[[list[Row]], Sequence[Row]]:
    """One row less: the n-th, of that kind."""

    def change(rows: list[Row]) -> Sequence[Row]:
        of_kind = [row for row in rows if f in (None, row["f"])]
        return [row for row in rows if row is not of_kind[number]]

    return change


def without_events(process: str, **of: Any) -> Callable[[list[Row]], Sequence[Row]]:
    """Events less: the worker's that are like that."""

    def has(row: Row) -> bool:
        return row["process"] == process and all(row[key] == value for key, value in of.items())

    return lambda rows: [row for row in rows if not has(row)]


def changed(**to: Any) -> Callable[[list[Row]], Sequence[Row]]:
    """The first row with other values."""
    return lambda rows: [{**rows[0], **to}, *rows[1:]]


@pytest.mark.parametrize("killed", [False, True])
def test_what_was_recorded_lacks_nothing(tmp_path: Path, killed: bool) -> None:
    """A worker that was killed lacks the end of its last transaction, and its own."""
    run = recorded_run(tmp_path / "run", killed=killed)

    assert told(run) == []
    assert told(sealed_anew(run)) == []


@pytest.mark.parametrize("f", ["poll", "process", "send"])
def test_a_row_less_in_the_middle_is_damage(tmp_path: Path, f: str) -> None:
    run = edited(recorded_run(tmp_path / "run", killed=True), f"operations/{MEMBER}", without(0, f))

    assert told(run) == [
        f"history/operations/{MEMBER}.parquet: it lacks 1 of the operations that its worker "
        "numbered from 0 to 5"
    ]


def test_a_slot_that_sealing_dropped_is_not_missing(tmp_path: Path) -> None:
    """The twin: a finding says so; but not of two rows less, nor of another worker's."""
    table = f"operations/{MEMBER}"
    run = edited(recorded_run(tmp_path / "run", killed=True), table, without(0, "poll"))

    edited(run, "findings", lambda rows: [*rows, {**TORN, "process": MEMBER}])
    assert told(run) == []
    assert "it lacks 1 of the operations" in told(edited(run, table, without(0, "send")))[0]
    edited(run, "findings", lambda rows: [*rows[:-1], {**TORN, "process": SENDER}])
    assert "it lacks 2 of the operations" in told(run)[0]


def test_of_a_cut_segment_nobody_knows_how_much_is_missing(tmp_path: Path) -> None:
    """The twin; the finding is damage itself."""
    run = edited(recorded_run(tmp_path / "run"), f"operations/{READER}", without(1))
    cut = {**TORN, "process": READER, "kind": "truncated-segment"}
    edited(run, "findings", lambda rows: [*rows, cut])

    assert told(run) == []


def test_a_send_less_shows_in_its_values_too(tmp_path: Path) -> None:
    """Whoever numbers the operations anew cannot number what was sent anew."""
    run = recorded_run(tmp_path / "run", killed=True)

    def renumbered(rows: list[Row]) -> Sequence[Row]:
        return [{**row, "id": number} for number, row in enumerate(without(1)(rows))]

    edited(run, f"operations/{SENDER}", renumbered)
    assert (
        f"history/operations/{SENDER}.parquet: its sends are not of one value after the other"
        in (told(run))
    )


@pytest.mark.parametrize("f", ["process", "send"])
def test_a_row_less_at_the_end_is_damage_where_the_worker_ended(tmp_path: Path, f: str) -> None:
    """Its `end` counts all operations, of whatever kind."""
    run = edited(recorded_run(tmp_path / "run"), f"operations/{MEMBER}", without(-1, f))

    assert len(told(run)) == 1


def test_at_the_end_of_a_killed_worker_nobody_can_tell(tmp_path: Path) -> None:
    """The twin: it might have been killed a moment earlier."""
    run = edited(recorded_run(tmp_path / "run", killed=True), f"operations/{MEMBER}", without(-1))

    assert told(run) == []


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ({"event": "transaction"}, "the begin of transaction 0 is missing"),
        ({"event": "transaction", "name": "begun"}, "the begin of transaction 0 is missing"),
        ({"event": "transaction", "transaction": 1}, "the begin of transaction 1 is missing"),
        ({"name": "committed", "transaction": 0}, "the end of transaction 0 is missing"),
        (
            {"name": "commit-asked", "transaction": 0},
            "what was asked for at the end of transaction 0 is missing",
        ),
        ({"event": "assigned"}, "the `assigned` of partition 0 is missing"),
        ({"event": "member"}, "the `member` of generation 3 is missing"),
    ],
)
def test_an_event_less_is_damage_where_operations_follow_from_it(
    tmp_path: Path, gone: Row, words: str, killed: bool
) -> None:
    run = edited(
        recorded_run(tmp_path / "run", killed=killed), "events", without_events(MEMBER, **gone)
    )

    assert f"{EVENTS}: of {MEMBER} {words}" in told(run)
    assert open_run(run).events == ()


def test_who_is_given_twice_what_was_not_taken_away_lacks_an_event(tmp_path: Path) -> None:
    """Without the `revoked` two members would seem to have owned a partition."""

    def again(rows: list[Row]) -> Sequence[Row]:
        at = next(n for n, row in enumerate(rows) if row["event"] == "assigned")
        taken = {**rows[at], "event": "revoked", "text": "", "time_ns": rows[at]["time_ns"] + 1}
        given = {**rows[at], "time_ns": rows[at]["time_ns"] + 2}
        return [*rows[: at + 1], taken, given, *rows[at + 1 :]]

    run = edited(recorded_run(tmp_path / "run", killed=True), "events", again)
    assert told(run) == []
    edited(run, "events", without_events(MEMBER, event="revoked"))
    assert told(run) == [f"{EVENTS}: of {MEMBER} a `revoked` of partition 0 is missing"]


def test_an_end_that_is_missing_is_damage_unless_sealing_missed_it(tmp_path: Path) -> None:
    run = edited(recorded_run(tmp_path / "run"), "events", without_events(SENDER, event="end"))
    assert told(run) == [f"{EVENTS}: of {SENDER} the end is missing"]

    edited(run, "findings", lambda rows: [*rows, {**TORN, "kind": "no-end", "process": SENDER}])
    assert told(run) == []


def test_any_event_less_is_damage_where_the_worker_ended(tmp_path: Path) -> None:
    run = edited(recorded_run(tmp_path / "run"), "events", without_events(SENDER, event="client"))

    assert told(run) == [f"{EVENTS}: of {SENDER} there are 1 events, and its end counts 2"]


def test_a_foreign_payload_that_no_event_shows_is_damage(tmp_path: Path) -> None:
    """The twin of the one that is shown; so whoever takes out values is found."""
    table = f"operations/{READER}"
    run = edited(recorded_run(tmp_path / "run"), table, changed(value=None))

    assert told(run) == [f"{EVENTS}: of {READER} not every record without value is shown"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instance": None}, "it is of no format: it has some of what format 2 has, and not all"),
        (
            {"type": "fail"},
            "it holds what no worker records: a send that is not ok, with an offset",
        ),
    ],
)
def test_a_cell_that_nobody_records_is_damage(tmp_path: Path, changes: Row, words: str) -> None:
    run = edited(recorded_run(tmp_path / "run"), f"operations/{SENDER}", changed(**changes))

    assert told(run) == [f"history/operations/{SENDER}.parquet: {words}"]


NEW = ("instance", "transaction", "generation", "epoch")


def of_format_1(rows: list[Row]) -> Sequence[Row]:
    return [{**row, **dict.fromkeys(NEW)} for row in rows]


def test_a_history_of_two_formats_is_damage(tmp_path: Path) -> None:
    """What format 1 lacks is not judged: nobody gets there by taking it out of one table."""
    run = edited(recorded_run(tmp_path / "run"), f"operations/{READER}", of_format_1)

    assert told(run) == [
        "history/operations: some of its tables are of format 1, and some of format 2"
    ]


def test_a_history_of_format_1_whose_workers_tell_of_clients_is_damage(tmp_path: Path) -> None:
    """Nor of all; the twins are the recorded runs of format 1."""
    run = recorded_run(tmp_path / "run")
    for process in (MEMBER, READER, SENDER):
        edited(run, f"operations/{process}", of_format_1)

    assert f"{EVENTS}: of {SENDER} clients are told, and its operations know none" in told(run)


def test_a_table_without_statistics_is_damage(tmp_path: Path) -> None:
    """Times and formats are taken from them; sealing writes them, of every column."""
    run = recorded_run(tmp_path / "run")
    file = run / f"history/operations/{SENDER}.parquet"
    pq.write_table(pq.read_table(file), file, write_statistics=["id"])

    assert told(sealed_anew(run)) == [
        f"history/operations/{SENDER}.parquet: its footer does not sum its columns up, as sealing "
        "does"
    ]


def test_a_table_without_rows_needs_none(tmp_path: Path) -> None:
    """The twin: of nothing there is nothing to sum up."""
    run = edited(recorded_run(tmp_path / "run", killed=True), f"operations/{MEMBER}", lambda _: [])

    assert all("sum its columns" not in why for why in told(run))
