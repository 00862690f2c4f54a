"""A recorded history becomes tables: whatever was recorded is there, in its column."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.history import sealing, tables
from harness.history.record_format import FAIL, INFO, LOOKUP, NOTHING, OK, READ, SEND
from harness.history.recorder import Recorder
from harness.history.sealing import seal
from harness.history.stored_tables import rows_in
from tests.support.recorded_runs import (
    KILL,
    RUN_ID,
    record_sends,
    sealed_operations,
    sealed_rows,
    write_side_file,
)


def test_every_column_of_an_operation_is_there(run: Path) -> None:
    """A send that was acked, one that failed, one that is open, a read of a foreign payload."""

    def some(recorder: Recorder) -> None:
        recorder.complete(recorder.invoke(SEND, 2, 7, 10, 11), OK, 40, 12, 3, 0)
        recorder.name_error(-184, "_QUEUE_FULL")
        recorder.complete(recorder.invoke(SEND, 2, 8, 20, 21), FAIL, NOTHING, 22, NOTHING, -184)
        recorder.invoke(LOOKUP, 2, 9, 30, 31)
        recorder.record(READ, 2, NOTHING, 41, 43, 42, 1)
        recorder.instance, recorder.transaction, recorder.generation = 1, 4, 6
        recorder.invoke(SEND, 2, 10, 50, 51)
        recorder.record(READ, 2, 7, 61, 40, 62, 1, epoch=5, intended_ns=10, transaction=3)

    record_sends(run, then=some)
    seal(run)

    first = {"run_id": RUN_ID, "process": "p", "partition": 2}
    names = [
        "id",
        "f",
        "type",
        "value",
        "offset",
        "error",
        "intended_ns",
        "start_ns",
        "end_ns",
        "broker",
        "instance",
        "transaction",
        "generation",
        "epoch",
    ]
    assert [
        {**first, **dict(zip(names, row, strict=True))}
        for row in (
            (0, "send", "ok", 7, 40, None, 10, 11, 12, 3, 0, None, None, None),
            (1, "send", "fail", 8, None, "_QUEUE_FULL", 20, 21, 22, None, 0, None, None, None),
            (2, "lookup", "info", 9, None, None, 30, 31, None, None, 0, None, None, None),
            (3, "read", "ok", None, 43, None, 41, 41, 42, 1, 0, None, None, None),
            (4, "send", "info", 10, None, None, 50, 51, None, None, 1, 4, 6, None),
            (5, "read", "ok", 7, 40, None, 10, 61, 62, 1, 1, 3, 6, 5),
        )
    ] == sealed_operations(run)


def test_an_error_without_a_name_keeps_its_code(run: Path) -> None:
    """The name is looked up in the side file; where that is lost, the number still tells."""

    def fail(recorder: Recorder) -> None:
        recorder.complete(recorder.invoke(SEND, 0, 0, 1, 1), INFO, NOTHING, 2, NOTHING, -185)

    record_sends(run, then=fail)
    seal(run)

    assert "code -185" == sealed_operations(run)[0]["error"]


@pytest.mark.parametrize("sends", [0, 1, 4, 5, 23])
def test_all_segments_are_sealed_in_order(run: Path, sends: int) -> None:
    """Ids count on over the segments, the last of which may be partly used."""
    record_sends(run, sends=sends)

    assert sends == seal(run).operations
    assert list(range(sends)) == [row["id"] for row in sealed_operations(run)]
    assert [] == sealed_rows(run, "findings")


def test_row_groups_stay_small(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are gathered into row groups, one after the other: memory does not grow with it."""
    monkeypatch.setattr(sealing, "ROW_GROUP", 7)  # segments are of four
    record_sends(run, sends=30)
    seal(run)

    file = pq.ParquetFile(run / "history/operations/p.parquet")
    assert [8, 8, 8, 6] == [file.metadata.row_group(n).num_rows for n in range(4)]


