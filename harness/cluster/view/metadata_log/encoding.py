"""Kafka's flexible encoding (KIP-482), as far as metadata records use it.

    number      big-endian; uvarint where it is a length, a count or a tag
    string      length + 1 as uvarint, then UTF-8; 0 for null
    array       count + 1 as uvarint, then its items; 0 for null
    struct      its fields, then tagged fields: a count, then tag, size and bytes of each

Whoever reads beyond the end of the bytes, or no UTF-8 where a text should be, gets Misread.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")
_INT8, _INT16, _INT32, _INT64 = (struct.Struct(f">{kind}") for kind in "bhiq")
_LONGEST_VARINT = 5  # bytes


class Misread(ValueError):
    """These bytes are not what they were read as."""


class Fields:
    """The fields of one message, read in their order."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return len(self._data) - self._at

    def int8(self) -> int:
        """A signed number of one byte."""
        return self._number(_INT8)

    def int16(self) -> int:
        """A signed number of two bytes."""
        return self._number(_INT16)

    def int32(self) -> int:
        """A signed number of four bytes."""
        return self._number(_INT32)

    def int64(self) -> int:
        """A signed number of eight bytes."""
        return self._number(_INT64)

    def boolean(self) -> bool:
        """A byte that is 0 or not."""
        return self.int8() != 0

    def uvarint(self) -> int:
        """A number of as many bytes as it needs, seven bits each, the lowest first."""
        value = 0
        for place in range(_LONGEST_VARINT):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise Misread("a number that never ends")

    def uuid(self) -> UUID:
        """Sixteen bytes."""
        return UUID(bytes=self._take(16))

    def string(self) -> str | None:
        """A text; None for null."""
        length = self.uvarint()
        if length == 0:
            return None
        try:
            return self._take(length - 1).decode()
        except UnicodeDecodeError as error:
            raise Misread(str(error)) from None

    def array(self, item: Callable[[], T]) -> tuple[T, ...] | None:
        """Its items, each as `item` reads it; None for null."""
        count = self.uvarint()
        return None if count == 0 else tuple(item() for _ in range(count - 1))

    def ids(self) -> tuple[int, ...] | None:
        """An array of brokers' numbers."""
        return self.array(self.int32)

    def tagged(self) -> dict[int, Fields]:
        """The tagged fields that a struct ends with."""
        fields = {}
        for _ in range(self.uvarint()):
            tag, size = self.uvarint(), self.uvarint()
            fields[tag] = Fields(self._take(size))
        return fields

    def _number(self, kind: struct.Struct) -> int:
        return int(kind.unpack(self._take(kind.size))[0])

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise Misread(f"{count} bytes wanted, {len(taken)} left")
        self._at += count
        return taken
