"""A recording that is cut at every byte, spoiled or killed never gives a wrong answer."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.history import recorder as history
from harness.history.progress_page import Progress
from harness.history.record_format import (
    FAIL,
    FINAL_READ,
    HEADER,
    LOOKUP,
    MAGIC,
    NOTHING,
    OK,
    RECORD_SIZE,
    SEND,
    BadHeaderError,
    Operation,
    read_operations,
)
from harness.history.recorder import Recorder
from harness.waiting import wait_until
from tests.support.recorded_runs import recorded_operations


class Tape(bytearray):
    """A segment that remembers every byte written to it, in order.

    pack_into writes to the memory itself; what it wrote is seen when the type byte is set, which
    is the only write by index.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.before = bytes(size)
        self.writes: list[list[tuple[int, int]]] = []  # groups: within one, any order is possible

    def __setitem__(self, at: int, byte: int) -> None:  # type: ignore[override]
        self.catch_up()
        super().__setitem__(at, byte)
        self.catch_up()

    def catch_up(self) -> None:
        """Note what has changed."""
        now = bytes(self)
        changed = [(i, now[i]) for i in range(len(now)) if now[i] != self.before[i]]
        if changed:
            self.writes.append(changed)
        self.before = now

    def close(self) -> None:
        """As an mmap has it."""


def taped(monkeypatch: pytest.MonkeyPatch, folder: Path, capacity: int = 8) -> Tape:
    """The segment that the next recorder will write to."""
    tape = Tape((capacity + 1) * RECORD_SIZE)

    def new_segment(_path: Path, _capacity: int, first_id: int) -> Tape:
        HEADER.pack_into(tape, 0, MAGIC, RECORD_SIZE, capacity, first_id)
        tape.before = bytes(tape)
        return tape

    monkeypatch.setattr(history, "_new_segment", new_segment)
    return tape


@pytest.mark.parametrize("order", ["upwards", "downwards", "mixed"])
def test_a_recording_cut_at_every_byte_never_tells_a_wrong_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, order: str
) -> None:
    """After every single byte: each operation is as invoked or as completed, or not there yet."""
    tape = taped(monkeypatch, tmp_path)
    image = bytearray(tape)
    recorder = Recorder(tmp_path, "p", capacity=8)
    image[:] = tape
    full = 2**62 + 2**40 + 259  # no byte of it is zero where it matters
    first = recorder.invoke(SEND, 2**30 + 257, full, full + 1, full + 2)
    second = recorder.invoke(LOOKUP, 1, full, full + 3, full + 3)
    recorder.complete(second, FAIL, 2**61 + 513, full + 9, 515, -185)
    recorder.record(FINAL_READ, 2, full, full + 4, 2**60 + 7, full + 8, 771)
    recorder.complete(first, OK, 2**60 + 1027, full + 7, 1029, -10_001)
    recorder.invoke(SEND, 3, 5, 6, 7)
    tape.catch_up()
    final = {o.id: o for o in read_operations(bytes(tape)) if isinstance(o, Operation)}
    unknown = {"type": "info", "offset": None, "end_ns": None, "broker": None, "error": 0}
    as_invoked = {n: _changed(final[n], **unknown) for n in (first, second)}

    rng = random.Random(7)
    for group in tape.writes:
        writes = {
            "upwards": group,
            "downwards": group[::-1],
            "mixed": rng.sample(group, len(group)),
        }
        for at, byte in writes[order]:
            image[at] = byte
            found = list(read_operations(bytes(image)))
            whole = [o for o in found if isinstance(o, Operation)]
            assert "bad" not in found
            assert found.count("torn") <= 1
            assert found[-1] == "torn" or "torn" not in found
            assert all(o in (final[o.id], as_invoked.get(o.id)) for o in whole)
    assert list(final.values()) == list(read_operations(bytes(image)))


def _changed(base: Operation, **changed: object) -> Operation:
    names = Operation.__slots__
    return Operation(**{**{name: getattr(base, name) for name in names}, **changed})