def test_the_tables_have_the_columns_that_tables_py_lists(run: Path) -> None:
    """Names, types and order; the checkers' own schema is compared with the same lists."""
    record_sends(run, sends=1)
    seal(run)

    for name, columns in {**tables.SMALL_TABLES, "operations/p": tables.OPERATION_COLUMNS}.items():
        table = pq.read_schema(run / f"history/{name}.parquet")
        told = [(f.name, str(f.type).replace("element: ", "").replace("item: ", "")) for f in table]
        assert list(columns) == told


def test_an_empty_history_gives_empty_tables(run: Path) -> None:
    """Nothing was recorded, nothing is found, every table is there."""
    assert (0, ()) == (seal(run).operations, seal(run).processes)

    assert (run / "history/operations").is_dir()
    for name in tables.SMALL_TABLES:
        assert [] == sealed_rows(run, name)


def test_a_worker_without_operations_has_an_empty_table(run: Path) -> None:
    """It was told to stop before it did anything."""
    record_sends(run)
    seal(run)

    assert [] == sealed_operations(run)
    assert [] == sealed_rows(run, "findings")


def test_events_have_columns_and_the_rest_as_json(run: Path) -> None:
    """A plain text stays plain; what has no column goes to text as JSON."""

    def tell(recorder: Recorder) -> None:
        recorder.event("client-error", code=-195, name="_TRANSPORT", text="refused")
        recorder.event("serving", partition=1, broker=2, leader=3)
        recorder.event(
            "ends",
            partition=0,
            log_start=0,
            committed_end=5,
            uncommitted_end=6,
            position=6,
            complete=False,
        )

    record_sends(run, then=tell)
    seal(run)

    error, serving, ends, _ = sealed_rows(run, "events")
    assert ("client-error", -195, "_TRANSPORT", "refused") == (
        error["event"],
        error["code"],
        error["name"],
        error["text"],
    )
    assert (1, {"broker": 2, "leader": 3}) == (serving["partition"], json.loads(serving["text"]))
    assert (0, 0, 5, 6, 6, False) == tuple(
        ends[name] for name in ("partition", *list(ends)[7:11], "complete")
    )


BEFORE = {"leader": {"0": "kafka2"}, "isr": {"0": ["kafka1", "kafka2"]}, "controller": "kafka1"}
AFTER = {"leader": {"0": "kafka1"}, "isr": {"0": ["kafka1", "kafka2"]}, "controller": "kafka1"}


def test_a_faults_four_lines_are_one_row(run: Path) -> None:
    """Injected, in force, being healed, healed."""
    write_side_file(
        run,
        "nemesis",
        {"event": "inject", "type": "invoke", **KILL, **BEFORE},
        {"event": "inject", "type": "ok", **KILL, "evidence": "pid 812 is gone", **BEFORE},
        {"event": "heal", "type": "invoke", **KILL},
        {"event": "heal", "type": "ok", **KILL, "evidence": "every ISR is full", **AFTER},
    )
    seal(run)

    (fault,) = sealed_rows(run, "faults")
    assert (1, 2, 3, 4) == tuple(
        fault[name] for name in ("invoke_ns", "ok_ns", "heal_invoke_ns", "heal_ok_ns")
    )
    assert (0, 4, "kill", "leader", ["kafka2"]) == tuple(
        fault[name] for name in ("fault", "step", "verb", "target", "nodes")
    )
    assert ("pid 812 is gone", "every ISR is full", None) == (
        fault["evidence"],
        fault["heal_evidence"],
        fault["error"],
    )
    assert (BEFORE, AFTER) == (json.loads(fault["before"]), json.loads(fault["after"]))


