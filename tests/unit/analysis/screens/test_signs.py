"""Each sign by its smallest history, beside a twin that does not have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.anomalies import ANOMALIES
from analysis.frames.signs import Sign
from analysis.screens import reduced
from analysis.screens.log import CannotScreen
from analysis.screens.screened import Screened, screen
from tests.support.oracles.operations import Case
from tests.support.random_histories.cases import facts_of, files_of, note_rows

Row = dict[str, Any]
# Anomalies that are looked for in everything, and why nothing is lost by that.
UNSIGNED = {
    "hanging-transaction": "told by the final read's ends",
    "two-owners": "told by assignments",
    "unowned-partition": "the same",
    "watermark-ahead": "told by samples of replicas",
    "early-read": "each record read is held against samples of replicas",
    "end-back": "told by samples of replicas",
    "watermark-back": "the same",
    "metadata-back": "told by views",
}
_NEXT = {"start": 0}


def row(f: str, value: int | None, at: int | None = None, **more: Any) -> Row:
    """An operation; each begins 10 ms after the last, unless it says when."""
    _NEXT["start"] += 10
    start = more.pop("start", _NEXT["start"])
    known = {"f": f, "type": "ok", "value": value, "partition": 0, "offset": at, "error": None}
    process = {"send": "one", "final-read": "final"}.get(f, "reader")
    ended = {"start": start, "end": start + 5, "process": process, "instance": 0}
    nothing = dict.fromkeys(("broker", "epoch", "transaction", "generation"))
    return {**known, **ended, **nothing, **more}


def send(value: int, at: int | None = None, **more: Any) -> Row:
    kind = "ok" if at is not None else "info"
    return row("send", value, at, **{"type": kind, **more})


def read(value: int | None, at: int, **more: Any) -> Row:
    return row("read", value, at, **more)


def final(*values: int | None, first: int = 0, partition: int = 0) -> list[Row]:
    there = enumerate(values, start=first)
    return [row("final-read", each, at, partition=partition) for at, each in there]


def screened(folder: Path, *rows: Row, notes: list[Row] | None = None, **more: Any) -> Screened:
    _NEXT["start"] = 0
    there = [each["offset"] for each in rows if each["f"] == "final-read"]
    end = {"complete": True, "log_start": 0, "position": max(there, default=-1) + 1}
    facts = {"dense": False, "ends": [end], **more}
    case = Case(rows=list(rows), notes=notes or [], **facts)
    known: Any = facts_of(case, 0)
    known["ends"] = [{"committed_end": None, "uncommitted_end": None, **e} for e in facts["ends"]]
    known["transactional"] = notes is not None
    told = [(n["process"], n["transaction"], n["name"], n["time_ns"]) for n in note_rows([case])]
    return screen(files_of(case, 0, folder), known, len(rows), notes=told if notes else None)


def note(name: str, time: int, transaction: int = 0) -> Row:
    return {
        "process": "one",
        "event": "transaction",
        "name": name,
        "transaction": transaction,
        "time": time,
    }


IN_ONE = {"transaction": 0}
TOLD = [note("begun", 1), note("commit-asked", 500)]
GROUP = {"process": "member"}
PAIRS: dict[Sign, tuple[list[Row], list[Row]]] = {
    Sign.MISSED: ([send(1, 0), send(2, 1), *final(1)], [send(1, 0), send(2, 1), *final(1, 2)]),
    Sign.UNCLAIMED: ([send(1, 0), *final(1, 1)], [send(1, 0), send(2), *final(1, 2)]),
    Sign.STRAY: ([send(1, 0), send(2), read(2, 1), *final(1)], [send(1, 0), read(1, 0), *final(1)]),
    Sign.CONTESTED: (
        [send(1), send(2), read(1, 3), read(2, 3), *final()],
        [send(1), send(2), read(1, 3), read(2, 4), *final()],
    ),
    Sign.GARBLED: ([send(1, 0), read(None, 0), *final(1)], [send(1, 0), read(1, 0), *final(1)]),
    Sign.NOT_FOUND: (
        [send(1, 0), row("lookup", 1, None, type="fail"), *final(1)],
        [send(1, 0), row("lookup", 1, 0), *final(1)],
    ),
    Sign.UNASKED: (
        [send(1, error="_NO_ACK"), *final()],
        [send(1, error="_NO_ACK"), *final(1)],
    ),
    Sign.OVERTAKEN: (
        [send(1, 1), send(2, 0), *final(2, 1)],
        [send(1, 0), send(2, 1), *final(1, 2)],
    ),
    Sign.OUT_OF_TIME: (
        [send(1, 1, start=10), send(2, 0, start=20, process="two"), *final(2, 1)],
        [send(1, 1, start=10), send(2, 0, start=12, process="two"), *final(2, 1)],
    ),
    Sign.SKIP: (
        [send(1, 0), send(2, 1), send(3, 2), read(1, 0), read(3, 2), *final(1, 2, 3)],
        [send(1, 0), send(3, 2), read(1, 0), read(3, 2), *final(1), *final(3, first=2)],
    ),
    Sign.BACK: (
        [send(1, 0), send(2, 1), read(2, 1), read(1, 0), *final(1, 2)],
        [send(1, 0), send(2, 1), read(1, 0), read(2, 1), *final(1, 2)],
    ),
    Sign.OLDER: (
        [send(1, 0), send(2, 1), read(1, 0, epoch=3), read(2, 1, epoch=2), *final(1, 2)],
        [send(1, 0), send(2, 1), read(1, 0, epoch=2), read(2, 1, epoch=3), *final(1, 2)],
    ),
    Sign.PASSED: (
        [
            *(send(1, 0), send(2, 1), row("poll", 1, 0, **GROUP), row("poll", 2, 1, **GROUP)),
            *(row("process", 1, 0, **GROUP), row("commit", None, 2, **GROUP), *final(1, 2)),
        ],
        [
            *(send(1, 0), send(2, 1), row("poll", 1, 0, **GROUP), row("poll", 2, 1, **GROUP)),
            *(row("process", 1, 0, **GROUP), row("commit", None, 1, **GROUP), *final(1, 2)),
        ],
    ),
    Sign.AGAIN: (
        [send(1, 0), row("process", 1, 0), row("process", 1, 0), *final(1)],
        [send(1, 0), row("process", 1, 0), row("process", 1, 0, type="fail"), *final(1)],
    ),
    Sign.LOWER: (
        [row("commit", None, 5), row("committed", None, 3), *final()],
        [row("commit", None, 5), row("committed", None, 5), *final()],
    ),
}


@pytest.mark.parametrize("sign", PAIRS, ids=lambda sign: sign.name)
def test_it_is_seen_and_its_twin_does_not_have_it(sign: Sign, tmp_path: Path) -> None:
    with_it, twin = PAIRS[sign]
    (tmp_path / "twin").mkdir()

    assert sign in screened(tmp_path, *with_it).signs
    assert sign not in screened(tmp_path / "twin", *twin).signs


@pytest.mark.parametrize("polls", [(), (row("poll", 2, 1, **GROUP), row("process", 2, 1, **GROUP))])
def test_what_a_group_that_began_at_the_log_s_start_passed_at_once(
    polls: tuple[Row, ...], tmp_path: Path
) -> None:
    rows = [send(1, 0), send(2, 1), *polls, row("commit", None, 2, **GROUP), *final(1, 2)]

    assert Sign.PASSED in screened(tmp_path, *rows, from_start=True).signs
    assert Sign.PASSED not in screened(tmp_path, *rows).signs


@pytest.mark.parametrize(("position", "seen"), [(0, True), (1, False)])
def test_what_a_reader_passed_from_where_it_was_put(
    position: int, seen: bool, tmp_path: Path
) -> None:
    put = {"process": "reader", "partition": 0, "time": 1, "late": 0, "position": position}
    rows = [send(1, 0), send(2, 1), read(2, 1), *final(1, 2)]

    assert (Sign.SKIP in screened(tmp_path, *rows, moves=[put]).signs) is seen


def ends(*positions: int) -> list[Row]:
    """Of complete final reads of partitions that begin at 0."""
    return [{"complete": True, "log_start": 0, "position": each} for each in positions]


@pytest.mark.parametrize(("committed", "seen"), [(4, True), (2, False)])
def test_what_a_group_passed_in_a_partition_behind_others_that_it_entered_late(
    committed: int, seen: bool, tmp_path: Path
) -> None:
    """It began at offset 1 of partition 1, and passed offset 2 if it committed beyond it."""
    mine = {**GROUP, "partition": 1}
    rows = [
        *(send(10 + n, n) for n in range(3)),
        *(send(20 + n, n, partition=1) for n in range(4)),
        *(row("poll", 20 + n, n, **mine) for n in (1, 3)),
        *(row("process", 20 + n, n, **mine) for n in (1, 3)),
        row("commit", None, committed, **mine),
        *final(10, 11, 12),
        *final(20, 21, 22, 23, partition=1),
    ]

    assert (Sign.PASSED in screened(tmp_path, *rows, ends=ends(3, 4)).signs) is seen


@pytest.mark.parametrize(("home", "seen"), [(1, True), (2, False)])
def test_what_landed_in_another_partition_than_it_was_sent_to_is_unclaimed(
    home: int, seen: bool, tmp_path: Path
) -> None:
    rows = [
        *(send(each, 0, partition=each) for each in (0, 1)),
        send(9, partition=home),  # in doubt
        *final(0),
        *final(1, partition=1),
        *final(9, partition=2),
    ]

    assert (Sign.UNCLAIMED in screened(tmp_path, *rows, ends=ends(1, 1, 1)).signs) is seen


def test_a_hole_of_a_dense_log(tmp_path: Path) -> None:
    log = [send(1, 0), send(3, 2), *final(1), *final(3, first=2)]

    assert Sign.HOLE in screened(tmp_path, *log, dense=True).signs
    assert Sign.HOLE not in screened(tmp_path, *log).signs


def test_holes_before_a_record_and_at_the_end(tmp_path: Path) -> None:
    end = {"complete": True, "log_start": 1, "position": 5}
    log = [*final(1, first=1), *final(3, first=3), *final(9, first=8)]
    told = screened(tmp_path, *log, dense=True, ends=[end])

    holes = [(row["kept_offset"], row["next_offset"], row["offset"]) for row in told.steps]
    assert sorted(holes) == [(1, 2, 3), (3, 4, 5), (3, 4, 8)]


@pytest.mark.parametrize(("start", "seen"), [(100, True), (600, False)])
def test_a_record_that_is_read_before_its_commit_is_asked(
    start: int, seen: bool, tmp_path: Path
) -> None:
    rows = [send(1, 0, **IN_ONE), read(1, 0, start=start), *final(1)]

    assert (Sign.EARLY in screened(tmp_path, *rows, notes=TOLD).signs) is seen


@pytest.mark.parametrize(("found", "torn"), [((1,), True), ((1, 2), False), ((), False)])
def test_a_transaction_in_part(found: tuple[int, ...], torn: bool, tmp_path: Path) -> None:
    rows = [send(1, **IN_ONE), send(2, **IN_ONE), *final(*found)]
    told = screened(tmp_path, *rows, notes=TOLD)

    assert (Sign.TORN in told.signs) is torn
    if torn:  # Spark is given the one that is there, too
        assert set(told.suspects["value"].to_pylist()) == {1, 2}


def test_of_a_plain_history_spark_is_given_nothing(tmp_path: Path) -> None:
    rows = [send(1, 0), send(2, 1), send(3), read(1, 0), read(2, 1), read(3, 2), *final(1, 2, 3)]
    told = screened(tmp_path, *rows)

    assert (told.signs, told.suspects.num_rows, list(told.steps)) == (frozenset(), 0, [])


def test_a_suspect_brings_all_of_its_operations_and_of_who_is_at_its_places(tmp_path: Path) -> None:
    rows = [send(1, 0), send(2, 0), send(3, 1), read(1, 0), read(2, 0), read(3, 1), *final(2, 3)]
    told = screened(tmp_path, *rows)

    assert sorted(told.suspects["value"].to_pylist()) == [1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    "rows",
    [
        [*final(1), {**final(2)[0], "process": "another"}],
        [*final(1), row("final-read", 1, 10**12)],
    ],
)
def test_a_history_that_has_no_log_is_not_screened(rows: list[Row], tmp_path: Path) -> None:
    """Two final reads disagree; offsets are far sparser than operations."""
    with pytest.raises(CannotScreen):
        screened(tmp_path, *rows)


def test_nor_is_one_with_too_many_suspects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduced, "MOST", 1)

    screened(tmp_path, send(1, 0), *final())
    with pytest.raises(CannotScreen):
        screened(tmp_path, send(1, 0), send(2, 1), *final())


def test_every_anomaly_has_signs_or_a_reason() -> None:
    assert {each.name for each in ANOMALIES if each.signs is None} == UNSIGNED.keys()
