"""The history while it is being recorded: binary records, JSON lines beside them, a progress page.

Every worker process owns four kinds of files in the run's `history/` folder:

    <process>.<NNNN>.seg    operations: fixed 56-byte records in a preallocated, memory-mapped file
    <process>.jsonl         events: whatever is rare or needs words, one JSON line each
    <process>.progress      counters for the harness's live line; not part of the history

An operation is written when it is invoked, as *open*, and completed in place. The byte that says
how it ended is written last, so a process that is killed at any byte leaves *info* (open) or a
*torn* slot that counts as not invoked, never a wrong answer. Written pages belong to the kernel:
they outlive the process, even after SIGKILL (not a crash of the host).

    slot 0 of a segment   magic(8) record_size(u16) pad(2) capacity(u32) first_id(u64), zeros to 56
    slot 1..capacity      0 type  1 f  4 partition i32  8 value  16 intended_ns  24 start_ns
                          32 offset  40 end_ns  48 broker i32  52 error i32     (else i64, all LE)

All times are CLOCK_MONOTONIC of the one host, in ns. docs/history.md tells it field by field.
Standard library only: workers, harness and checkers all import this module.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import re
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

EMPTY, OPEN, OK, FAIL, INFO = range(5)  # the type byte
SEND, READ, LOOKUP, FINAL_READ, POLL, PROCESS, COMMIT, COMMITTED, REPLICA = range(1, 10)  # f
TYPE_NAMES: Final = {OPEN: "info", OK: "ok", FAIL: "fail", INFO: "info"}
F_NAMES: Final = {
    SEND: "send",
    READ: "read",
    LOOKUP: "lookup",
    FINAL_READ: "final-read",
    POLL: "poll",
    PROCESS: "process",
    COMMIT: "commit",
    COMMITTED: "committed",  # of a group
    REPLICA: "replica",
}

MAGIC: Final = b"KHIST\0\0\1"
RECORD_SIZE: Final = 56
SEGMENT_CAPACITY: Final = 65_536
COMPLETION_AT: Final = 32  # where the part begins that is written at completion
HEADER: Final = struct.Struct("<8sH2xIQ")
RECORD: Final = struct.Struct("<BB2xiqqqqqii")
# Bound once: looking a method up costs a tenth of what it does.
_pack_invocation: Final = struct.Struct("<BB2xiqqq").pack_into
_pack_completion: Final = struct.Struct("<qqii").pack_into
_pack_record: Final = RECORD.pack_into
SEGMENT_NAME: Final = re.compile(r"(?P<process>[A-Za-z0-9_-]+)\.(?P<number>\d{4,})\.seg")

NOTHING: Final = -1  # a missing offset, broker or value in a record; null once sealed
SEQUENCE_BITS: Final = 40


def value_of(producer: int, sequence: int) -> int:
    """The value of one record: unique in a run, dense for each producer."""
    return producer << SEQUENCE_BITS | sequence


class Lines:
    """A file of JSON lines. Each is one write(2), so that a line is there whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, event: str, *, time_ns: int | None = None, **fields: Any) -> None:
        """Append one line, stamped `time_ns` or now; safe from any thread."""
        stamp = time.monotonic_ns() if time_ns is None else time_ns
        line = json.dumps({"event": event, "time_ns": stamp, **fields}) + "\n"
        with self._lock:
            self._file.write(line.encode())

    def own(self) -> None:
        """Hold the file's lock until it is closed or the process dies. Raises OSError if taken."""
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Recorder:
    """Records one process's operations and events; for one thread.

    An operation's id is its slot, counted over all segments of the process. `capacity` (records in
    a segment) must be a power of two. Raises OSError when there is no room for the next segment:
    space is allocated with the segment, so writing a record cannot fail.
    """

    def __init__(self, directory: Path, process: str, capacity: int = SEGMENT_CAPACITY) -> None:
        assert capacity & (capacity - 1) == 0
        self._directory, self._process, self._capacity = directory, process, capacity
        self._shift, self._mask = capacity.bit_length() - 1, capacity - 1
        self._lines = Lines(directory / f"{process}.jsonl")
        self._lines.own()
        self._named: set[int] = set()
        # By number: the last one, and those in which an operation is open.
        self._segments: dict[int, mmap.mmap] = {}
        self._count = 0
        self._end = (capacity + 1) * RECORD_SIZE
        self._next = self._grow()

    def invoke(self, f: int, partition: int, value: int, intended_ns: int, start_ns: int) -> int:
        """Record that an operation begins; it is open (info) until completed. Returns its id."""
        at = self._next
        if at == self._end:
            at = self._grow()
        segment = self._current
        _pack_invocation(segment, at, EMPTY, f, partition, value, intended_ns, start_ns)
        segment[at] = OPEN
        self._next = at + RECORD_SIZE
        operation = self._count
        self._count = operation + 1
        return operation

    def complete(  # noqa: PLR0913, PLR0917  one a field; keywords would cost a tenth of the time
        self, operation: int, type_: int, offset: int, end_ns: int, broker: int, error: int
    ) -> None:
        """Record how an operation ended: OK, FAIL or INFO. Missing: NOTHING; no error: 0."""
        segment = self._segments[operation >> self._shift]
        at = ((operation & self._mask) + 1) * RECORD_SIZE
        _pack_completion(segment, at + COMPLETION_AT, offset, end_ns, broker, error)
        segment[at] = type_

    def record(  # noqa: PLR0913, PLR0917
        self,
        f: int,
        partition: int,
        value: int,
        start_ns: int,
        offset: int,
        end_ns: int,
        broker: int,
    ) -> int:
        """Record in one go what is known only once it is ok: a record read. Returns its id."""
        at = self._next
        if at == self._end:
            at = self._grow()
        segment = self._current
        _pack_record(
            segment, at, EMPTY, f, partition, value, start_ns, start_ns, offset, end_ns, broker, 0
        )
        segment[at] = OK
        self._next = at + RECORD_SIZE
        operation = self._count
        self._count = operation + 1
        return operation

    def name_error(self, code: int, name: str) -> None:
        """Write an error's name down, once; call it before the first record that holds the code."""
        if code not in self._named:
            self._named.add(code)
            self.event("error-name", code=code, name=name)

    def event(self, event: str, **fields: Any) -> None:
        """Append an event to the side file, stamped now."""
        self._lines.write(event, **fields)

    def close(self) -> None:
        """Let the files go. Nothing is pending: what was recorded has been in them all along."""
        self._lines.close()
        for segment in self._segments.values():
            segment.close()

    def _grow(self) -> int:
        number = self._count >> self._shift
        path = self._directory / f"{self._process}.{number:04d}.seg"
        self._retire()
        self._current = _new_segment(path, self._capacity, self._count)
        self._segments[number] = self._current
        return RECORD_SIZE

    def _retire(self) -> None:
        """Let go of full segments without open operations: each map holds a file descriptor."""
        for number, segment in list(self._segments.items()):
            if OPEN not in segment[RECORD_SIZE::RECORD_SIZE]:
                segment.close()
                del self._segments[number]


