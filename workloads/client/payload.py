"""A record's value on the wire, and what it tells a reader that has nothing else.

    b"1099511627783 81234567890 -1 5d41402a"

The value's number, when its send was due (CLOCK_MONOTONIC, ns), the worker's transaction that it
belongs to (-1: none), and the CRC-32 of all that stands before it, and of the record's key, in
hexadecimal; then spaces up to the width that is wanted. In the value, and not in headers: message
format 0.10.2 has none. Anybody can read it with a console consumer.

A payload without such a checksum was written by nobody of ours (*foreign*), or is no longer what
was written (*corrupt*): `is_corrupt` takes what has nearly the form of ours for the latter.
"""

from __future__ import annotations

import re
import zlib
from typing import Final, NamedTuple

LARGEST = 2**63 - 1
_FORM: Final = re.compile(rb"(\d{1,19} \d{1,19} (?:-1|\d{1,10}) )([0-9a-f]{8}) *")
_SHORTEST: Final = 24  # bytes of nearly ours: a shorter number is anybody's
_OF_OURS: Final = b"0123456789abcdef- "
_MOST_STRANGE: Final = 4  # bytes that ours does not have, in one that was damaged


class Payload(NamedTuple):
    """What a payload of ours tells."""

    value: int
    intended_ns: int  # when its send was due
    transaction: int  # of the worker; NOTHING outside any


def of(value: int, intended_ns: int, transaction: int, width: int) -> bytes:
    """The payload of `value`, at least `width` bytes long; records have no key."""
    told = b"%d %d %d " % (value, intended_ns, transaction)
    return (b"%b%08x" % (told, zlib.crc32(told))).ljust(width)


def parse(payload: bytes | str | None, key: bytes | str | None = None) -> Payload | None:
    """What a payload tells; None when no producer of ours has written it as it is."""
    whole = _FORM.fullmatch(_bytes(payload))
    if whole is None or zlib.crc32(_bytes(key), zlib.crc32(whole[1])) != int(whole[2], 16):
        return None
    told = Payload(*map(int, whole[1].split()))
    return told if told.value <= LARGEST and 0 < told.intended_ns <= LARGEST else None


def is_corrupt(payload: bytes | str | None, key: bytes | str | None = None) -> bool:
    """Whether a payload that cannot be parsed seems to have been one of ours."""
    data = _bytes(payload)
    strange = len(data.translate(None, _OF_OURS))
    near = len(data.rstrip()) >= _SHORTEST and 3 <= len(data.split()) <= 5
    return parse(data, key) is None and near and strange <= _MOST_STRANGE


def _bytes(given: bytes | str | None) -> bytes:
    return given.encode() if isinstance(given, str) else given or b""
