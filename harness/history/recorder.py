"""Records a history: binary records, and JSON lines beside them.

Every worker process owns three kinds of files in the run's `history/` folder:

    <process>.<NNNN>.seg    operations: fixed 72-byte records in a preallocated, memory-mapped file
    <process>.jsonl         events: whatever is rare or needs words, one JSON line each
    <process>.progress      counters for the harness's live line; not part of the history

An operation is written when it is invoked, as *open*, and completed in place. The byte of its end
is written last, so a process that is killed at any byte leaves *info* (open) or a *torn* slot,
which counts as not invoked, and never a wrong answer. Written pages belong to the kernel: they
outlive the process, even after SIGKILL (not a crash of the host).

All times are CLOCK_MONOTONIC of the one host, in ns. A record's bytes are in
`harness.history.record_format`, the counters in `harness.history.progress_page`. Standard library
only: workers, harness and checkers all import this module.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import struct
import threading
import time
from pathlib import Path
from typing import Any, Final

from harness.history.record_format import (
    COMPLETION_AT,
    EMPTY,
    HEADER,
    MAGIC,
    NOTHING,
    OK,
    OPEN,
    RECORD,
    RECORD_SIZE,
    SEGMENT_CAPACITY,
)

# Bound once: looking a method up takes a tenth of the time of its call.
_pack_invocation: Final = struct.Struct("<BBHiqqqii").pack_into
_pack_completion: Final = struct.Struct("<qqiii").pack_into
_pack_record: Final = RECORD.pack_into


class Lines:
    """A file of JSON lines. Each is one write(2), so a line is there whole or not at all: the part
    of a line that fits on a full disk is removed again."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()
        self.count = 0  # written so far

    def write(self, event: str, *, time_ns: int | None = None, **fields: Any) -> None:
        """Append one line, stamped `time_ns` or now; safe from any thread."""
        stamp = time.monotonic_ns() if time_ns is None else time_ns
        line = (json.dumps({"event": event, "time_ns": stamp, **fields}) + "\n").encode()
        with self._lock:
            taken = self._file.write(line)
            if taken < len(line):
                self._file.truncate(self._file.seek(0, os.SEEK_END) - taken)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._file.name)
            self.count += 1

    def own(self) -> None:
        """Hold the file's lock until it is closed or the process dies. Raises OSError if taken."""
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Recorder:
    """Records one process's operations and events; for one thread.

    An operation's id is its slot, counted over all segments of the process. `capacity` (records in
    a segment) must be a power of two. Raises OSError without room for the next segment: space is
    allocated with the segment, so writing a record cannot fail.

    `instance`, `transaction` and `generation` go into each later record: which client of the worker
    it is (from 0 on), the transaction of a send, and the group's generation as the member knows it.
    """

    def __init__(self, directory: Path, process: str, capacity: int = SEGMENT_CAPACITY) -> None:
        assert capacity & (capacity - 1) == 0
        self._directory, self._process, self._capacity = directory, process, capacity
        self._shift, self._mask = capacity.bit_length() - 1, capacity - 1
        self._lines = Lines(directory / f"{process}.jsonl")
        self._lines.own()
        self._named: set[int] = set()
        self.instance, self.transaction, self.generation = 0, NOTHING, NOTHING
        # By number: the last one, and those in which an operation is open.
        self._segments: dict[int, mmap.mmap] = {}
        self._count = 0
        self._end = (capacity + 1) * RECORD_SIZE
        self._next = self._grow()

    def invoke(self, f: int, partition: int, value: int, intended_ns: int, start_ns: int) -> int:
        """Record the begin of an operation, which is open (info) until completed. Returns its
        id."""
        at = self._next
        if at == self._end:
            at = self._grow()
        segment = self._current
        _pack_invocation(
            segment,
            at,
            EMPTY,
            f,
            self.instance,
            partition,
            value,
            intended_ns,
            start_ns,
            self.transaction,
            self.generation,
        )
        segment[at] = OPEN
        self._next = at + RECORD_SIZE
        operation = self._count
        self._count = operation + 1
        return operation

    def complete(  # noqa: PLR0913, PLR0917  one a field; keywords would cost a tenth of the time
        self, operation: int, type_: int, offset: int, end_ns: int, broker: int, error: int
    ) -> None:
        """Record the end of an operation: OK, FAIL or INFO. Missing: NOTHING; no error: 0."""
        segment = self._segments[operation >> self._shift]
        at = ((operation & self._mask) + 1) * RECORD_SIZE
        _pack_completion(segment, at + COMPLETION_AT, offset, end_ns, broker, error, NOTHING)
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
        *,
        epoch: int = NOTHING,
        intended_ns: int = 0,
        transaction: int = NOTHING,
    ) -> int:
        """Record in one step what is known only once it is ok: a record read. Returns its id.

        `epoch`: its leader's. `intended_ns` and `transaction`: of its send, from its payload (0:
        not in it, so the record gets `start_ns`).
        """
        at = self._next
        if at == self._end:
            at = self._grow()
        segment = self._current
        _pack_record(
            segment,
            at,
            EMPTY,
            f,
            self.instance,
            partition,
            value,
            intended_ns or start_ns,
            start_ns,
            transaction,
            self.generation,
            offset,
            end_ns,
            broker,
            0,
            epoch,
        )
        segment[at] = OK
        self._next = at + RECORD_SIZE
        operation = self._count
        self._count = operation + 1
        return operation

    def name_error(self, code: int, name: str) -> None:
        """Write an error's name, once; call it before the first record with the code."""
        if code not in self._named:
            self._named.add(code)
            self.event("error-name", code=code, name=name)

    def event(self, event: str, **fields: Any) -> None:
        """Append an event to the side file, stamped now."""
        self._lines.write(event, **fields)

    def end(self, **counted: Any) -> None:
        """Write the last event with the caller's counts and the numbers of operations and events
        before it, so that a reader notices any loss."""
        self.event("end", **counted, operations=self._count, events=self._lines.count)

    def close(self) -> None:
        """Close the files. Nothing is pending: everything recorded is already in them."""
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
        """Close full segments without open operations: each map holds a file descriptor."""
        for number, segment in list(self._segments.items()):
            if OPEN not in segment[RECORD_SIZE::RECORD_SIZE]:
                segment.close()
                del self._segments[number]


def _new_segment(path: Path, capacity: int, first_id: int) -> mmap.mmap:
    """A mapped segment with its header; it gets its name once it is whole."""
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
