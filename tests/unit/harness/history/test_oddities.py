"""What is odd in a recorded history becomes a finding; the rest of it is sealed all the same."""

from pathlib import Path
from typing import Any

import pytest

from harness.history.record_format import RECORD_SIZE
from harness.model.runs.run_folder import RunFolder
from tests.support.recorded_runs import (
    KILL,
    record_sends,
    sealed_operations,
    sealed_rows,
    sealing_finds,
    spoil,
    write_side_file,
)

CAPACITY_AT = 12  # of a segment's header


def test_a_worker_without_its_end_is_a_finding(run: Path) -> None:
    """It was killed; what it recorded is sealed all the same."""
    record_sends(run, sends=3, ended=False)

    assert [("p", "no-end", 1)] == sealing_finds(run)
    assert 3 == len(sealed_operations(run))


def test_a_worker_that_recorded_nothing_is_a_finding(run: Path) -> None:
    """run.json names it, the history does not."""
    gone = {"process": "gone", "role": "producer", "exit": -9}
    RunFolder(path=run).update(workers=[gone])

    assert [("gone", "no-end", 1)] == sealing_finds(run)


def test_a_history_without_its_views_is_told(run: Path) -> None:
    """The cluster is watched before anything is recorded, though nothing may ever change."""
    record_sends(run, sends=1)
    (run / "history/views.jsonl").unlink()

    assert [("views", "missing", 1)] == sealing_finds(run)


def test_one_in_which_nobody_recorded_anything_may_have_none(run: Path) -> None:
    """The twin: its set-up failed."""
    (run / "history/views.jsonl").unlink()

    assert [] == sealing_finds(run)


def test_a_torn_record_is_dropped_and_counted(run: Path) -> None:
    """The process was killed while it wrote slot 2."""
    segment = record_sends(run, sends=2)
    spoil(segment, 3 * RECORD_SIZE + 4, b"\7\7")

    assert [("p", "torn", 1)] == sealing_finds(run)
    assert [0, 1] == [row["id"] for row in sealed_operations(run)]


@pytest.mark.parametrize(("at", "data"), [(0, b"\x09"), (1, b"\x00"), (1, b"\x63"), (48, b"\x01")])
def test_a_bad_record_is_dropped_and_counted(run: Path, at: int, data: bytes) -> None:
    """No such type, no such f, an end before its start."""
    segment = record_sends(run, sends=3)
    spoil(segment, 2 * RECORD_SIZE + at, data)

    assert [("p", "bad-record", 1)] == sealing_finds(run)
    assert [0, 2] == [row["id"] for row in sealed_operations(run)]


def test_a_hole_in_a_full_segment_is_counted(run: Path) -> None:
    """A segment that has a successor is full; empty slots there are lost pages."""
    segment = record_sends(run, sends=6)
    spoil(segment, 3 * RECORD_SIZE, bytes(2 * RECORD_SIZE))

    assert [("p", "bad-record", 2)] == sealing_finds(run)
    assert [0, 1, 4, 5] == [row["id"] for row in sealed_operations(run)]


