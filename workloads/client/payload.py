"""Writes and parses a record's payload, from which a reader learns about its send.

    b"1099511627783 81234567890 -1 5d41402a"

The value, the due time of its send (CLOCK_MONOTONIC, ns), the worker's transaction (-1: none), and
the CRC-32, in hexadecimal, of all that stands before it and of the record's key; then spaces up to
the wanted width. All of it is in the value, not in headers: message format 0.10.2 has none. Anybody
can read it with a console consumer. Only a tombstone, whose value is null, has it in a header.

A payload without such a checksum is either *foreign*, not written by us, or *corrupt*, no longer
what was written: `is_corrupt` decides by its likeness to ours.
"""

from __future__ import annotations

import re
import zlib
from typing import Final, NamedTuple

from confluent_kafka import Message

from harness.history.record_format import TOMBSTONE

LARGEST = 2**63 - 1
_FORM: Final = re.compile(rb"(\d{1,19} \d{1,19} (?:-1|\d{1,10}) )([0-9a-f]{8}) *")
_SHORTEST: Final = 24  # bytes of nearly ours: a shorter number is anybody's
_OF_OURS: Final = b"0123456789abcdef- "
_MOST_STRANGE: Final = 4  # bytes that ours does not have, in one that was damaged


class Payload(NamedTuple):
    """The fields of a payload of ours."""

    value: int
    intended_ns: int  # when its send was due
    transaction: int  # of the worker; NOTHING outside any


def of(
    value: int, intended_ns: int, transaction: int, width: int, key: bytes | None = None
) -> bytes:
    """The payload of `value`, at least `width` bytes long, in a record with this key."""
    fields = b"%d %d %d " % (value, intended_ns, transaction)
    checksum = zlib.crc32(fields) if key is None else zlib.crc32(key, zlib.crc32(fields))
    return (b"%b%08x" % (fields, checksum)).ljust(width)


def carried_by(message: Message) -> bytes | str | None:
    """What a record that was read has of it."""
    value: bytes | None = message.value()
    return dict(message.headers() or ()).get(TOMBSTONE) if value is None else value


def parse(payload: bytes | str | None, key: bytes | str | None = None) -> Payload | None:
    """The fields of a payload; None unless it is exactly what a producer of ours wrote."""
    whole = _FORM.fullmatch(_bytes(payload))
    if whole is None or zlib.crc32(_bytes(key), zlib.crc32(whole[1])) != int(whole[2], 16):
        return None
    parsed = Payload(*map(int, whole[1].split()))
    return parsed if parsed.value <= LARGEST and 0 < parsed.intended_ns <= LARGEST else None


def is_corrupt(payload: bytes | str | None, key: bytes | str | None = None) -> bool:
    """Whether an unparsable payload seems to have been one of ours."""
    data = _bytes(payload)
    strange = len(data.translate(None, _OF_OURS))
    near = len(data.rstrip()) >= _SHORTEST and 3 <= len(data.split()) <= 5
    return parse(data, key) is None and near and strange <= _MOST_STRANGE


def _bytes(given: bytes | str | None) -> bytes:
    return given.encode() if isinstance(given, str) else given or b""
