"""What is committed in the metadata log, by all copies of it on disk, look after look.

Each look reads every copy twice (see commit), goes on from what was known, and keeps what went
back: a later quorum has not got what had been committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cluster.view.metadata_log.commit import (
    Back,
    Commit,
    Committed,
    Copy,
    perhaps,
    read_twice,
)
from harness.cluster.view.metadata_log.disk import Disk
from harness.cluster.view.metadata_log.encoding import Misread
from harness.cluster.view.metadata_log.records import Partition, Voter
from harness.cluster.view.metadata_log.state import Metadata, advance, replayed
from harness.cluster.view.state import Blind


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBack:
    """A partition's state that had been committed, and the older one that is left."""

    topic: str
    number: int
    was: Partition
    left: Partition | None  # None: it had not been made yet


@dataclass(frozen=True, slots=True, kw_only=True)
class WentBack:
    """What went back in one look, which was at `time_ns`, and the partitions' states with it."""

    time_ns: int
    back: Back
    states: tuple[StateBack, ...]


class Reader:
    """Follows the copies in these folders, by their nodes' numbers; `static` are the voters where
    the log names none. `metadata` is what is committed, as of the last look."""

    def __init__(self, folders: Mapping[int, Path], static: Sequence[int]) -> None:
        self.metadata = Metadata()
        self.backs: list[WentBack] = []
        self._disks = {id_: Disk(id_, folder) for id_, folder in folders.items()}
        self._static = tuple(Voter(id=id_) for id_ in static)
        self._committed = Committed(self._static)
        self._copies: list[Copy] = []

    def look(self) -> None:
        """Read what is there now. Raises Blind where that tells nothing."""
        try:
            self._copies = self._read()
            if not self._copies:
                raise Blind("no controller's disk has the metadata log")
            back = self._committed.take(self._copies, time.monotonic_ns())
            self._follow(self._committed.commit, back)
        except (OSError, Misread) as error:
            raise Blind(f"the metadata log cannot be read: {error}") from None

    def may_have_more(self) -> bool:
        """Whether more may have been committed, at the last look, than the copies prove."""
        return perhaps(self._copies, self._static) > self.metadata.end

    def leader(self) -> int | None:
        """Who leads the newest epoch of which something is committed; None where no copy begins
        early enough to say."""
        commit = self._committed.commit
        copies = (commit.copy, *self._copies) if commit else ()
        epoch = commit.place.epoch if commit else 0
        return next((copy.leaders[epoch] for copy in copies if epoch in copy.leaders), None)

    def voters(self) -> tuple[int, ...]:
        """Who may vote, by the copy that the committed part is of."""
        return tuple(voter.id for voter in self._voters())

    def level(self) -> bool:
        """Whether every voter has all that is committed, but those that are `replaced`."""
        commit, replaced = self._committed.commit, self.replaced()
        return commit is not None and all(
            any(
                copy.node.is_one(voter) and copy.agrees_to(commit.lineage) >= commit.place.end
                for copy in self._copies
            )
            for voter in self._voters()
            if voter.id not in replaced
        )

    def replaced(self) -> tuple[int, ...]:
        """The voters in whose places are other disks than those that vote (KIP-853): they cannot
        catch up, an operator has to remove them and add the new ones."""
        return tuple(
            voter.id
            for voter in self._voters()
            if any(
                copy.node.id == voter.id and not copy.node.is_one(voter) for copy in self._copies
            )
        )

    # Parts

    def _read(self) -> list[Copy]:
        once = {id_: disk.read() for id_, disk in self._disks.items()}
        again = {id_: disk.read() for id_, disk in self._disks.items()}
        return [
            read_twice(first, copy) if (first := once[id_]) else replace(copy, sure_end=0)
            for id_, copy in again.items()
            if copy is not None
        ]

    def _voters(self) -> Sequence[Voter]:
        commit = self._committed.commit
        return commit.copy.voters(self._static) if commit else self._static

    def _follow(self, commit: Commit | None, back: Back | None) -> None:
        if back is not None:
            self._go_back(commit, back)
        if commit is None:
            raise Blind("nothing of the metadata log is committed yet")
        if not advance(self.metadata, commit.copy, commit.place.end):
            self.metadata = self._anew(commit.copy, commit.place.end)

    def _go_back(self, commit: Commit | None, back: Back) -> None:
        """Begin anew where both quorums still agree; where no copy goes back so far, with what the
        later one says. That it went back is kept even if neither can be read."""
        was, self.metadata = self.metadata, Metadata()
        states: tuple[StateBack, ...] = ()
        try:
            if commit is not None:
                load = self._disks[commit.copy.node.id].snapshot
                kept = replayed(commit.copy, back.kept, load)
                self.metadata = kept or self._anew(commit.copy, commit.place.end)
            states = tuple(_states_back(was, self.metadata))
        finally:
            self.backs.append(WentBack(time_ns=time.monotonic_ns(), back=back, states=states))

    def _anew(self, copy: Copy, end: int) -> Metadata:
        metadata = replayed(copy, end, self._disks[copy.node.id].snapshot)
        if metadata is None:
            raise Blind(f"the metadata log begins at offset {copy.start}, and no snapshot there")
        return metadata


def _states_back(was: Metadata, left: Metadata) -> Iterator[StateBack]:
    """The partitions whose state is an older one now, or none."""
    for topic, id_ in sorted(was.topics.items()):
        there = left.partitions(topic) if left.topics.get(topic) == id_ else {}
        for number, state in sorted(was.partitions(topic).items()):
            now = there.get(number)
            newer = now is not None and now.partition_epoch > state.partition_epoch
            if now != state and not newer:
                yield StateBack(topic=topic, number=number, was=state, left=now)
