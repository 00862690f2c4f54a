"""A ledger keeps every line; which runs count is told by lines, never by taking one out."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.model.runs.disk import DiskError
from harness.model.runs.ledger import ENDED, STARTED, SUPERSEDED, Ledger, LedgerError, read


def line(event: str | None, seed: int = 1, at: str = "2026-11-24T10:00:00", **more: Any) -> Any:
    told = {} if event is None else {"event": event}
    return {**told, "cell": "c", "backend": "local", "seed": seed, "started_utc": at, **more}


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_runs_count_unless_they_were_interrupted_superseded_or_had_no_cluster(
    tmp_path: Path,
) -> None:
    lines = [
        line(None, 1),  # from before
        *(line(STARTED, seed) for seed in (2, 3, 4, 5)),
        line(ENDED, 2, exit=0),
        line(ENDED, 3, exit=255, began=False),
        line(ENDED, 5, exit=1),
        line(SUPERSEDED, 5, reason="made again with another topic"),
    ]
    told = read(written(tmp_path / "l.jsonl", *lines))

    def seeds(of: Any) -> list[int]:
        return [each["seed"] for each in of]

    assert seeds(told.standing) == [1, 2]
    assert seeds(told.superseded) == [5]
    assert seeds(told.interrupted) == [4]
    assert seeds(told.without_cluster) == [3]
    assert list(told.reasons.values()) == ["made again with another topic"]


def test_the_same_cell_and_seed_made_again_counts(tmp_path: Path) -> None:
    first, second = "2026-11-24T10:00:00", "2026-11-24T11:00:00"
    lines = [
        line(None, at=first),
        line(SUPERSEDED, at=first, reason="the scenario changed"),
        line(STARTED, at=second),
        line(ENDED, at=second),
    ]

    [one] = read(written(tmp_path / "l.jsonl", *lines)).standing
    assert one["started_utc"] == second


def test_what_a_killed_writer_left_is_passed_over_and_goes_with_the_next_line(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "l.jsonl", line(STARTED))
    with path.open("a") as file:
        file.write('{"event": "ended", "cel')

    assert len(read(path).all) == 1
    with Ledger.opened(path) as ledger:
        ledger.add(line(ENDED, exit=0))

    assert [each["event"] for each in read(path).all] == [STARTED, ENDED]


def test_nobody_else_writes_it_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "data" / "l.jsonl"
    with Ledger.opened(path) as ledger:
        ledger.add(line(STARTED))
        with pytest.raises(LedgerError, match="another campaign writes it"), Ledger.opened(path):
            pass
    with Ledger.opened(path) as ledger:
        assert len(ledger.read().all) == 1


def test_one_to_which_nothing_was_added_is_not_left(tmp_path: Path) -> None:
    with Ledger.opened(tmp_path / "l.jsonl") as ledger:
        assert ledger.read().all == []

    assert list(tmp_path.iterdir()) == []


def test_where_there_is_none_nothing_ran(tmp_path: Path) -> None:
    assert read(tmp_path / "l.jsonl").all == []


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["hello"], "line 1: not a line of a ledger"),
        (["[1]"], "line 1: no cell"),
        ([json.dumps({"verb": "kill", "seed": 1})], "line 1: no cell"),
        ([json.dumps({"cell": "c"})], "line 1: seed"),
        ([json.dumps(line("paused"))], "line 1: event: 'paused'"),
        ([json.dumps(line(None)), json.dumps(line(SUPERSEDED))], "line 2: reason"),
        ([json.dumps(line(SUPERSEDED, reason="x"))], "line 1: c on local, seed 1"),
        ([json.dumps(line(ENDED))] * 2, "line 2: c on local, seed 1"),
        ([json.dumps(line(None)), "\x00\x00"], "line 2: not a line of a ledger"),
    ],
)
def test_a_line_that_cannot_be_is_named(tmp_path: Path, lines: list[str], why: str) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text("".join(each + "\n" for each in lines))

    with pytest.raises(LedgerError, match=r"l\.jsonl") as refused:
        read(path)
    assert why in str(refused.value)


def test_on_a_full_disk_it_says_so_and_half_a_line_is_nobody_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, whole = tmp_path / "l.jsonl", os.write

    def half(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(file, data[:-15])

    with Ledger.opened(path) as ledger:
        ledger.add(line(STARTED))
        monkeypatch.setattr(os, "write", half)
        with pytest.raises(DiskError, match="the disk is full: make room"):
            ledger.add(line(ENDED))
        monkeypatch.undo()

        assert [STARTED] == [each["event"] for each in ledger.read().all]
        ledger.add(line(ENDED))
        assert [STARTED, ENDED] == [each["event"] for each in ledger.read().all]
