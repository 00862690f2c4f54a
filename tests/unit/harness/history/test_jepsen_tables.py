"""The export for Jepsen takes the tables that were sealed, as they were sealed, or none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.history.record_format import READ, HistoryError
from harness.history.recorder import Recorder
from harness.history.seal_record import SEALED
from harness.history.sealing import seal
from tests.support.jepsen.exports import exported, send, with_partitions
from tests.support.recorded_runs import record_sends

OPERATIONS = "history/operations"


@pytest.fixture
def sealed(run: Path) -> Path:
    """A sealed run of a producer and a consumer."""

    def reading(recorder: Recorder) -> None:
        recorder.record(READ, 0, 0, 20, 0, 21, 1)
        recorder.record(READ, 0, 1, 20, 1, 21, 1)

    def sending(recorder: Recorder) -> None:
        send(recorder, 0, 10, 15, at=0)
        send(recorder, 1, 10, 15, at=1)

    record_sends(with_partitions(run, 0, 1), "producer-0", then=sending)
    record_sends(run, "consumer-0", then=reading)
    seal(run)
    return run


def table(run: Path, process: str = "consumer-0") -> Path:
    return run / OPERATIONS / f"{process}.parquet"


def without_digests(run: Path) -> None:
    """Sealed as histories were before their tables' digests were written down."""
    file = run / "history" / SEALED
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "version": 1, "tables": {}}))


def remove(run: Path) -> None:
    table(run).unlink()


def remove_all(run: Path) -> None:
    shutil.rmtree(run / OPERATIONS)


def cut(run: Path) -> None:
    pq.write_table(pq.read_table(table(run), partitioning=None).slice(0, 1), table(run))


def double(run: Path) -> None:
    """The producer's sends in the place of the consumer's reads."""
    shutil.copy(table(run, "producer-0"), table(run))


def foreign(run: Path) -> None:
    rows = pq.read_table(table(run), partitioning=None)
    names = rows.schema.names
    other = rows.set_column(names.index("run_id"), "run_id", [["another/run"] * rows.num_rows])
    pq.write_table(other, table(run))


def link(run: Path) -> None:
    moved = table(run).rename(run / "elsewhere.parquet")
    table(run).symlink_to(moved)


def test_sealed_tables_that_are_whole_are_exported(sealed: Path) -> None:
    assert {"send", "poll", "assign"} == {op.f for op in exported(sealed)[0]}
    without_digests(sealed)
    assert {"send", "poll", "assign"} == {op.f for op in exported(sealed)[0]}


@pytest.mark.parametrize("spoil", [remove, remove_all, cut, double, foreign, link])
@pytest.mark.parametrize("digests", [True, False])
def test_a_table_that_is_not_as_it_was_sealed_is_refused_by_name(
    sealed: Path, spoil: Callable[[Path], None], digests: bool
) -> None:
    """Half a history would be judged as a whole one."""
    spoil(sealed)
    if not digests:
        without_digests(sealed)

    with pytest.raises(HistoryError, match=r"operations.*: (restore|.*: restore)"):
        exported(sealed)


@pytest.mark.parametrize("name", ["producer-1", ".producer-0", "producer-0-2"])
def test_a_table_that_was_not_sealed_is_refused(sealed: Path, name: str) -> None:
    shutil.copy(table(sealed, "producer-0"), table(sealed, name))

    with pytest.raises(HistoryError, match="was not sealed with this history: move it out"):
        exported(sealed)


def test_events_that_are_not_as_they_were_sealed_are_refused(sealed: Path) -> None:
    """They say what members of a group were given."""
    shutil.copy(sealed / "history/findings.parquet", sealed / "history/events.parquet")

    with pytest.raises(HistoryError, match=r"events\.parquet: "):
        exported(sealed)
