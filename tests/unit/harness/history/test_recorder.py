"""What was recorded is readable; what cannot be done is an error."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.history.progress_page import Progress
from harness.history.record_format import FAIL, INFO, NOTHING, OK, READ, SEND, Operation, value_of
from harness.history.recorder import Recorder
from tests.support.labs.small_disks import on_a_disk
from tests.support.recorded_runs import recorded_operations


def told(folder: Path) -> list[Operation]:
    """The same, but for what is torn or bad."""
    return [each for each in recorded_operations(folder) if isinstance(each, Operation)]


def operation(**changed: Any) -> Operation:
    """An operation that is open, but for what is given."""
    open_: dict[str, Any] = {
        "id": 0,
        "f": "send",
        "type": "info",
        "partition": 3,
        "value": 7,
        "intended_ns": 10,
        "start_ns": 11,
        "offset": None,
        "end_ns": None,
        "broker": None,
        "error": 0,
        "instance": 0,
    }
    return Operation(**{**open_, **changed})


def test_an_invoked_operation_is_info_until_it_is_completed(tmp_path: Path) -> None:
    """Half way through a send there is nothing to know but that it began."""
    recorder = Recorder(tmp_path, "p")
    recorder.invoke(SEND, 3, 7, 10, 11)

    assert [operation()] == recorded_operations(tmp_path)


@pytest.mark.parametrize(("type_", "name"), [(OK, "ok"), (FAIL, "fail"), (INFO, "info")])
def test_a_completed_operation_says_how_it_ended(tmp_path: Path, type_: int, name: str) -> None:
    """All that the completion adds is there."""
    recorder = Recorder(tmp_path, "p")
    recorder.complete(recorder.invoke(SEND, 3, 7, 10, 11), type_, 40, 12, 2, -185)

    wanted = operation(type=name, offset=40, end_ns=12, broker=2, error=-185)
    assert [wanted] == recorded_operations(tmp_path)


def test_a_record_read_is_ok_at_once(tmp_path: Path) -> None:
    """A read is only known once it is there; what is missing is None."""
    recorder = Recorder(tmp_path, "p")
    recorder.record(READ, 3, NOTHING, 11, 40, 12, NOTHING)

    wanted = operation(
        f="read", type="ok", value=None, intended_ns=11, start_ns=11, offset=40, end_ns=12
    )
    assert [wanted] == recorded_operations(tmp_path)


def test_operations_complete_in_any_order_over_several_segments(tmp_path: Path) -> None:
    """An id finds its slot again, however many segments lie between."""
    recorder = Recorder(tmp_path, "p", capacity=4)
    ids = [recorder.invoke(SEND, 0, n, 1, 1) for n in range(11)]
    for each in reversed(ids):
        recorder.complete(each, OK, 100 + each, 2, NOTHING, 0)
    recorder.close()

    found = told(tmp_path)
    assert list(range(11)) == ids
    assert [(n, n, 100 + n) for n in ids] == [(o.id, o.value, o.offset) for o in found]


def test_full_segments_without_open_operations_are_let_go(tmp_path: Path) -> None:
    """A recorder holds descriptors for what is open only, so that no long run exhausts them."""
    recorder = Recorder(tmp_path, "p", capacity=4)
    early = recorder.invoke(SEND, 0, 0, 1, 1)
    for n in range(1, 400):
        recorder.complete(recorder.invoke(SEND, 0, n, 1, 1), OK, n, 2, NOTHING, 0)
    assert set(recorder._segments) == {0, 99}

    recorder.complete(early, FAIL, NOTHING, 2, NOTHING, -184)

    assert ["fail"] + ["ok"] * 399 == [o.type for o in told(tmp_path)]


# The side file, the name, the page


def test_an_errors_name_is_written_once(tmp_path: Path) -> None:
    """The side file names a code before the first record that holds it, and only then."""
    recorder = Recorder(tmp_path, "p")
    for _ in range(3):
        recorder.name_error(-185, "_TIMED_OUT")
    recorder.close()

    lines = (tmp_path / "p.jsonl").read_text().splitlines()
    assert len(lines) == 1
    assert '"code": -185, "name": "_TIMED_OUT"' in lines[0]


def test_a_name_is_used_once(tmp_path: Path) -> None:
    """A restarted worker takes a new name: nobody writes over a history."""
    Recorder(tmp_path, "p").close()

    with pytest.raises(FileExistsError):
        Recorder(tmp_path, "p")


def test_two_recorders_cannot_share_a_side_file(tmp_path: Path) -> None:
    """The lock tells who is alive; the second one is refused."""
    first = Recorder(tmp_path, "p")
    (tmp_path / "p.0000.seg").unlink()

    with pytest.raises(BlockingIOError):
        Recorder(tmp_path, "p")
    first.close()


def test_values_are_dense_for_each_producer() -> None:
    """Producer in the high bits, sequence in the low ones."""
    assert [0, 1, 1 << 40, (1 << 40) + 1] == [
        value_of(producer, sequence) for producer in (0, 1) for sequence in (0, 1)
    ]


def test_a_progress_page_is_shared(tmp_path: Path) -> None:
    """What the worker writes the harness sees, and the other way round."""
    harness = Progress.create(tmp_path, "p")
    worker = Progress.open(tmp_path, "p")
    assert worker.allowed == -1

    worker.acked, worker.last_ack_ns = 12, 2**62
    harness.allow(500)

    assert (12, 2**62, 500) == (harness.acked, harness.last_ack_ns, worker.allowed)
    harness.allow(None)
    assert worker.allowed == -1


def test_no_two_counters_share_a_cell(tmp_path: Path) -> None:
    """And each stands where docs/history.md has it."""
    worker = Progress.create(tmp_path, "p")
    names = ("sends", "acked", "failed", "info", "reads", "last_ack_ns", "state", "errors")
    for number, name in enumerate(names):
        setattr(worker, name, number + 1)
    worker.allow(9)
    worker.refusal = 10

    assert (
        list(range(1, 11))
        == list(worker.cells)
        == [getattr(worker, name) for name in (*names, "allowed", "refusal")]
    )


# Room


def test_a_full_disk_is_an_error_and_not_a_crash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Blocks are allocated with the segment: without room there is none, and the last one stays."""
    recorder = Recorder(tmp_path, "p", capacity=2)
    for n in range(2):
        recorder.invoke(SEND, 0, n, 1, 1)

    def no_room(_file: int, _offset: int, _length: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_room)
    with pytest.raises(OSError, match="No space left"):
        recorder.invoke(SEND, 0, 2, 1, 1)

    recorder.complete(1, OK, 5, 2, NOTHING, 0)
    assert ["info", "ok"] == [o.type for o in told(tmp_path)]


def test_a_file_system_that_cannot_allocate_is_good_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The segment is sparse there."""

    def unsupported(_file: int, _offset: int, _length: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    Recorder(tmp_path, "p").invoke(SEND, 3, 7, 10, 11)

    assert [operation()] == recorded_operations(tmp_path)


LINES_UNTIL_FULL = """
import sys
from pathlib import Path
from harness.history.recorder import Lines
file = Path(sys.argv[1])
lines = Lines(file)
try:
    while True:
        lines.write("x", filler="y" * 999)
except OSError as error:
    print(error, file=sys.stderr)
left = file.read_bytes()
sys.exit(0 if left.endswith(b"}\\n") and len(left) > 10**6 else 1)
"""


def test_a_line_for_which_there_is_no_room_is_not_there_in_part(tmp_path: Path) -> None:
    done = on_a_disk(
        tmp_path, "true", sys.executable, "-c", LINES_UNTIL_FULL, f"{tmp_path}/run/x.jsonl"
    )

    assert 0 == done.returncode, done.stderr
    assert f"No space left on device: '{tmp_path}/run/x.jsonl'" in done.stderr
