"""The format of a recorded operation: its fields, their bytes, and how to read them.

    slot 0 of a segment   magic(8) record_size(u16) pad(2) capacity(u32) first_id(u64), zeros to 72
    slot 1..capacity      0 type u8  1 f u8  2 instance u16  4 partition i32  8 value
                          16 intended_ns  24 start_ns  32 transaction i32  36 generation i32
                          40 offset  48 end_ns  56 broker i32  60 error i32  64 epoch i32
                          68 zeros                                   (else i64, all LE)

That is format 2. Format 1 can still be read; it had no instance, transaction, generation and epoch:
records of 56 bytes.

A new field belongs into `FORMAT` and `Operation` here, and into `harness.history.tables`.
`harness.history.segments` reads the same by columns. docs/history.md describes each field. Standard
library only: workers, harness and checkers all import this module.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

EMPTY, OPEN, OK, FAIL, INFO = range(5)  # the type byte
SEND, READ, LOOKUP, FINAL_READ, POLL, PROCESS, COMMIT, COMMITTED, REPLICA = range(1, 10)  # f
OUTPUT, FINAL_OUTPUT = 10, 11  # f: of what programs make of records, in a topic of its own
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
    OUTPUT: "output",  # during the load
    FINAL_OUTPUT: "final-output",  # all of them, after it
}

SEGMENT_CAPACITY: Final = 65_536
MOST_RECORDS: Final = 2**62  # of one worker; no id comes near it
HEADER: Final = struct.Struct("<8sH2xIQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One version of a record: its fields in order, as struct and numpy spell them."""

    magic: bytes
    size: int  # bytes of a record
    fields: tuple[tuple[str, str, int], ...]  # name, numpy's kind, where it begins
    completion_at: int  # where the part begins that is written at completion


_INVOKED: Final = (
    ("type", "u1", 0),
    ("f", "u1", 1),
    ("partition", "<i4", 4),
    ("value", "<i8", 8),
    ("intended_ns", "<i8", 16),
    ("start_ns", "<i8", 24),
)
FORMAT: Final = Format(
    magic=b"KHIST\0\0\2",
    size=72,
    fields=(
        *_INVOKED,
        ("instance", "<u2", 2),
        ("transaction", "<i4", 32),
        ("generation", "<i4", 36),
        ("offset", "<i8", 40),
        ("end_ns", "<i8", 48),
        ("broker", "<i4", 56),
        ("error", "<i4", 60),
        ("epoch", "<i4", 64),
    ),
    completion_at=40,
)
FORMAT_1: Final = Format(
    magic=b"KHIST\0\0\1",
    size=56,
    fields=(
        *_INVOKED,
        ("offset", "<i8", 32),
        ("end_ns", "<i8", 40),
        ("broker", "<i4", 48),
        ("error", "<i4", 52),
    ),
    completion_at=32,
)
FORMATS: Final = {version.magic: version for version in (FORMAT, FORMAT_1)}
MAGIC: Final = FORMAT.magic
RECORD_SIZE: Final = FORMAT.size
COMPLETION_AT: Final = FORMAT.completion_at
RECORD: Final = struct.Struct("<BBHiqqqiiqqiii4x")
PROCESS_NAME: Final = "[A-Za-z0-9_-]+"
SEGMENT_NAME: Final = re.compile(rf"(?P<process>{PROCESS_NAME})\.(?P<number>\d{{4,}})\.seg")

TOMBSTONE: Final = "kafka-harness"  # the header with what a record has in its value otherwise
NOTHING: Final = -1  # what is missing in a record; null once sealed
OPTIONAL: Final = ("value", "transaction", "generation", "offset", "broker", "epoch")
SEQUENCE_BITS: Final = 40
_ALL_BITS: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15


def value_of(producer: int, sequence: int) -> int:
    """The value of one record: unique in a run, dense for each producer."""
    return producer << SEQUENCE_BITS | sequence


# What is drawn for a record is drawn by its value: a checker knows it without having it recorded.


def drawn(value: Any, seed: int) -> Any:
    """A number below 2^64 for a value, as if at random: splitmix64 of both. The value is an int, or
    an array of numpy's uint64, and so is the number."""
    mixed = (value + (seed * _GOLDEN & _ALL_BITS)) * _GOLDEN & _ALL_BITS
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _ALL_BITS
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _ALL_BITS
    return mixed ^ mixed >> 31