@pytest.mark.parametrize("later", [{}, {"nodes": []}, {"nodes": None}])
def test_a_later_line_without_nodes_does_not_take_them_back(
    run: Path, later: dict[str, Any]
) -> None:
    """Whom a fault has hit stays known; a fault that hit nobody permits nothing and proves none."""
    bare = {key: value for key, value in KILL.items() if key != "nodes"}
    write_side_file(
        run,
        "nemesis",
        {"event": "inject", "type": "invoke", **bare, "nodes": ["kafka2", "kafka3"]},
        {"event": "inject", "type": "ok", **bare, **later, "evidence": "pid 812 is gone"},
        {"event": "heal", "type": "invoke", **bare, **later},
        {"event": "heal", "type": "ok", **bare, **later, "evidence": "every ISR is full"},
    )
    seal(run)

    (fault,) = sealed_rows(run, "faults")
    assert ["kafka2", "kafka3"] == fault["nodes"]


def test_a_fault_without_proof_has_no_ok(run: Path) -> None:
    """It was injected, nothing showed that it bit, and it was healed with trouble."""
    write_side_file(
        run,
        "nemesis",
        {"event": "inject", "type": "invoke", **KILL},
        {"event": "inject", "type": "info", **KILL, "error": "no trace"},
        {"event": "heal", "type": "invoke", **KILL},
        {"event": "heal", "type": "info", **KILL, "error": "no full ISR"},
    )
    seal(run)

    (fault,) = sealed_rows(run, "faults")
    assert (None, None, "no trace; no full ISR") == (
        fault["ok_ns"],
        fault["heal_ok_ns"],
        fault["error"],
    )


def test_a_fault_that_never_began_is_a_row(run: Path) -> None:
    """Nobody played the target's role: one line, no nodes, no times but its own."""
    write_side_file(
        run, "nemesis", {"event": "inject", "type": "info", **KILL, "nodes": [], "error": "none"}
    )
    seal(run)

    (fault,) = sealed_rows(run, "faults")
    assert ([], 1, None, None) == (
        fault["nodes"],
        fault["invoke_ns"],
        fault["ok_ns"],
        fault["heal_invoke_ns"],
    )


def test_views_and_blind_stretches_are_tables(run: Path) -> None:
    """A stretch that was never closed has no end."""
    view = {
        "event": "view",
        "partition": 0,
        "leader": None,
        "isr": ["kafka1"],
        "leader_epoch": 3,
        "controller": "kafka1",
    }
    blind = {"event": "blind"}
    write_side_file(
        run,
        "views",
        view,
        {**blind, "type": "start"},
        {**blind, "type": "end"},
        {**blind, "type": "start"},
    )
    seal(run)

    assert [{"start_ns": 2, "end_ns": 3}, {"start_ns": 4, "end_ns": None}] == sealed_rows(
        run, "blind"
    )
    (change,) = sealed_rows(run, "views")
    assert (1, 0, None, ["kafka1"], 3, "kafka1", *[None] * 4) == tuple(change.values())


def test_a_view_by_kraft_s_log_has_the_elr_and_the_partition_epoch(run: Path) -> None:
    """Nobody leads, nobody is in the ISR, and kafka1 may lead all the same."""
    view = {"event": "view", "partition": 0, "leader": None, "isr": [], "leader_epoch": 3}
    write_side_file(run, "views", {**view, "elr": ["kafka1"], "partition_epoch": 7})
    seal(run)

    (change,) = sealed_rows(run, "views")
    assert ([], ["kafka1"], 7) == (change["isr"], change["elr"], change["partition_epoch"])


def test_views_of_an_older_history_have_neither(tmp_path: Path) -> None:
    """As they were sealed before: the columns are not there, and null is not known."""
    older = [each for each in tables.VIEW_COLUMNS if each[0] not in ("elr", "partition_epoch")]
    row = {"run_id": "r", "time_ns": 1, "partition": 0, "isr": ["kafka1"], "leader_epoch": 3}
    made = pa.Table.from_pylist([row], tables.schema(older))
    pq.write_table(made, tmp_path / "views.parquet")

    (read,) = rows_in((tmp_path / "views.parquet").read_bytes(), tables.VIEW_COLUMNS)
    assert (["kafka1"], None, None) == (read["isr"], read["elr"], read["partition_epoch"])
