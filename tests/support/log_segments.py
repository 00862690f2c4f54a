"""A partition's log: segments as a broker writes them, payloads as our producers do."""

from __future__ import annotations

import struct

from workloads.client import payload


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
