"""The sends that the page draws (analysis.measures.drawn_sends), by numpy: the same ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.measures.by_driver.batches import NONE, TYPES, Batch
from analysis.measures.by_driver.timeline import hundredths
from analysis.stored.columns import Numbers

Row = dict[str, Any]
# XXH64's numbers: Spark's `xxhash64` begins with 42, and hashes each column with the last's hash.
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SEED = 42
_Hashes = npt.NDArray[np.uint64]


def drawn(batches: Iterable[Batch], limits: Mapping[str, Any]) -> Iterator[Row]:
    """Rows of `drawn_sends.drawn`, by a row of `drawn_sends.limits`."""
    for batch in batches:
        send = batch.did("send")
        acked, known = batch.ended("ok"), batch.end_ns != NONE
        ms = hundredths(batch.end_ns - np.where(known, batch.intended_ns, batch.end_ns)) / 100
        below = np.full(len(send), limits["others"])
        for name, least in (("slow", "p99_ms"), ("slowest", "p999_ms")):
            if limits[least] is not None:
                below = np.where(ms > limits[least], limits[name], below)
        below = np.where(acked, below, limits["unacked"])
        draw = (_hashed(batch.process, batch.id) >> np.uint64(33)).astype(np.int64)
        mine = draw < below
        if limits["max_ms"] is not None:
            mine |= acked & (ms >= limits["max_ms"])
        for place in np.flatnonzero(send & mine).tolist():
            yield {
                "type": TYPES[batch.type[place]],
                "due_ns": int(batch.intended_ns[place]),
                "end_ns": int(batch.end_ns[place]) if known[place] else None,
            }


def _hashed(process: str, numbers: Numbers) -> _Hashes:
    """As Spark's `xxhash64(crc32(process), number)`."""
    seed = np.full(1, _SEED, dtype=np.uint64)
    crc = np.array([zlib.crc32(process.encode())], dtype=np.uint64)
    return _xxh64(numbers.view(np.uint64), _xxh64(crc, seed))


def _xxh64(numbers: _Hashes, seed: _Hashes) -> _Hashes:
    told = (seed + _P5 + np.uint64(8)) ^ (_turned(numbers * _P2, 31) * _P1)
    told = _turned(told, 27) * _P1 + _P4
    told = (told ^ (told >> np.uint64(33))) * _P2
    told = (told ^ (told >> np.uint64(29))) * _P3
    last: _Hashes = told ^ (told >> np.uint64(32))
    return last


def _turned(numbers: _Hashes, bits: int) -> _Hashes:
    turned: _Hashes = (numbers << np.uint64(bits)) | (numbers >> np.uint64(64 - bits))
    return turned