def test_a_segment_cut_at_every_length_tells_what_is_left(tmp_path: Path) -> None:
    """Whole records before the cut are read; the rest is not guessed at."""
    recorder = Recorder(tmp_path, "p", capacity=4)
    for n in range(4):
        recorder.complete(recorder.invoke(SEND, 0, n, 1, 1), OK, n, 2, NOTHING, 0)
    data = (tmp_path / "p.0000.seg").read_bytes()
    whole = list(read_operations(data))

    for length in range(len(data)):
        if length < HEADER.size:
            with pytest.raises(BadHeaderError):
                list(read_operations(data[:length]))
        else:
            left = max(0, length // RECORD_SIZE - 1)
            assert whole[:left] == list(read_operations(data[:length]))


@pytest.mark.parametrize(
    "spoiled",
    [
        {0: 9},
        {1: 0},
        {1: 77},
        {7: 0x80},
        {15: 0x80},
        {23: 0x80},
        {31: 0x80},
        {35: 0x80},
        {39: 0x80},
        {47: 0x80},
        {48: 1},
        {59: 0x80},
        {67: 0x80},
    ],
)
def test_a_record_that_no_recorder_writes_is_bad(tmp_path: Path, spoiled: dict[int, int]) -> None:
    """Unknown type or f, negative numbers, an end before the start."""
    recorder = Recorder(tmp_path, "p", capacity=4)
    recorder.complete(recorder.invoke(SEND, 3, 7, 10, 11), OK, 40, 12, 2, 0)
    data = bytearray((tmp_path / "p.0000.seg").read_bytes())
    for at, byte in spoiled.items():
        data[RECORD_SIZE + at] = byte

    assert ["bad"] == list(read_operations(bytes(data)))


def test_an_empty_slot_before_a_used_one_is_bad(tmp_path: Path) -> None:
    """Slots are used in order: a hole means that pages were lost."""
    recorder = Recorder(tmp_path, "p", capacity=4)
    for n in range(3):
        recorder.invoke(SEND, 0, n, 1, 1)
    data = bytearray((tmp_path / "p.0000.seg").read_bytes())
    data[2 * RECORD_SIZE : 3 * RECORD_SIZE] = bytes(RECORD_SIZE)

    found = list(read_operations(bytes(data)))
    assert [0, "bad", 2] == [o if isinstance(o, str) else o.id for o in found]


# Killed

CHILD = """
import sys
from pathlib import Path
from harness.history.progress_page import Progress
from harness.history.record_format import NOTHING, OK, SEND
from harness.history.recorder import Recorder
recorder = Recorder(Path(sys.argv[1]), "p", capacity=1024)
page = Progress.open(Path(sys.argv[1]), "p")
n = 0
while True:
    operation = recorder.invoke(SEND, n % 3, n, n + 1, n + 2)
    if n % 5:
        recorder.complete(operation, OK, 2 * n, n + 3, NOTHING, 0)
    n += 1
    page.acked = n
"""


@pytest.mark.parametrize("seed", range(5))
def test_what_was_complete_before_a_sigkill_is_readable(tmp_path: Path, seed: int) -> None:
    """A worker is killed at a moment of chance: nothing that it had completed is missing."""
    page = Progress.create(tmp_path, "p")
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)])
    many = random.Random(seed).randrange(1, 20_000)
    try:
        wait_until(lambda: page.acked >= many, timeout_s=60, what="operations", every_s=0.0001)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()

    found = recorded_operations(tmp_path)
    torn = found.count("torn")
    operations = [o for o in found if isinstance(o, Operation)]
    assert "bad" not in found
    assert torn <= 1
    assert page.acked <= len(operations) <= page.acked + 2
    for n, o in enumerate(operations[: page.acked]):
        end = ("info", None, None) if n % 5 == 0 else ("ok", 2 * n, n + 3)
        assert (n, n % 3, n, n + 1, n + 2, *end) == (
            o.id,
            o.partition,
            o.value,
            o.intended_ns,
            o.start_ns,
            o.type,
            o.offset,
            o.end_ns,
        )