def _new_segment(path: Path, capacity: int, first_id: int) -> mmap.mmap:
    """A mapped segment with its header in place; it gets its name once it is whole."""
    if path.exists():
        raise FileExistsError(errno.EEXIST, "a restarted worker needs a new name", str(path))
    size = (capacity + 1) * RECORD_SIZE
    partial = path.with_suffix(".partial")
    with partial.open("w+b") as file:
        try:
            # Without blocks of its own, a full disk would be a SIGBUS in the middle of a record.
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
            file.truncate(size)
        segment = mmap.mmap(file.fileno(), size)
    HEADER.pack_into(segment, 0, MAGIC, RECORD_SIZE, capacity, first_id)
    partial.rename(path)
    return segment


# Reading records without any library; seal.py does the same by columns


class HistoryError(Exception):
    """A history cannot be used as it is: one sentence that names the file and the remedy."""


class BadHeaderError(ValueError):
    """The file does not begin as a segment does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation as its record tells it; None where nothing is known."""

    id: int
    f: str  # one of F_NAMES
    type: str  # ok, fail, info
    partition: int
    value: int | None
    intended_ns: int
    start_ns: int
    offset: int | None
    end_ns: int | None
    broker: int | None
    error: int  # librdkafka's code, 0 for none


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a segment says about itself."""

    capacity: int
    first_id: int


def read_header(head: bytes) -> Header:
    """The header in a segment's first bytes. Raises BadHeaderError."""
    if len(head) < HEADER.size:
        raise BadHeaderError(f"it has only {len(head)} bytes")
    magic, record_size, capacity, first_id = HEADER.unpack_from(head)
    if magic != MAGIC or record_size != RECORD_SIZE or capacity == 0:
        raise BadHeaderError("its header is not that of a segment of this version")
    return Header(capacity=capacity, first_id=first_id)


