"""The format of a recorded operation: its fields, their bytes, and how they are read back.

    slot 0 of a segment   magic(8) record_size(u16) pad(2) capacity(u32) first_id(u64), zeros to 56
    slot 1..capacity      0 type  1 f  4 partition i32  8 value  16 intended_ns  24 start_ns
                          32 offset  40 end_ns  48 broker i32  52 error i32     (else i64, all LE)

A field more is a field of `RECORD` and `Operation` here, and of `harness.history.tables`.
`harness.history.segments` reads the same by columns. docs/history.md tells it field by field.
Standard library only: workers, harness and checkers all import this module.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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
MOST_RECORDS: Final = 2**62  # of one worker; no id comes near it
COMPLETION_AT: Final = 32  # where the part begins that is written at completion
HEADER: Final = struct.Struct("<8sH2xIQ")
RECORD: Final = struct.Struct("<BB2xiqqqqqii")
PROCESS_NAME: Final = "[A-Za-z0-9_-]+"
SEGMENT_NAME: Final = re.compile(rf"(?P<process>{PROCESS_NAME})\.(?P<number>\d{{4,}})\.seg")

NOTHING: Final = -1  # a missing offset, broker or value in a record; null once sealed
SEQUENCE_BITS: Final = 40


def value_of(producer: int, sequence: int) -> int:
    """The value of one record: unique in a run, dense for each producer."""
    return producer << SEQUENCE_BITS | sequence


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
    if magic != MAGIC or record_size != RECORD_SIZE or capacity == 0 or first_id >= MOST_RECORDS:
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
