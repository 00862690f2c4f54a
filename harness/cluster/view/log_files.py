"""How far a broker has got, read from its data folder: high watermarks and log ends.

JMX tells a log's end but no high watermark, and a follower tells no client either; so both are
taken from what Kafka writes (3.9; storage of the local log, KIP-98 for the batch's format):

    replication-offset-checkpoint   "0", a count, then a line "topic partition watermark" for each;
                                    every replica.high.watermark.checkpoint.interval.ms (5 s)
    <topic>-<partition>/<base>.log  batches, one after the other; the last segment has the end

    batch = base offset i64, length i32, epoch i32, magic i8, crc u32, attributes i16, delta i32, …
    log end = base offset + delta + 1 of the last batch that is whole

Batches of the formats before (magic 0 and 1) carry the last offset where the base offset is now.

A watermark is as old as its checkpoint, never too high. A batch can be seen a moment before the
broker counts it; what is in the file and not whole yet is not seen at all.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

CHECKPOINT = "replication-offset-checkpoint"
_HEAD = struct.Struct(">qiibIhi")  # up to and with the last offset's delta
_BEFORE_LENGTH_COUNTS = 12  # base offset and length themselves
_WITH_DELTA = 2  # the first magic whose head has a delta


def high_watermarks(data: Path, topic: str) -> dict[int, int]:
    """The topic's watermarks by partition, as the broker checkpointed them last; empty before the
    first checkpoint, and when the broker has lost its disk."""
    try:
        lines = (data / CHECKPOINT).read_text().splitlines()[2:]
    except OSError:
        return {}
    entries = (line.split(" ") for line in lines)
    return {int(entry[1]): int(entry[2]) for entry in entries if entry[0] == topic}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHead:
    """Where a whole batch begins and ends in its file, and its offsets."""

    position: int
    end: int
    base_offset: int
    last_offset: int
    data: bytes


def read_head(file: int, position: int, size: int) -> BatchHead | None:
    """The head of the batch at a position of a file that has `size` bytes; None where there is no
    whole batch."""
    data = os.pread(file, _HEAD.size, position)
    if len(data) < _HEAD.size:
        return None
    base, length, _, magic, _, _, delta = _HEAD.unpack(data)
    end = position + _BEFORE_LENGTH_COUNTS + length
    if length <= 0 or end > size:  # preallocated zeros, or still being written
        return None
    return BatchHead(
        position=position,
        end=end,
        base_offset=base,
        last_offset=base + (delta if magic >= _WITH_DELTA else 0),
        data=data,
    )


@dataclass(kw_only=True)
class LogEnd:
    """Follows the end of one log; reads on where it stood, and begins the segment anew when what it
    knew of it is gone (rolled, truncated, written over)."""

    folder: Path  # of the topic-partition
    _segment: str = ""
    _position: int = 0  # of the first byte that is not known yet
    _last: tuple[int, bytes] | None = None  # the newest batch known: where, and its head
    _end: int = field(default=0)

    def now(self) -> int | None:
        """The log-end offset; None where there is no log."""
        try:
            name = max(e.name for e in os.scandir(self.folder) if e.name.endswith(".log"))
            file = os.open(self.folder / name, os.O_RDONLY)
        except (OSError, ValueError):
            return None
        try:
            if name != self._segment or not self._still_there(file):
                self._begin(name)
            self._read_on(file)
        finally:
            os.close(file)
        return self._end

    def _begin(self, name: str) -> None:
        self._segment, self._position, self._last = name, 0, None
        self._end = int(name.removesuffix(".log"))  # an empty segment ends where it begins

    def _still_there(self, file: int) -> bool:
        """Whether the newest batch known is where it was: if so, all before it is as well."""
        if self._last is None:
            return True
        position, head = self._last
        return os.pread(file, _HEAD.size, position) == head

    def _read_on(self, file: int) -> None:
        size = os.fstat(file).st_size
        while (head := read_head(file, self._position, size)) is not None:
            self._end = head.last_offset + 1
            self._last, self._position = (self._position, head.data), head.end