def read_operations(segment: bytes) -> Iterator[Operation | str]:
    """Every used slot of a segment in order: its operation, or "torn" or "bad".

    A torn slot was being invoked when its process died. A bad one can come from no recorder, nor
    can an empty one before a used one. Raises BadHeaderError.
    """
    header = read_header(segment)
    whole = min(header.capacity, (len(segment) - RECORD_SIZE) // RECORD_SIZE)
    # A slot that was cut off tells nothing, not even that those before it were used.
    used = segment[RECORD_SIZE : (whole + 1) * RECORD_SIZE].rstrip(b"\0")
    slots = -(-len(used) // RECORD_SIZE)
    for slot in range(slots):
        at = (slot + 1) * RECORD_SIZE
        yield _operation(segment[at : at + RECORD_SIZE], header.first_id + slot)


def _operation(slot: bytes, operation: int) -> Operation | str:
    type_, f, partition, value, intended, start, offset, end, broker, error = RECORD.unpack(slot)
    if type_ == EMPTY and any(slot):
        return "torn"
    if type_ == OPEN:
        offset, end, broker, error = NOTHING, start, NOTHING, 0
    possible = (
        type_ in TYPE_NAMES
        and f in F_NAMES
        and partition >= 0
        and min(value, offset, broker) >= NOTHING
        and intended > 0
        and 0 < start <= end
    )
    if not possible:
        return "bad"
    return Operation(
        id=operation,
        f=F_NAMES[f],
        type=TYPE_NAMES[type_],
        partition=partition,
        value=_known(value),
        intended_ns=intended,
        start_ns=start,
        offset=_known(offset),
        end_ns=None if type_ == OPEN else end,
        broker=_known(broker),
        error=error,
    )


def _known(number: int) -> int | None:
    return None if number == NOTHING else number


# Progress


class _Cell:
    """One counter of a progress page."""

    def __init__(self, index: int) -> None:
        self._index = index

    def __get__(self, page: Progress, _: type | None = None) -> int:
        return page.cells[self._index]

    def __set__(self, page: Progress, number: int) -> None:
        page.cells[self._index] = number


RUNNING, DONE = 1, 2  # 0 as long as it starts


class Progress:
    """A page of counters that a worker keeps and the harness looks at, shared through a file.

    `allowed` goes the other way: the harness lets the worker begin so many sends, -1 for no limit.
    Each counter is one aligned 8-byte store; two counters read together may be a moment apart.
    """

    CELLS = 9
    sends, acked, failed, info = _Cell(0), _Cell(1), _Cell(2), _Cell(3)
    reads, last_ack_ns, state, errors = _Cell(4), _Cell(5), _Cell(6), _Cell(7)
    allowed = _Cell(8)

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8 * self.CELLS)
        self.cells = memoryview(self._page).cast("q")

    @classmethod
    def create(cls, directory: Path, process: str) -> Progress:
        """A fresh page: all zero, no limit."""
        path = directory / f"{process}.progress"
        path.write_bytes(struct.pack(f"={cls.CELLS}q", *[0] * (cls.CELLS - 1), -1))
        return cls(path)

    @classmethod
    def open(cls, directory: Path, process: str) -> Progress:
        """The page that the harness made, or a fresh one where there is no harness."""
        path = directory / f"{process}.progress"
        return cls(path) if path.exists() else cls.create(directory, process)

    def allow(self, sends: int | None) -> None:
        """Let the worker begin `sends` sends in all; None: as many as it likes."""
        self.allowed = -1 if sends is None else sends
