"""A recorded history becomes tables: what was recorded is there, what is odd is a finding."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.history import sealing, side_files, tables
from harness.history.export import export
from harness.history.recorder import (
    FAIL,
    INFO,
    LOOKUP,
    NOTHING,
    OK,
    READ,
    RECORD_SIZE,
    SEND,
    HistoryError,
    Lines,
    Operation,
    Recorder,
    read_operations,
)
from harness.history.sealing import seal
from harness.history.segments import read_segment
from harness.model.run_folder import RunFolder
from tests.support.run_records import run_record

RUN_ID = "study-1/20261120T140307Z-42"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with an empty history."""
    folder = tmp_path / RUN_ID
    (folder / "history").mkdir(parents=True)
    RunFolder(path=folder).write(run_record(run_id=RUN_ID))
    return folder


def record(
    run: Path,
    process: str = "p",
    *,
    sends: int = 0,
    ended: bool = True,
    capacity: int = 4,
    then: Callable[[Recorder], object] = lambda _: None,
) -> Path:
    """A worker's history with `sends` acked sends; its first segment."""
    recorder = Recorder(run / "history", process, capacity=capacity)
    for n in range(sends):
        recorder.complete(recorder.invoke(SEND, 0, n, 10, 11), OK, n, 12, NOTHING, 0)
    then(recorder)
    if ended:
        recorder.event("end", reason="done", sends=sends)
    recorder.close()
    return run / "history" / f"{process}.0000.seg"


def operations(run: Path, process: str = "p") -> list[dict[str, Any]]:
    """The rows of a process's table."""
    table = pq.read_table(run / f"history/operations/{process}.parquet")
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a small table, without the run's id."""
    found: list[dict[str, Any]] = pq.read_table(run / f"history/{table}.parquet").to_pylist()
    assert all(row.pop("run_id") == RUN_ID for row in found)
    return found


def found(run: Path) -> list[tuple[str, str, int]]:
    """The findings: process, kind, count."""
    seal(run)
    return [(row["process"], row["kind"], row["count"]) for row in rows(run, "findings")]


def lines(run: Path, name: str, *events: dict[str, Any]) -> None:
    """A side file as the harness writes it; times count up from 1 unless given."""
    file = Lines(run / "history" / f"{name}.jsonl")
    for n, event in enumerate(events, 1):
        file.write(**{"time_ns": n, **event})
    file.close()


# What was recorded


def test_every_column_of_an_operation_is_there(run: Path) -> None:
    """A send that was acked, one that failed, one that is open, a read of a foreign payload."""

    def some(recorder: Recorder) -> None:
        recorder.complete(recorder.invoke(SEND, 2, 7, 10, 11), OK, 40, 12, 3, 0)
        recorder.name_error(-184, "_QUEUE_FULL")
        recorder.complete(recorder.invoke(SEND, 2, 8, 20, 21), FAIL, NOTHING, 22, NOTHING, -184)
        recorder.invoke(LOOKUP, 2, 9, 30, 31)
        recorder.record(READ, 2, NOTHING, 41, 43, 42, 1)

    record(run, then=some)
    seal(run)

    common = {"run_id": RUN_ID, "process": "p", "partition": 2}
    nothing = {"offset": None, "error": None, "end_ns": None, "broker": None}
    assert [
        {
            **common,
            "id": 0,
            "f": "send",
            "type": "ok",
            "value": 7,
            "offset": 40,
            "error": None,
            "intended_ns": 10,
            "start_ns": 11,
            "end_ns": 12,
            "broker": 3,
        },
        {
            **common,
            **nothing,
            "id": 1,
            "f": "send",
            "type": "fail",
            "value": 8,
            "error": "_QUEUE_FULL",
            "intended_ns": 20,
            "start_ns": 21,
            "end_ns": 22,
        },
        {
            **common,
            **nothing,
            "id": 2,
            "f": "lookup",
            "type": "info",
            "value": 9,
            "intended_ns": 30,
            "start_ns": 31,
        },
        {
            **common,
            "id": 3,
            "f": "read",
            "type": "ok",
            "value": None,
            "offset": 43,
            "error": None,
            "intended_ns": 41,
            "start_ns": 41,
            "end_ns": 42,
            "broker": 1,
        },
    ] == operations(run)


