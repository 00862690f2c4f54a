"""A ledger keeps every line; which runs count is told by lines, never by taking one out."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.model.runs.disk import DiskError
from harness.model.runs.ledger import (
    ENDED,
    STARTED,
    SUPERSEDED,
    Ledger,
    LedgerError,
    is_ledger,
    read,
)


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
    with Ledger.open(path) as ledger:
        ledger.add(line(ENDED, exit=0))

    assert [each["event"] for each in read(path).all] == [STARTED, ENDED]


def test_nobody_else_writes_it_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "data" / "l.jsonl"
    with Ledger.open(path) as ledger:
        ledger.add(line(STARTED))
        with pytest.raises(LedgerError, match="another campaign writes it"), Ledger.open(path):
            pass
    with Ledger.open(path) as ledger:
        assert len(ledger.read().all) == 1


def test_one_to_which_nothing_was_added_is_not_left(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l.jsonl") as ledger:
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

    with Ledger.open(path) as ledger:
        ledger.add(line(STARTED))
        monkeypatch.setattr(os, "write", half)
        with pytest.raises(DiskError, match="the disk is full: make room"):
            ledger.add(line(ENDED))
        monkeypatch.undo()

        assert [STARTED] == [each["event"] for each in ledger.read().all]
        ledger.add(line(ENDED))
        assert [STARTED, ENDED] == [each["event"] for each in ledger.read().all]


def replaced(path: Path) -> None:
    """As `sed -i`, git and editors do it: by another file of its name."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.parametrize("change", [replaced, Path.unlink])
def test_a_line_that_nobody_would_ever_read_is_told(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "l.jsonl"
    with Ledger.open(path) as ledger:
        ledger.add(line(STARTED))
        change(path)
        for write in (lambda: ledger.add(line(ENDED)), ledger.read):
            with pytest.raises(LedgerError, match=r"l\.jsonl: it was replaced .* --resume"):
                write()

    assert [each["event"] for each in read(path).all] == [STARTED] * path.exists()


def test_one_that_is_replaced_while_a_line_is_written_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, whole = tmp_path / "l.jsonl", os.write

    def late(file: int, data: bytes) -> int:
        replaced(path)
        return whole(file, data)

    with Ledger.open(path) as ledger:
        ledger.add(line(STARTED))
        monkeypatch.setattr(os, "write", late)
        with pytest.raises(LedgerError, match="it was replaced"):
            ledger.add(line(ENDED))


@pytest.mark.parametrize("end", ["", " ", "\r"])
def test_a_whole_last_line_counts_and_stays_though_nobody_ended_it(
    tmp_path: Path, end: str
) -> None:
    path = written(tmp_path / "l.jsonl", line(STARTED), line(ENDED))
    with path.open("a", newline="") as file:
        file.write(json.dumps(line(SUPERSEDED, reason="by hand")) + end)
    before = path.read_bytes()

    assert read(path).standing == []
    with Ledger.open(path) as ledger:
        ledger.add(line(STARTED, 2))

    assert path.read_bytes() == before + b"\n" + json.dumps(line(STARTED, 2)).encode() + b"\n"
    assert [each["event"] for each in read(path).all] == [STARTED, ENDED, SUPERSEDED, STARTED]


def test_a_line_is_what_stands_before_a_newline_whatever_its_words_have(tmp_path: Path) -> None:
    ended, aside = line(ENDED), line(SUPERSEDED, reason="one\u2028two\x85three")
    path = tmp_path / "l.jsonl"
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in (ended, aside)))

    assert list(read(path).reasons.values()) == ["one\u2028two\x85three"]


def test_a_file_that_goes_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "l.jsonl", fcntl.flock

    def late(file: Any, how: int) -> None:
        """Its writer before, to whose ledger nothing was added, ends just now."""
        monkeypatch.undo()
        path.unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with Ledger.open(path) as ledger:
        ledger.add(line(STARTED))
        with pytest.raises(LedgerError, match="another campaign writes it"), Ledger.open(path):
            pass

    assert len(read(path).all) == 1


def test_one_that_goes_again_and_again_is_somebody_else_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "l.jsonl"
    monkeypatch.setattr(fcntl, "flock", lambda *_: path.unlink())

    with pytest.raises(LedgerError, match="another campaign writes it"), Ledger.open(path):
        pass


def test_where_no_file_can_be_it_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    in_the_way = "a file is where a folder of its path should be"
    found = {}
    for name in ("folder", "pipe", "file/l.jsonl", "file/data/l.jsonl"):
        with pytest.raises(LedgerError) as refused, Ledger.open(tmp_path / name):
            pass
        found[name] = str(refused.value)
        with pytest.raises(LedgerError) as refused:
            read(tmp_path / name)
        assert str(refused.value) == found[name]

    assert found == {
        name: f"{tmp_path / name}: no ledger can be read or written there ({why}): put that "
        "right, or give another file"
        for name, why in (
            ("folder", "it is a folder"),
            ("pipe", "it is no regular file"),
            ("file/l.jsonl", in_the_way),
            ("file/data/l.jsonl", in_the_way),
        )
    }


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_that_is_nested_too_deeply_is_named(tmp_path: Path, end: str) -> None:
    path = tmp_path / "l.jsonl"
    deep = '{"a": ' * 200_000 + "1" + "}" * 200_000
    path.write_text(json.dumps(line(STARTED)) + "\n" + deep + end)

    with pytest.raises(LedgerError, match="line 2: not a line of a ledger: nested too deeply"):
        read(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", False),
        ('{"fault": 0}\n', False),
        ('"cell"\n"seed"\n', False),
        ('hello "cell"\n', False),
        ('hello\n{"cell": "c", "seed": 1}', True),
    ],
)
def test_a_file_with_one_line_of_a_ledger_is_one(tmp_path: Path, text: str, *, told: bool) -> None:
    path = tmp_path / "any"
    path.write_text(text)

    assert is_ledger(path) is told


def test_half_a_character_becomes_a_question_mark(tmp_path: Path) -> None:
    """As a terminal or a path has it that is not UTF-8: what is written can be read."""
    path = tmp_path / "l.jsonl"
    with Ledger.open(path) as ledger:
        ledger.add(line(ENDED, kafka="Ger\udce4t, größer"))

    [told] = read(path).all
    assert told["kafka"] == "Ger?t, größer"


def test_a_start_without_a_time_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "l.jsonl", line(STARTED, at=""))

    with pytest.raises(LedgerError, match=r"line 1: started_utc: a time"):
        read(path)