@pytest.mark.parametrize("length", [0, 1, 23, 24, 55, 56, 57, 111, 112, 170, 224])
def test_a_history_cut_in_the_middle_is_told(run: Path, length: int) -> None:
    """Whole records are kept; that some are missing is known."""
    segment = record_sends(run, sends=4)
    segment.write_bytes(segment.read_bytes()[:length])

    assert [("p", "truncated-segment", 1)] == sealing_finds(run)
    assert max(0, length // RECORD_SIZE - 1) == len(sealed_operations(run))


def test_a_segment_that_is_longer_than_it_says_is_told(run: Path) -> None:
    """One bit of its header: it has 4 slots, and says 2. What lies behind may be records."""
    segment = record_sends(run, sends=4)
    spoil(segment, CAPACITY_AT, b"\2")

    assert [("p", "truncated-segment", 1)] == sealing_finds(run)
    assert 2 == len(sealed_operations(run))


def test_a_segment_as_long_as_it_says_is_whole(run: Path) -> None:
    """The twin."""
    record_sends(run, sends=4)

    assert [] == sealing_finds(run)


def test_a_segment_with_an_unreadable_header_is_told(run: Path) -> None:
    """Nothing in it is trusted; the segments beside it are read."""
    segment = record_sends(run, sends=6)
    spoil(segment, 0, b"nonsense")

    assert [("p", "truncated-segment", 1)] == sealing_finds(run)
    assert [4, 5] == [row["id"] for row in sealed_operations(run)]


def test_a_missing_segment_is_told(run: Path) -> None:
    """The next one says where it begins."""
    record_sends(run, sends=10)
    (run / "history/p.0001.seg").unlink()

    assert [("p", "truncated-segment", 1)] == sealing_finds(run)
    assert [0, 1, 2, 3, 8, 9] == [row["id"] for row in sealed_operations(run)]


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
        pytest.param('{"event": "x", "time_ns": 1, "y": ' + 100_000 * "[", id="deep"),
        pytest.param(f'{{"event": "x", "time_ns": 1, "y": {40 * "["}{40 * "]"}}}', id="nested"),
        '{"event": "x", "time_ns": 1, "text": "\\ud800"}',
        '{"event": "x", "time_ns": 1, "name": "\\ud800"}',
        '{"event": "x", "time_ns": 1, "y": NaN}',
    ],
)
def test_a_line_that_says_nothing_is_a_finding(run: Path, line: str) -> None:
    """Not JSON, no event, no time, or a value that does not fit its column."""
    record_sends(run)
    with (run / "history/p.jsonl").open("a") as file:
        file.write(line + "\n")

    assert [("p", "bad-line", 1)] == sealing_finds(run)
    assert ["end"] == [row["event"] for row in sealed_rows(run, "events")]


@pytest.mark.parametrize(
    "line",
    [
        {"event": "heal", "type": "ok"},
        {"event": "view", **KILL},
        {"event": "inject", **KILL, "nodes": "kafka1"},
        {"event": "inject", **KILL, "verb": None},
        {"event": "inject", **KILL, "fault": "first"},
        {"event": "inject", **KILL, "type": "ok", "evidence": 812},
        {"event": "inject", **KILL, "type": "info", "error": [1]},
        {"event": "inject", **KILL, "nodes": ["\ud800"]},
    ],
)
def test_a_line_of_the_nemesis_that_cannot_be_used_is_a_finding(
    run: Path, line: dict[str, Any]
) -> None:
    """No fault's number, no verb, nodes that are no list."""
    write_side_file(run, "nemesis", line)

    assert [("nemesis", "bad-line", 1)] == sealing_finds(run)
    assert [] == sealed_rows(run, "faults")


@pytest.mark.parametrize(
    "line", [{"event": "vieuw"}, {"event": "view"}, {"event": "blind", "type": "end"}]
)
def test_a_view_that_cannot_be_used_is_a_finding(run: Path, line: dict[str, Any]) -> None:
    """No partition; the end of a stretch that never began."""
    write_side_file(run, "views", line)

    assert [("views", "bad-line", 1)] == sealing_finds(run)


@pytest.mark.parametrize("isr", [0, False, "", {}, 5])
def test_a_look_at_the_replicas_whose_isr_is_no_list_is_a_finding(run: Path, isr: object) -> None:
    write_side_file(run, "watermarks", {**LOOK, "isr": isr})

    assert [("watermarks", "bad-line", 1)] == sealing_finds(run)


@pytest.mark.parametrize("isr", [None, [], ["kafka1"]])
def test_one_whose_isr_is_a_list_or_not_known_is_none(run: Path, isr: object) -> None:
    """The twin."""
    write_side_file(run, "watermarks", {**LOOK, "isr": isr})

    assert [] == sealing_finds(run)


LOOK = {
    "event": "look",
    "partition": 0,
    "leader": "kafka1",
    "high_watermarks": {"kafka1": 1},
    "log_ends": {"kafka1": 1},
}


def test_a_segment_that_begins_with_an_impossible_id_is_told(run: Path) -> None:
    segment = record_sends(run, sends=4)
    spoil(segment, CAPACITY_AT + 4, (2**64 - 5).to_bytes(8, "little"))

    assert [("p", "truncated-segment", 1)] == sealing_finds(run)
    assert 0 == len(sealed_operations(run))