def test_an_error_without_a_name_keeps_its_code(run: Path) -> None:
    """The name is looked up in the side file; where that is lost, the number still tells."""

    def fail(recorder: Recorder) -> None:
        recorder.complete(recorder.invoke(SEND, 0, 0, 1, 1), INFO, NOTHING, 2, NOTHING, -185)

    record(run, then=fail)
    seal(run)

    assert "code -185" == operations(run)[0]["error"]


@pytest.mark.parametrize("sends", [0, 1, 4, 5, 23])
def test_all_segments_are_sealed_in_order(run: Path, sends: int) -> None:
    """Ids count on over the segments, the last of which may be partly used."""
    record(run, sends=sends)

    assert sends == seal(run).operations
    assert list(range(sends)) == [row["id"] for row in operations(run)]
    assert [] == rows(run, "findings")


def test_row_groups_stay_small(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are gathered into row groups, one after the other: memory does not grow with it."""
    monkeypatch.setattr(sealing, "ROW_GROUP", 8)
    record(run, sends=30)
    seal(run)

    file = pq.ParquetFile(run / "history/operations/p.parquet")
    assert [8, 8, 8, 6] == [file.metadata.row_group(n).num_rows for n in range(4)]


def test_the_tables_have_the_columns_that_history_py_lists(run: Path) -> None:
    """Names, types and order; the checkers' own schema is compared with the same lists."""
    record(run, sends=1)
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
        assert [] == rows(run, name)


def test_a_worker_without_operations_has_an_empty_table(run: Path) -> None:
    """It was told to stop before it did anything."""
    record(run)
    seal(run)

    assert [] == operations(run)
    assert [] == rows(run, "findings")


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

    record(run, then=tell)
    seal(run)

    error, serving, ends, _ = rows(run, "events")
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


# The nemesis and the views


KILL = {"fault": 0, "step": 4, "verb": "kill", "target": "leader", "nodes": ["kafka2"]}
BEFORE = {"leader": {"0": "kafka2"}, "isr": {"0": ["kafka1", "kafka2"]}, "controller": "kafka1"}
AFTER = {"leader": {"0": "kafka1"}, "isr": {"0": ["kafka1", "kafka2"]}, "controller": "kafka1"}


def test_a_faults_four_lines_are_one_row(run: Path) -> None:
    """Injected, in force, being healed, healed."""
    lines(
        run,
        "nemesis",
        {"event": "inject", "type": "invoke", **KILL, **BEFORE},
        {"event": "inject", "type": "ok", **KILL, "evidence": "pid 812 is gone", **BEFORE},
        {"event": "heal", "type": "invoke", **KILL},
        {"event": "heal", "type": "ok", **KILL, "evidence": "every ISR is full", **AFTER},
    )
    seal(run)

    (fault,) = rows(run, "faults")
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


def test_a_fault_without_proof_has_no_ok(run: Path) -> None:
    """It was injected, nothing showed that it bit, and it was healed with trouble."""
    lines(
        run,
        "nemesis",
        {"event": "inject", "type": "invoke", **KILL},
        {"event": "inject", "type": "info", **KILL, "error": "no trace"},
        {"event": "heal", "type": "invoke", **KILL},
        {"event": "heal", "type": "info", **KILL, "error": "no full ISR"},
    )
    seal(run)

    (fault,) = rows(run, "faults")
    assert (None, None, "no trace; no full ISR") == (
        fault["ok_ns"],
        fault["heal_ok_ns"],
        fault["error"],
    )


def test_a_fault_that_never_began_is_a_row(run: Path) -> None:
    """Nobody played the target's role: one line, no nodes, no times but its own."""
    lines(run, "nemesis", {"event": "inject", "type": "info", **KILL, "nodes": [], "error": "none"})
    seal(run)

    (fault,) = rows(run, "faults")
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
    lines(
        run,
        "views",
        view,
        {**blind, "type": "start"},
        {**blind, "type": "end"},
        {**blind, "type": "start"},
    )
    seal(run)

    assert [{"start_ns": 2, "end_ns": 3}, {"start_ns": 4, "end_ns": None}] == rows(run, "blind")
    (change,) = rows(run, "views")
    assert (1, 0, None, ["kafka1"], 3, "kafka1") == tuple(change.values())


# What is odd


def test_a_worker_without_its_end_is_a_finding(run: Path) -> None:
    """It was killed; what it recorded is sealed all the same."""
    record(run, sends=3, ended=False)

    assert [("p", "no-end", 1)] == found(run)
    assert 3 == len(operations(run))


def test_a_worker_that_recorded_nothing_is_a_finding(run: Path) -> None:
    """run.json names it, the history does not."""
    gone = {"process": "gone", "role": "producer", "exit": -9}
    RunFolder(path=run).update(workers=[gone])

    assert [("gone", "no-end", 1)] == found(run)


def spoil(path: Path, at: int, data: bytes) -> None:
    """Write over part of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_a_torn_record_is_dropped_and_counted(run: Path) -> None:
    """The process was killed while it wrote slot 2."""
    segment = record(run, sends=2)
    spoil(segment, 3 * RECORD_SIZE + 4, b"\7\7")

    assert [("p", "torn", 1)] == found(run)
    assert [0, 1] == [row["id"] for row in operations(run)]


@pytest.mark.parametrize(("at", "data"), [(0, b"\x09"), (1, b"\x00"), (1, b"\x63"), (40, b"\x01")])
def test_a_bad_record_is_dropped_and_counted(run: Path, at: int, data: bytes) -> None:
    """No such type, no such f, an end before its start."""
    segment = record(run, sends=3)
    spoil(segment, 2 * RECORD_SIZE + at, data)

    assert [("p", "bad-record", 1)] == found(run)
    assert [0, 2] == [row["id"] for row in operations(run)]


def test_a_hole_in_a_full_segment_is_counted(run: Path) -> None:
    """A segment that has a successor is full; empty slots there are lost pages."""
    segment = record(run, sends=6)
    spoil(segment, 3 * RECORD_SIZE, bytes(2 * RECORD_SIZE))

    assert [("p", "bad-record", 2)] == found(run)
    assert [0, 1, 4, 5] == [row["id"] for row in operations(run)]


@pytest.mark.parametrize("length", [0, 1, 23, 24, 55, 56, 57, 111, 112, 170, 224])
def test_a_history_cut_in_the_middle_is_told(run: Path, length: int) -> None:
    """Whole records are kept; that some are missing is known."""
    segment = record(run, sends=4)
    segment.write_bytes(segment.read_bytes()[:length])

    assert [("p", "truncated-segment", 1)] == found(run)
    assert max(0, length // RECORD_SIZE - 1) == len(operations(run))


def test_a_segment_with_an_unreadable_header_is_told(run: Path) -> None:
    """Nothing in it is trusted; the segments beside it are read."""
    segment = record(run, sends=6)
    spoil(segment, 0, b"nonsense")

    assert [("p", "truncated-segment", 1)] == found(run)
    assert [4, 5] == [row["id"] for row in operations(run)]


def test_a_missing_segment_is_told(run: Path) -> None:
    """The next one says where it begins."""
    record(run, sends=10)
    (run / "history/p.0001.seg").unlink()

    assert [("p", "truncated-segment", 1)] == found(run)
    assert [0, 1, 2, 3, 8, 9] == [row["id"] for row in operations(run)]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "",
        "[1]",
        '"end"',
        '{"time_ns": 1}',
        '{"event": 5, "time_ns": 1}',
        '{"event": "x"}',
        '{"event": "x", "time_ns": "1"}',
        '{"event": "x", "time_ns": 1.5}',
        '{"event": "x", "time_ns": 9223372036854775808}',
        '{"event": "x", "time_ns": 1, "partition": "0"}',
        '{"event": "x", "time_ns": 1, "code": 99999999999}',
        '{"event": "x", "time_ns": 1, "complete": 1}',
        '{"event": "x", "time_ns": 1, "name": ["a"]}',
        '{"event": "x", "time_',
        "\x00\x00",
    ],
)
def test_a_line_that_says_nothing_is_a_finding(run: Path, line: str) -> None:
    """Not JSON, no event, no time, or a value that does not fit its column."""
    record(run)
    with (run / "history/p.jsonl").open("a") as file:
        file.write(line + "\n")

    assert [("p", "bad-line", 1)] == found(run)
    assert ["end"] == [row["event"] for row in rows(run, "events")]


@pytest.mark.parametrize(
    "line",
    [
        {"event": "heal", "type": "ok"},
        {"event": "view", **KILL},
        {"event": "inject", **KILL, "nodes": "kafka1"},
        {"event": "inject", **KILL, "verb": None},
        {"event": "inject", **KILL, "fault": "first"},
        {"event": "inject", **KILL, "type": "ok", "evidence": 812},
    ],
)
def test_a_line_of_the_nemesis_that_cannot_be_used_is_a_finding(
    run: Path, line: dict[str, Any]
) -> None:
    """No fault's number, no verb, nodes that are no list."""
    lines(run, "nemesis", line)

    assert [("nemesis", "bad-line", 1)] == found(run)
    assert [] == rows(run, "faults")


@pytest.mark.parametrize(
    "line", [{"event": "vieuw"}, {"event": "view"}, {"event": "blind", "type": "end"}]
)
def test_a_view_that_cannot_be_used_is_a_finding(run: Path, line: dict[str, Any]) -> None:
    """No partition; the end of a stretch that never began."""
    lines(run, "views", line)

    assert [("views", "bad-line", 1)] == found(run)


# Refused: one sentence


def refused(run: Path, *words: str) -> None:
    """Sealing stops with one line that holds these words."""
    with pytest.raises(HistoryError) as error:
        seal(run)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_a_file_that_cannot_be_read_is_refused(run: Path) -> None:
    """A folder stands where a segment should be."""
    (run / "history/p.0000.seg").mkdir()

    refused(run, "p.0000.seg", "restore")


def test_a_side_file_that_cannot_be_read_is_refused(run: Path) -> None:
    """A folder stands where the views should be."""
    (run / "history/views.jsonl").mkdir()

    refused(run, "views.jsonl", "restore")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    """There is no history in it."""
    refused(tmp_path, str(tmp_path), "history")


def test_a_run_json_that_cannot_be_read_is_refused(run: Path) -> None:
    """Without it nobody knows which run this is."""
    (run / "run.json").write_text("{")

    refused(run, "run.json", "restore")


def test_a_foreign_segment_is_refused(run: Path) -> None:
    """Whose operations would these be?"""
    (run / "history/some other.seg").write_bytes(b"")

    refused(run, "some other.seg")


def test_a_living_workers_history_is_refused(run: Path) -> None:
    """It is still writing: what would be sealed is not what it recorded."""
    recorder = Recorder(run / "history", "p")
    refused(run, "p.jsonl", "living")

    recorder.close()
    assert ("p",) == seal(run).processes


def test_a_place_that_cannot_be_written_is_refused(run: Path) -> None:
    """A file stands where the tables go."""
    record(run, sends=1)
    (run / "history/operations").write_text("")

    refused(run, "operations", "cannot be written")


def test_a_spoiled_mark_is_refused(run: Path) -> None:
    """Sealed or not? Nobody can know, and segments may be gone."""
    seal(run)
    (run / "history/sealed.json").write_text("{}")

    refused(run, "sealed.json")


# Again and again


def everything(run: Path) -> dict[str, Any]:
    """Every sealed table."""
    files = sorted((run / "history").rglob("*.parquet"))
    return {file.name: pq.read_table(file).to_pylist() for file in files}


def test_sealing_twice_changes_nothing(run: Path) -> None:
    """The second time says what the first one made; segments and pages are gone by then."""
    record(run, sends=9, ended=False)
    first, tables = seal(run), everything(run)

    assert [] == [*(run / "history").glob("*.seg"), *(run / "history").glob("*.progress")]
    assert (first, tables) == (seal(run), everything(run))


@pytest.mark.parametrize("broken", ["events", "faults", "views", "_replace"])
def test_sealing_goes_on_where_it_was_interrupted(
    run: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Whatever stops it, the segments are there until every table is."""
    record(run, "a", sends=9)
    record(run, "b", sends=5, ended=False)
    place = sealing if broken == "_replace" else side_files

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(place, broken, killed)
        with pytest.raises(KeyboardInterrupt):
            seal(run)

    assert 14 == seal(run).operations
    assert [("b", "no-end", 1)] == found(run)


def test_segments_left_behind_after_the_mark_are_removed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the mark and the last removal: the tables count, not what is left over."""
    record(run, sends=9)
    unlink = Path.unlink
    left = 1

    def some(path: Path, missing_ok: bool = False) -> None:
        nonlocal left
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
    assert list(range(9)) == [row["id"] for row in operations(run)]
    assert [] == list((run / "history").glob("*.seg"))


# Two readers, one answer


def _segment(folder: Path) -> bytes:
    recorder = Recorder(folder, "p", capacity=8)
    for n in range(6):
        operation = recorder.invoke(SEND, n, n, 10, 11)
        if n % 3:
            recorder.complete(operation, (OK, FAIL, INFO)[n % 3], n, 12, n, -n)
    recorder.close()
    return (folder / "p.0000.seg").read_bytes()


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    damage=st.lists(st.tuples(st.integers(24, 9 * RECORD_SIZE - 1), st.integers(0, 255))),
    length=st.integers(24, 9 * RECORD_SIZE),
)
@example(damage=[(8 * RECORD_SIZE, 1)], length=8 * RECORD_SIZE + 1)  # of the last slot one byte
def test_reading_by_columns_is_reading_record_by_record(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]], length: int
) -> None:
    """Whatever bytes are changed or cut off, both readers tell the same."""
    folder = tmp_path_factory.mktemp("segment")
    data = bytearray(_segment(folder))
    for at, byte in damage:
        data[at] = byte
    path = folder / "q.0000.seg"
    path.write_bytes(data[:length])

    by_record = list(read_operations(bytes(data[:length])))
    content = read_segment(path, "q", first_id=0, last=True)

    counts = {f.kind: f.count for f in content.findings}
    assert [o.id for o in by_record if isinstance(o, Operation)] == content.ids.tolist()
    assert by_record.count("torn") == counts.get("torn", 0)
    assert by_record.count("bad") == counts.get("bad-record", 0)
    for operation, row in zip(_good(by_record), content.records.tolist(), strict=True):
        assert (operation.partition, operation.intended_ns, operation.start_ns) == (
            row[2],
            row[4],
            row[5],
        )
        assert (operation.offset, operation.broker, operation.error) == (
            row[6] if row[6] >= 0 else None,
            row[8] if row[8] >= 0 else None,
            row[9],
        )


