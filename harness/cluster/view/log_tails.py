"""The tail of a log as a broker has it on disk: its bytes from an offset on, copied.

What a broker truncates is gone for good, so who wants to know what it had copies it before. That
happens beside a load, so nothing is decoded here: segments are read as they are.

    log        offsets 0 1 2 3 | 4 5 6 7        two segments, of bases 0 and 4
    from 5     the second segment from the batch on that has offset 5

Where to begin in a segment is known by its index (Kafka 3.9: pairs of i32, a batch's last offset
less the segment's base, and where the batch begins; behind the last pair a living broker's index
has zeros). An index that leads nowhere is not believed: then the heads of all batches are read.

It is a tail: where it would be more bytes than wanted, the older ones are left out.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.view.log_files import BatchHead, read_head

EPOCHS = "leader-epoch-checkpoint"
_PAIR = struct.Struct(">ii")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """The newest bytes of one log, a part of each segment: the offset where it begins, and its
    batches, of which the last may be cut short while the broker writes. A part of no batch begins
    where its segment ends."""

    log_start: int  # the first segment's base offset
    parts: tuple[tuple[int, bytes], ...]
    cut_short: bool  # older bytes were wanted, and left out for want of room

    @property
    def size_bytes(self) -> int:
        """How much was copied."""
        return sum(len(data) for _, data in self.parts)


def tail(folder: Path, from_offset: int, most_bytes: int) -> LogTail | None:
    """What the log in a topic-partition's folder has from the batch with `from_offset` on; None
    where there is no log. Raises OSError."""
    segments = _segments(folder)
    if not segments:
        return None
    parts: list[tuple[int, bytes]] = []
    left, cut_short = most_bytes, False
    for base in sorted(segments, reverse=True):
        first, data, cut_short = _part(segments[base], base, from_offset, left)
        parts.append((first, data))
        left -= len(data)
        if base <= from_offset or cut_short:
            break
    newest_last = tuple(reversed(parts))
    return LogTail(log_start=min(segments), parts=newest_last, cut_short=cut_short)


def state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes whenever the log does: name, size and time of each segment. Raises OSError."""
    segments = ((path.name, path.stat()) for path in _segments(folder).values())
    return tuple(sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in segments))


def leader_epochs(folder: Path) -> list[tuple[int, int]]:
    """The log's leader-epoch checkpoint: each epoch and the first offset that was written in it.

    Raises OSError where there is none, ValueError where it is none.
    """
    lines = (folder / EPOCHS).read_text().split("\n")[2:]
    pairs = (line.split(" ") for line in lines if line)
    return [(int(epoch), int(offset)) for epoch, offset in pairs]


def _segments(folder: Path) -> dict[int, Path]:
    if not folder.is_dir():
        return {}
    return {int(path.stem): path for path in folder.glob("*.log") if path.stem.isdigit()}


def _part(segment: Path, base: int, from_offset: int, most_bytes: int) -> tuple[int, bytes, bool]:
    """The segment's bytes from the batch with that offset on, at most so many, behind the offset
    where they begin; and whether some were left out."""
    with segment.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        begin = _indexed(segment, base, from_offset, size - most_bytes)
        first, position, cut_short = base, size, False
        for head in _heads(file.fileno(), begin, base, size):
            wanted = head.last_offset >= from_offset
            if wanted and size - head.position <= most_bytes:
                first, position = head.base_offset, head.position
                break
            first, cut_short = head.last_offset + 1, cut_short or wanted
        return first, os.pread(file.fileno(), size - position, position), cut_short


def _indexed(segment: Path, base: int, offset: int, position: int) -> int:
    """Where the last batch that the index knows begins of those before that offset or before that
    position; 0 where it knows of none."""
    try:
        entries = segment.with_suffix(".index").read_bytes()
    except OSError:
        return 0
    best = 0
    for last, at in _PAIR.iter_unpack(entries[: len(entries) // _PAIR.size * _PAIR.size]):
        if at <= best or (base + last >= offset and at >= position):
            break
        best = at
    return best


def _heads(file: int, begin: int, base: int, size: int) -> Iterator[BatchHead]:
    """The heads of the whole batches from a position on; from the first one, where there is no
    batch of this segment at the position."""
    first = read_head(file, begin, size)
    position = begin if first and first.base_offset >= base else 0
    while (head := read_head(file, position, size)) is not None:
        yield head
        position = head.end
