"""Segments of a partition's log as a broker writes them."""

from __future__ import annotations

import struct


def batch(base: int, records: int = 1, *, epoch: int = 0, magic: int = 2, size: int = 80) -> bytes:
    """A batch as far as its head goes; the rest is zeros."""
    head = struct.pack(">qiibIhi", base, size - 12, epoch, magic, base + epoch, 0, records - 1)
    return head.ljust(size, b"\0")


def segment(folder, base: int, *batches: bytes):
    file = folder / f"{base:020d}.log"
    file.write_bytes(b"".join(batches))
    return file