def _good(found: Iterable[Operation | str]) -> list[Operation]:
    return [each for each in found if isinstance(each, Operation)]


# For people


def test_the_export_tells_everything_in_order_of_time(run: Path) -> None:
    """An operation's two ends, a read's one, events, faults and views between them."""

    def some(recorder: Recorder) -> None:
        recorder.complete(recorder.invoke(SEND, 2, (1 << 40) + 7, 10, 20), OK, 40, 60, NOTHING, 0)
        recorder.invoke(SEND, 2, (1 << 40) + 8, 30, 30)
        recorder.record(READ, 2, (1 << 40) + 7, 15, 40, 50, 3)

    record(run, then=some, ended=False)
    lines(run, "p", {"event": "end", "time_ns": 70, "reason": "done"})
    lines(run, "nemesis", {"event": "inject", "type": "invoke", "time_ns": 40, **KILL})

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
        "partition": 2,
        "value": (1 << 40) + 7,
        "producer": 1,
        "sequence": 7,
        "intended_ns": 10,
    } == told[0]
    assert (40, 3, 15) == (told[3]["offset"], told[3]["broker"], told[3]["start_ns"])
    assert ("nemesis", "kill") == (told[2]["process"], told[2]["verb"])


def test_the_export_has_the_wall_clock_where_it_is_known(run: Path) -> None:
    """run.json holds one pair of clocks."""
    clock = {"monotonic_ns": 1_000, "utc": "2026-11-20T14:03:07+00:00"}
    RunFolder(path=run).update(clock=clock)
    lines(run, "p", {"event": "end", "time_ns": 2_500_001_000})

    assert ["2026-11-20T14:03:09.500000Z"] == [line["time"] for line in export(run)]