def zipf_ends(keys: int) -> list[int]:
    """Where each of so many keys ends, but the last, among the numbers below 2^64, so that the k-th
    has a share as 1/k (Zipf's law). A record has the key in whose share its drawn number is."""
    ends = list(accumulate(1 / rank for rank in range(1, keys + 1)))
    return [min(int(end / ends[-1] * 2**64), _ALL_BITS) for end in ends[:-1]]


def is_tombstone(value: Any, seed: int, share: float) -> Any:
    """Whether a record has a key and no value, as this share (0 to 1) of all; of a value or of an
    array, as `drawn`. It is drawn apart from the record's key."""
    return drawn(drawn(value, seed), seed) < min(int(share * 2**64), _ALL_BITS)


class HistoryError(Exception):
    """A history cannot be used as it is; one sentence that names the file and the remedy."""


class BadHeaderError(ValueError):
    """The file does not begin as a segment does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a record; None where nothing is known."""

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
    instance: int | None = None  # which client of the worker, from 0 on
    transaction: int | None = None  # of a send: the number of the worker's transaction, from 0 on
    generation: int | None = None  # of the group, as the member knows it
    epoch: int | None = None  # the leader's, of a record that was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A segment's own description."""

    format: Format
    capacity: int
    first_id: int


def read_header(head: bytes) -> Header:
    """The header in a segment's first bytes. Raises BadHeaderError."""
    if len(head) < HEADER.size:
        raise BadHeaderError(f"it has only {len(head)} bytes")
    magic, record_size, capacity, first_id = HEADER.unpack_from(head)
    version = FORMATS.get(magic)
    possible = capacity > 0 and first_id < MOST_RECORDS
    if version is None or record_size != version.size or not possible:
        raise BadHeaderError("its header is not that of a segment of this version")
    return Header(format=version, capacity=capacity, first_id=first_id)


def read_operations(segment: bytes) -> Iterator[Operation | str]:
    """Yield every used slot of a segment in order: its operation, or "torn" or "bad".

    A slot is torn if its process died while invoking it. It is bad if no recorder writes it, as an
    empty one before a used one. Raises BadHeaderError.
    """
    header = read_header(segment)
    size = header.format.size
    whole = min(header.capacity, (len(segment) - size) // size)
    # A slot that was cut off says nothing, not even that those before it were used.
    used = segment[size : (whole + 1) * size].rstrip(b"\0")
    slots = -(-len(used) // size)
    for slot in range(slots):
        at = (slot + 1) * size
        yield _operation(header.format, segment[at : at + size], header.first_id + slot)


def _operation(version: Format, slot: bytes, operation: int) -> Operation | str:
    fields = dict.fromkeys(OPTIONAL, NOTHING)
    fields |= {name: _number(slot, kind, at) for name, kind, at in version.fields}
    type_, f = fields["type"], fields["f"]
    if type_ == EMPTY and any(slot):
        return "torn"
    if type_ == OPEN:
        fields |= {"offset": NOTHING, "broker": NOTHING, "epoch": NOTHING, "error": 0}
        fields["end_ns"] = fields["start_ns"]
    possible = (
        type_ in TYPE_NAMES
        and f in F_NAMES
        and fields["partition"] >= 0
        and min(fields[name] for name in OPTIONAL) >= NOTHING
        and fields["intended_ns"] > 0
        and 0 < fields["start_ns"] <= fields["end_ns"]
    )
    if not possible:
        return "bad"
    return Operation(
        id=operation,
        f=F_NAMES[f],
        type=TYPE_NAMES[type_],
        partition=fields["partition"],
        intended_ns=fields["intended_ns"],
        start_ns=fields["start_ns"],
        end_ns=None if type_ == OPEN else fields["end_ns"],
        error=fields["error"],
        instance=fields.get("instance"),
        **{name: _none_if_missing(fields[name]) for name in OPTIONAL},
    )


def _number(slot: bytes, kind: str, at: int) -> int:
    """One field; `kind` in numpy's spelling: <i8, u1."""
    number = int(kind[-1])
    return int.from_bytes(slot[at : at + number], "little", signed="i" in kind)


def _none_if_missing(number: int) -> int | None:
    return None if number == NOTHING else number
