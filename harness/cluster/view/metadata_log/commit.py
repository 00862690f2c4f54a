"""Up to where the metadata log is committed, told from the copies that its voters have on disk.

Raft's rule as Kafka has it (KIP-595, LeaderState.maybeUpdateHighWatermark): what a majority of the
voters has is committed, as soon as that goes beyond the first record of the newest epoch.

    A  1: 0-39   3: 40-59                   cut off, and still appends: nobody else has 52-59
    B  1: 0-39   3: 40-51   4: 52-55        the newest epoch, of which two of three have 52-54
    C  1: 0-39   3: 40-51   4: 52-54        =>  0-54 are committed; A's 52-59 never will be

Before C has 52, the first record of epoch 4, nothing is: a record of an older epoch can be on a
majority and be overwritten nevertheless, when it got there by a later leader (Raft's figure 8). A
leader writes the first record of its epoch before anybody fetches from it, so who is not told of a
newer epoch by any copy knows that the older one's leader wrote what the majority has.

The *leading* copy is the one with the newest epoch, and in it the most. The voters of an offset are
those of its newest KRaftVoters record up to there, committed or not (KIP-853), else the static
ones: what most of the old voters had before the record was written was committed then, and since
one voter at a time is added or removed, each later majority has one of them. A voter is a node with
the disk that the record names; where it names none (static voters), any disk will do.

What is in a snapshot is committed, on whatever disk it lies: Kafka makes none of anything else.

No two copies are read at one moment. So each is read twice: what it had both times it had when all
had been read once, and an epoch that only the second reading shows was not believed to be absent.

What was committed once stays: a disk that is wiped takes nothing back, and neither does a quorum
that is lost. It *went back* when most voters have a newer epoch, or a stranger's, without it: no
leader to come can have it. Then what counts is what those voters agree on.

A reader sees what is written, Kafka counts a follower once it has flushed that: what was there for
some milliseconds before the power went was perhaps never counted. `Back.seen_ns` is for that doubt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.cluster.view.metadata_log.batches import Batch
from harness.cluster.view.metadata_log.lineage import (
    Lineage,
    Place,
    behind,
    common_end,
    cut,
    follows,
    place,
    strangers,
)
from harness.cluster.view.metadata_log.records import Voter

_EVERYTHING = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Electorate:
    """Who votes from an offset on."""

    first: int
    voters: tuple[Voter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """The log as one node has it on disk."""

    node: Voter
    lineage: Lineage
    electorates: tuple[Electorate, ...] = ()  # of its KRaftVoters records, oldest first
    leaders: Mapping[int, int] = field(default_factory=dict)  # epoch -> who was elected
    start: int = 0  # where its batches begin
    batches: Sequence[Batch] = ()
    snapshots: tuple[Place, ...] = ()  # oldest first
    sure_end: int = _EVERYTHING  # up to where it was so for as long as all were being read

    @property
    def place(self) -> Place:
        """How far it has got."""
        return place(self.lineage)

    def voters(self, static: Sequence[Voter]) -> Sequence[Voter]:
        """Who votes now, by this log."""
        return self.electorates[-1].voters if self.electorates else static

    def agrees_to(self, lineage: Lineage) -> int:
        """Up to which offset it surely is the same as another log."""
        return min(self.sure_end, common_end(self.lineage, lineage))


def read_twice(first: Copy, second: Copy) -> Copy:
    """A copy that was read, and again when all others had been read as well."""
    return replace(second, sure_end=common_end(first.lineage, second.lineage))


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What is committed: a part of one log from its start on, and a copy that has it."""

    lineage: Lineage
    copy: Copy

    @property
    def place(self) -> Place:
        """Epoch and offset behind the newest committed record."""
        return place(self.lineage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """What had been committed is so no longer: `was`, of which `kept` is left."""

    was: Place
    kept: int  # the offset up to which the log is still the same, as far as copies tell
    now: Place
    seen_ns: int  # when the oldest record that is gone was first seen to be committed


def leading(copies: Sequence[Copy], static: Sequence[Voter]) -> Copy | None:
    """The copy that the others follow, or will; None where there is none.

    It is none to which most of its own voters are strangers: they had a leader without it.
    """
    commits = [
        copy
        for copy in copies
        if copy.lineage
        and not _most(
            copy.voters(static),
            [other for other in copies if strangers(other.lineage, copy.lineage)],
        )
    ]
    return max(commits, key=lambda copy: copy.place, default=None)


def committed(copies: Sequence[Copy], static: Sequence[Voter] = ()) -> Commit | None:
    """What these copies prove to be committed; None where that is nothing."""
    chosen = leading(copies, static)
    if chosen is None:
        return None
    end = _on_most(chosen, copies, static)
    if end <= chosen.lineage[-1].first:  # nothing of the newest epoch
        end = 0
    end = max(end, _in_snapshots(chosen, copies))
    return Commit(lineage=cut(chosen.lineage, end), copy=chosen) if end else None


def perhaps(copies: Sequence[Copy], static: Sequence[Voter] = ()) -> int:
    """Up to where the log may be committed: voters without a copy may have had everything, and a
    new leader may have had what an older one had committed."""
    chosen = leading(copies, static)
    if chosen is None:
        return _EVERYTHING
    return _on_most(chosen, copies, static, absent=_EVERYTHING)


class Committed:
    """What was committed, as far as anybody looked; `static` are the voters where no record of the
    log names any."""

    def __init__(self, static: Sequence[Voter] = ()) -> None:
        self.commit: Commit | None = None
        self._static = tuple(static)
        self._seen: list[tuple[int, int]] = []  # offset and when it was seen to be committed, in ns

    def take(self, copies: Sequence[Copy], now_ns: int) -> Back | None:
        """Look at the copies as they are now; what went back, if anything did."""
        newest, last = committed(copies, self._static), self.commit
        if last is None or (newest is not None and follows(newest.lineage, last.lineage)):
            if newest is not None and (last is None or newest.place.end > last.place.end):
                self._keep(newest, now_ns)
            return None
        chosen = leading(copies, self._static)
        newer = newest is not None and newest.place.epoch > last.place.epoch
        if chosen is None or not (newer or self._contradicted(last, chosen, copies)):
            return None
        kept = common_end(chosen.lineage, last.lineage)
        if newest is None or newest.place.end < kept:
            newest = Commit(lineage=cut(chosen.lineage, kept), copy=chosen)
        seen_ns = next((ns for end, ns in self._seen if end > kept), now_ns)
        self._seen = [(end, ns) for end, ns in self._seen if end <= kept]
        self._keep(newest, now_ns)
        return Back(was=last.place, kept=kept, now=newest.place, seen_ns=seen_ns)

    def _keep(self, commit: Commit, now_ns: int) -> None:
        self.commit = commit if commit.lineage else None
        self._seen.append((commit.place.end, now_ns))

    def _contradicted(self, known: Commit, chosen: Copy, copies: Sequence[Copy]) -> bool:
        against = [
            copy
            for copy in copies
            if not follows(copy.lineage, known.lineage)
            and (copy.place.epoch > known.place.epoch or strangers(copy.lineage, known.lineage))
        ]
        return _most(chosen.voters(self._static), against)


# Parts


def _of(voter: Voter, copies: Sequence[Copy]) -> Copy | None:
    return next((copy for copy in copies if copy.node.is_one(voter)), None)


def _most(voters: Sequence[Voter], copies: Sequence[Copy]) -> bool:
    """Whether these are the copies of more than half of the voters."""
    return 2 * sum(_of(voter, copies) is not None for voter in voters) > len(voters)


def _on_most(
    chosen: Copy, copies: Sequence[Copy], static: Sequence[Voter], *, absent: int = 0
) -> int:
    """Up to where a majority has what the leading copy has, of the voters of each offset; `absent`
    is how much a voter without a copy has."""
    electorates = (Electorate(first=0, voters=tuple(static)), *chosen.electorates)
    lasts = [electorate.first for electorate in electorates[1:]] + [chosen.place.end]
    ends = (
        min(_median(chosen, electorate.voters, copies, absent), last)
        for electorate, last in zip(electorates, lasts, strict=True)
    )
    return max(ends)


def _median(chosen: Copy, voters: Sequence[Voter], copies: Sequence[Copy], absent: int) -> int:
    own = [_of(voter, copies) for voter in voters]
    ends = sorted(copy.agrees_to(chosen.lineage) if copy else absent for copy in own)
    return ends[(len(ends) - 1) // 2] if ends else 0


def _in_snapshots(chosen: Copy, copies: Sequence[Copy]) -> int:
    """The end of the newest snapshot, on any disk, of what is in the leading copy."""
    ends = (
        snapshot.end
        for copy in copies
        for snapshot in copy.snapshots
        if snapshot.end and common_end(behind(snapshot), chosen.lineage) >= snapshot.end
    )
    return max(ends, default=0)
