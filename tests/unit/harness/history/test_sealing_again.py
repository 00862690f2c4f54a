"""Sealing can be repeated and can be interrupted: the tables are the same."""

import fcntl
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.history import sealing, side_files
from harness.history.sealing import seal
from harness.history.stored_tables import digest
from tests.support.recorded_runs import record_sends, sealed_operations, sealing_finds


def everything(run: Path) -> dict[str, Any]:
    """Every sealed table."""
    files = sorted((run / "history").rglob("*.parquet"))
    return {file.name: pq.read_table(file).to_pylist() for file in files}


def test_sealing_twice_changes_nothing(run: Path) -> None:
    """The second time says what the first one made; segments and pages are gone by then."""
    record_sends(run, sends=9, ended=False)
    first, tables = seal(run), everything(run)

    assert [] == [*(run / "history").glob("*.seg"), *(run / "history").glob("*.progress")]
    assert (first, tables) == (seal(run), everything(run))


@pytest.mark.parametrize("broken", ["events", "faults", "views", "_replace"])
def test_sealing_goes_on_where_it_was_interrupted(
    run: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Whatever stops it, the segments are there until every table is."""
    record_sends(run, "a", sends=9)
    record_sends(run, "b", sends=5, ended=False)
    place = sealing if broken == "_replace" else side_files

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(place, broken, killed)
        with pytest.raises(KeyboardInterrupt):
            seal(run)

    assert 14 == seal(run).operations
    assert [("b", "no-end", 1)] == sealing_finds(run)


def test_segments_left_behind_after_the_mark_are_removed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the mark and the last removal: the tables count, not what is left over."""
    record_sends(run, sends=9)
    unlink = Path.unlink
    left = 1

    def some(path: Path, missing_ok: bool = False) -> None:
        nonlocal left
        if path.suffix == ".seg":
            if not left:
                raise KeyboardInterrupt
            left -= 1
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", some)
        with pytest.raises(KeyboardInterrupt):
            seal(run)
    assert 2 == len(list((run / "history").glob("*.seg")))

    assert 9 == seal(run).operations
    assert list(range(9)) == [row["id"] for row in sealed_operations(run)]
    assert [] == list((run / "history").glob("*.seg"))


def test_who_comes_while_another_seals_waits_for_it(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when a table is written and has not got its name yet; both find the same."""
    record_sends(run, sends=9)
    waits_or_is_done = threading.Event()
    found_by_both = []

    def seal_too() -> None:
        found_by_both.append(seal(run))
        waits_or_is_done.set()

    other = threading.Thread(target=seal_too)
    write, lock = sealing._write_operations, fcntl.flock

    def write_and_be_disturbed(*args: Any) -> int:
        rows = write(*args)
        if threading.current_thread() is not other:
            other.start()
            assert waits_or_is_done.wait(60)
        return rows

    def noted(file: Any, how: int) -> None:
        if threading.current_thread() is other and how == fcntl.LOCK_EX:
            waits_or_is_done.set()
        lock(file, how)

    monkeypatch.setattr(sealing, "_write_operations", write_and_be_disturbed)
    monkeypatch.setattr(fcntl, "flock", noted)
    sealed = seal(run)
    other.join()

    assert found_by_both == [sealed]
    for name, table in sealed.tables.items():
        assert (name, digest(run / "history" / name)) == (name, table.sha256)


def test_a_sealed_history_that_cannot_be_written_can_be_read(run: Path) -> None:
    record_sends(run, sends=9)
    sealed = seal(run)
    (run / "history").chmod(0o555)

    assert seal(run) == sealed
