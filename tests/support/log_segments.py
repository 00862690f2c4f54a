"""A partition's log: segments as a broker writes them, payloads as our producers do."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecordsBuilder

from workloads.client import payload

GZIP = 1


def batch(base: int, records: int = 1, *, epoch: int = 0, magic: int = 2, size: int = 80) -> bytes:
    """A batch as far as its head goes; the rest is zeros."""
    head = struct.pack(">qiibIhi", base, size - 12, epoch, magic, base + epoch, 0, records - 1)
    return head.ljust(size, b"\0")


def segment(folder, base: int, *batches: bytes):
    file = folder / f"{base:020d}.log"
    file.write_bytes(b"".join(batches))
    return file


def of_ours(value: int, width: int = 100, *, intended_ns: int = 1, transaction: int = -1) -> bytes:
    """The payload of a value."""
    return payload.of(value, intended_ns, transaction, width)


def in_a_dump(value: int) -> str:
    """The same as Kafka's DumpLogSegments prints it."""
    return of_ours(value, 1).decode()


def records(  # noqa: PLR0917
    base: int,
    values: Sequence[int | str],
    epoch: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    codec: int = 0,
    transactional: bool = False,
) -> bytes:
    """A batch of these payloads; `producer` is its id, epoch and first sequence number."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, *producer, 10**6)
    for number, value in enumerate(values):
        builder.append(number, 1, None, f"{value:>12}".encode(), [])
    return _placed(builder.build(), base, epoch)


def marker(base: int, commit: bool, epoch: int = 0, producer: tuple[int, int] = (7, 0)) -> bytes:
    """The end of a transaction."""
    builder = DefaultRecordBatchBuilder(2, 0, True, *producer, -1, 10**6)
    builder.append(0, 1, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0), [])
    made = bytearray(builder.build())
    made[22] |= 0x20  # the bit of a control batch
    return _placed(made, base, epoch)


def committed(base: int, offset: int) -> bytes:
    """A batch of __consumer_offsets: the group g committed this offset of partition 0 of t."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**6)
    key = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)
    builder.append(0, 1, key, struct.pack(">hqihq", 3, offset, 5, 0, 1), [])
    return _placed(builder.build(), base, 0)


def old(base: int, value: int) -> bytes:
    """A record in the format before batches (magic 1)."""
    builder = MemoryRecordsBuilder(1, 0, 10**6)
    builder.append(1, None, str(value).encode())
    builder.close()
    made = bytearray(builder.buffer())
    struct.pack_into(">q", made, 0, base)
    return bytes(made)


def _placed(made: Any, base: int, epoch: int) -> bytes:
    """With its base offset and epoch, which its checksum does not cover."""
    made = bytearray(made)
    struct.pack_into(">q", made, 0, base)
    struct.pack_into(">i", made, 12, epoch)
    return bytes(made)
