"""One node's copy of the metadata log, followed on its disk: __cluster_metadata-0.

    <base>.log                       segments, one after the other
    <end>-<epoch>.checkpoint         snapshots: what the log says up to that offset, in batches
    ../meta.properties               the disk's own id: directory.id (Kafka 3.7+)

A log is read on from where its last whole batch ended, as long as that batch is where it was; by
log matching all before it is, too. Else, when it was truncated, wiped or written anew, it is read
from its start. A copy begins at the first segment's base, and ends where something is missing.

The log may be shorter than the newest snapshot: a follower that was left behind is given one, and
begins its log anew behind it, as a node does that finds its log so when it starts. The log does
not count then.

0-0.checkpoint is none of what the log says: a leader copies it there first (KIP-853, KIP-1170).
Its voters are those of a log that names none yet.
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from harness.cluster.view.metadata_log.batches import HEAD_BYTES, Batch, whole_batches
from harness.cluster.view.metadata_log.commit import Copy, Electorate
from harness.cluster.view.metadata_log.lineage import Lineage, Place, behind, extended, place
from harness.cluster.view.metadata_log.records import LeaderChange, Record, Voter, Voters

TOPIC_FOLDER = "__cluster_metadata-0"
_SEGMENT = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_DIRECTORY = re.compile(r"^directory\.id=([\w-]{22})\s*$", re.MULTILINE)


@dataclass(kw_only=True)
class Segment:
    """One segment, followed: where its last whole batch ended, and that batch's head."""

    path: Path
    base: int
    _end: int = 0  # a position
    _last: tuple[int, bytes] | None = None

    def read_on(self) -> list[Batch] | None:
        """The whole batches that have been added; None where what was read is there no longer.
        Raises OSError."""
        with self.path.open("rb") as file:
            if self._last is not None:
                position, head = self._last
                file.seek(position)
                if file.read(HEAD_BYTES) != head:
                    return None
            file.seek(self._end)
            added = list(whole_batches(file.read()))
        for batch in added:
            self._last = (self._end, batch.data[:HEAD_BYTES])
            self._end += len(batch.data)
        return added


@dataclass(kw_only=True)
class _Known:
    """What has been read of a log since it was begun anew; grows as the log does."""

    start: int = 0
    end: int = 0
    lineage: Lineage = ()
    directory: UUID | None = None
    torn: bool = True  # it is not all that can be: begin anew
    segments: list[Segment] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    electorates: list[Electorate] = field(default_factory=list)
    leaders: dict[int, int] = field(default_factory=dict)
    voters_of: dict[Place, tuple[Voter, ...]] = field(default_factory=dict)  # of snapshots
    copy: Copy | None = None


