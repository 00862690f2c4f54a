"""The sends that the page draws one by one: a sample, by a rule that the page states.

Sends have four sorts: without an ack (failed or in doubt), acked and slower than p99.9, between p99
and p99.9, and all others. The page draws at most `EACH` of a sort. In a larger sort each send has
the same chance, by a hash of its process and number, so that the same run always gives the same
picture. The slowest ack is always drawn.

    9,989 acked, 8 failed, 3 in doubt  =>  those 11, the 100 slower than p99, 1,000 of the others

The sizes of the sorts are known from the counts, so that this is one more pass.

Cannot see: which send of a large sort would have said most; outages without many sends (the
timeline shows p99 of every bucket).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from analysis.measures.latency_and_rates import hundredths
from analysis.stored.batches import NONE, TYPES, Batch
from analysis.stored.columns import Numbers
from analysis.stored.stored_run import Run

EACH = 1_000  # of a sort
DRAWS = 1 << 31  # a send's number is one of these, and is drawn if it is below its sort's
# Those of XXH64, as Spark's `xxhash64` computes it: it begins with 42, and hashes each column with
# the last's hash.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Below which number a send of a sort is drawn."""

    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None
    others: int
    slow: int  # than the 99 % quantile
    slowest: int  # than the 99.9 % quantile
    unacked: int


class SendRow(TypedDict):
    """A send that is drawn."""

    type: str
    due_ns: int
    end_ns: int | None  # None: it never ended


class Point(TypedDict):
    """The same in the picture."""

    due_s: float
    ms: float
    type: str


def limits(counts: Mapping[str, int], quantiles: Mapping[str, float]) -> Limits:
    """Of which sort sends are drawn below which number: from the run's
    counts and the quantiles of its acks (empty without any)."""
    acked, whole = counts["acked"], counts["failed"] + counts["indeterminate"]
    return Limits(
        p99_ms=quantiles.get("p99"),
        p999_ms=quantiles.get("p999"),
        max_ms=quantiles.get("max"),
        others=_below(acked),
        slow=_below(acked / 100),
        slowest=_below(acked / 1000),
        unacked=_below(whole),
    )


def drawn(batches: Iterable[Batch], limits: Limits) -> Iterator[SendRow]:
    """The sends that are drawn."""
    for batch in batches:
        send = batch.did("send")
        acked, known = batch.ended("ok"), batch.end_ns != NONE
        ms = hundredths(batch.end_ns - np.where(known, batch.intended_ns, batch.end_ns)) / 100
        below = np.full(len(send), limits.others)
        for least, number in (
            (limits.p99_ms, limits.slow),
            (limits.p999_ms, limits.slowest),
        ):
            if least is not None:
                below = np.where(ms > least, number, below)
        below = np.where(acked, below, limits.unacked)
        draw = (_hashed(batch.process, batch.id) >> np.uint64(33)).astype(np.int64)
        mine = draw < below
        if limits.max_ms is not None:
            mine |= acked & (ms >= limits.max_ms)
        for place in np.flatnonzero(send & mine).tolist():
            yield {
                "type": TYPES[batch.type[place]],
                "due_ns": int(batch.intended_ns[place]),
                "end_ns": int(batch.end_ns[place]) if known[place] else None,
            }


def points(run: Run, rows: Sequence[SendRow]) -> list[Point]:
    """What is drawn of each, in order of time. One that never ended waited until the load ended."""
    found: list[Point] = [
        {
            "due_s": run.seconds(row["due_ns"]),
            "ms": round((_end(run, row) - row["due_ns"]) / 1e6, 2),
            "type": row["type"],
        }
        for row in rows
    ]
    return sorted(found, key=lambda row: (row["due_s"], row["type"], row["ms"]))


def _end(run: Run, row: SendRow) -> int:
    ended_ns = row["end_ns"]
    return max(run.load_end_ns, row["due_ns"]) if ended_ns is None else ended_ns


def _below(size: float) -> int:
    """So many numbers that about EACH of this many sends are below."""
    return DRAWS if size <= EACH else int(DRAWS * EACH / size)


def _hashed(process: str, numbers: Numbers) -> _Hashes:
    """As Spark's `xxhash64(crc32(process), number)`."""
    seed = np.full(1, _SEED, dtype=np.uint64)
    crc = np.array([zlib.crc32(process.encode())], dtype=np.uint64)
    return _xxh64(numbers.view(np.uint64), _xxh64(crc, seed))


def _xxh64(numbers: _Hashes, seed: _Hashes) -> _Hashes:
    hashes = (seed + _P5 + np.uint64(8)) ^ (_turned(numbers * _P2, 31) * _P1)
    hashes = _turned(hashes, 27) * _P1 + _P4
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
    last: _Hashes = hashes ^ (hashes >> np.uint64(32))
    return last


def _turned(numbers: _Hashes, bits: int) -> _Hashes:
    turned: _Hashes = (numbers << np.uint64(bits)) | (numbers >> np.uint64(64 - bits))
    return turned
