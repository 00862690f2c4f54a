"""The export for people: everything that was recorded, in order of time."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.history.export import export
from harness.history.record_format import NOTHING, OK, READ, SEND, HistoryError
from harness.history.recorder import Recorder
from harness.model.runs.run_folder import RunFolder
from tests.support.recorded_runs import KILL, record_sends, sealed_operations, write_side_file


def test_the_export_tells_everything_in_order_of_time(run: Path) -> None:
    """An operation's two ends, a read's one, events, faults and views between them."""

    def some(recorder: Recorder) -> None:
        recorder.complete(recorder.invoke(SEND, 2, (1 << 40) + 7, 10, 20), OK, 40, 60, NOTHING, 0)
        recorder.invoke(SEND, 2, (1 << 40) + 8, 30, 30)
        recorder.record(READ, 2, (1 << 40) + 7, 15, 40, 50, 3, epoch=5)

    record_sends(run, then=some, ended=False)
    write_side_file(run, "p", {"event": "end", "time_ns": 70, "reason": "done"})
    write_side_file(run, "nemesis", {"event": "inject", "type": "invoke", "time_ns": 40, **KILL})

    told = list(export(run))

    assert [
        (20, "invoke"),
        (30, "invoke"),
        (40, "invoke"),
        (50, "ok"),
        (60, "ok"),
        (70, None),
    ] == [(line["time_ns"], line.get("type")) for line in told]
    assert {
        "time_ns": 20,
        "process": "p",
        "type": "invoke",
        "f": "send",
        "id": 0,
        "instance": 0,
        "partition": 2,
        "value": (1 << 40) + 7,
        "producer": 1,
        "sequence": 7,
        "intended_ns": 10,
    } == told[0]
    assert "intended_ns" not in told[1]  # it began when it was due
    assert (40, 3, 15) == (told[3]["offset"], told[3]["broker"], told[3]["start_ns"])
    assert 5 == told[3]["epoch"]
    assert ("nemesis", "kill") == (told[2]["process"], told[2]["verb"])


def test_the_export_has_the_wall_clock_where_it_is_known(run: Path) -> None:
    """run.json holds one pair of clocks."""
    clock = {"monotonic_ns": 1_000, "utc": "2026-11-20T14:03:07+00:00"}
    RunFolder(path=run).update(clock=clock)
    write_side_file(run, "p", {"event": "end", "time_ns": 2_500_001_000})

    assert ["2026-11-20T14:03:09.500000Z"] == [line["time"] for line in export(run)]


@pytest.mark.parametrize("data", [b"", b"PAR1 and nothing else PAR1"])
def test_a_table_that_cannot_be_read_is_refused_in_one_sentence(run: Path, data: bytes) -> None:
    """Half of a history would look like a whole one."""
    record_sends(run, sends=3)
    list(export(run))
    table = run / "history/operations/p.parquet"
    table.write_bytes(data)

    with pytest.raises(HistoryError, match=r"p.parquet: it is not the file that .*: restore it"):
        list(export(run))
    (run / "history/sealed.json").unlink()
    with pytest.raises(HistoryError, match=r"p.parquet: cannot be read as Parquet .*"):
        list(export(run))


def test_a_table_that_is_not_as_it_was_sealed_is_refused(run: Path) -> None:
    """Although every row of it could have been recorded."""
    record_sends(run, sends=3)
    list(export(run))
    table = run / "history/operations/p.parquet"
    pq.write_table(pq.read_table(table, partitioning=None).slice(0, 2), table)

    with pytest.raises(HistoryError, match=r"p.parquet: it is not the file that was sealed"):
        list(export(run))


def test_all_operations_of_a_run_are_told_again_once_it_is_sealed(run: Path) -> None:
    """The twin; and a file that is none of the run's is left out."""
    record_sends(run, sends=3)
    list(export(run))
    tables = run / "history/operations"
    (tables / "_x.parquet").write_bytes((tables / "p.parquet").read_bytes())

    sends = [line["id"] for line in export(run) if line.get("type") == "invoke"]
    assert sends == [row["id"] for row in sealed_operations(run)] == [0, 1, 2]