class Disk:
    """Follows one node's copy."""

    def __init__(self, node_id: int, folder: Path) -> None:
        self._id, self._folder = node_id, folder
        self._known = _Known()

    def read(self) -> Copy | None:
        """The copy now; None where there is no such folder. Raises Misread."""
        try:
            bases, snapshots = self._listed()
            known = self._known
            added = None if known.torn or not known.segments else self._read_on(bases)
            if added is None:
                known = self._known = self._begun(bases, snapshots)
                added = self._read_on(bases)
            known.torn = added is None  # changed again meanwhile
            grown = _append(known, added or [])
            if known.copy is None or grown or snapshots != known.copy.snapshots:
                known.copy = self._made(known, snapshots)
        except OSError:
            self._known = _Known()
            return None
        return known.copy

    def snapshot(self, at: Place) -> list[tuple[int, Record]]:
        """The records of a snapshot. Raises OSError, Misread."""
        return [record for batch in self._batches_of(at) for record in batch.records()]

    # Parts

    def _listed(self) -> tuple[list[int], tuple[Place, ...]]:
        bases, snapshots = [], []
        for name in os.listdir(self._folder):  # noqa: PTH208  names are all that is wanted
            if segment := _SEGMENT.fullmatch(name):
                bases.append(int(segment[1]))
            elif snapshot := _SNAPSHOT.fullmatch(name):
                snapshots.append(Place(end=int(snapshot[1]), epoch=int(snapshot[2])))
        return sorted(bases), tuple(sorted(snapshots))

    def _begun(self, bases: Sequence[int], snapshots: Sequence[Place]) -> _Known:
        start = bases[0] if bases else 0
        before = [snapshot for snapshot in snapshots if snapshot.end == start]
        return _Known(
            start=start,
            end=start,
            lineage=behind(before[-1]) if before else (),
            directory=_directory(self._folder.parent),
        )

    def _read_on(self, bases: Sequence[int]) -> list[Batch] | None:
        """What has been added to the log; None where it is another one. Raises OSError."""
        segments = self._known.segments
        if [segment.base for segment in segments] != list(bases[: len(segments)]):
            return None
        for base in bases[len(segments) :]:
            segments.append(Segment(path=self._folder / f"{base:020d}.log", base=base))
        added: list[Batch] = []
        for segment in segments:
            more = segment.read_on()
            if more is None:
                return None
            added += more
        return added

    def _made(self, known: _Known, snapshots: tuple[Place, ...]) -> Copy:
        newest = snapshots[-1] if snapshots else Place(epoch=0, end=0)
        whole = newest <= place(known.lineage)
        return Copy(
            node=Voter(id=self._id, directory=known.directory),
            lineage=known.lineage if whole else behind(newest),
            electorates=self._electorates(known, snapshots, known.electorates if whole else ()),
            leaders=dict(known.leaders),
            start=known.start if whole else newest.end,
            batches=known.batches if whole else (),
            snapshots=snapshots,
        )

    def _electorates(
        self, known: _Known, snapshots: Sequence[Place], logged: Sequence[Electorate]
    ) -> tuple[Electorate, ...]:
        """Those that the log names, and before them that of the newest snapshot, if any. Raises
        OSError, Misread."""
        before = [
            snapshot for snapshot in snapshots if not logged or snapshot.end <= logged[0].first
        ]
        if not before:
            return tuple(logged)
        at = before[-1]
        if at not in known.voters_of:
            controls = [batch for batch in self._batches_of(at) if batch.control]
            records = [record for batch in controls for _, record in batch.records()]
            named = [record.voters for record in records if isinstance(record, Voters)]
            known.voters_of[at] = named[-1] if named else ()
        voters = known.voters_of[at]
        return (Electorate(first=0, voters=voters), *logged) if voters else tuple(logged)

    def _batches_of(self, at: Place) -> list[Batch]:
        """A snapshot's. Raises OSError."""
        path = self._folder / f"{at.end:020d}-{at.epoch:010d}.checkpoint"
        return list(whole_batches(path.read_bytes()))


def _append(known: _Known, added: Sequence[Batch]) -> bool:
    """Take what follows on what is known; whether that is anything. Raises Misread."""
    row, end, torn = [], known.end, known.torn
    known.torn = True  # until all of it is understood
    for batch in added:
        if batch.base_offset != end:
            torn = True
            break
        row.append(batch)
        end = batch.last_offset + 1
    for batch in (batch for batch in row if batch.control):
        for offset, record in batch.records():
            if isinstance(record, Voters):
                known.electorates.append(Electorate(first=offset, voters=record.voters))
            elif isinstance(record, LeaderChange):
                known.leaders[batch.epoch] = record.leader
    known.batches += row
    known.lineage = extended(known.lineage, row)
    known.end, known.torn = end, torn
    return bool(row)


def _directory(data: Path) -> UUID | None:
    """The id of the disk that the log is on; None where it has none."""
    try:
        match = _DIRECTORY.search((data / "meta.properties").read_text())
        return UUID(bytes=urlsafe_b64decode(match[1] + "==")) if match else None
    except (OSError, ValueError):
        return None
