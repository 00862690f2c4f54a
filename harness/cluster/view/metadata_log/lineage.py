"""Which leaders wrote a log, and how far two logs are the same.

    a log       epoch 1: offsets 0-39    epoch 3: offsets 40-99
    another     epoch 1: offsets 0-39    epoch 3: offsets 40-59    epoch 4: offsets 60-70
    =>  they are the same up to offset 60: of epoch 3, the newest that both have, one has 40-59

Raft's log matching: of each epoch there is one leader, who only ever appends, and a follower takes
nothing that does not follow on what it has. So two logs that have a record of the same epoch are
the same up to where the first of them ends that epoch.

That holds as long as no disk is lost. When a majority of the disks is replaced by empty ones, its
epochs begin at 1 again and are others'. So a term is known by its first batch, too: the election
that began it, with its time, is another one. Two logs that have the same epoch and not the same
term are *strangers* there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from harness.cluster.view.metadata_log.batches import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The offsets that one leader wrote, as far as the log has them.

    Behind a snapshot it is known by its last record alone: it may have begun before `first`.
    """

    epoch: int
    first: int
    end: int  # the offset behind its last record
    mark: int | None = None  # its first batch's checksum; None where that is not there


Lineage = tuple[Term, ...]  # in order; of an empty log there is none


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """The newest record of some log: its epoch, and the offset behind it."""

    epoch: int
    end: int


def place(lineage: Lineage) -> Place:
    """How far a log has got: of two logs, that with the higher one may lead."""
    if not lineage:
        return Place(epoch=0, end=0)
    return Place(epoch=lineage[-1].epoch, end=lineage[-1].end)


def behind(snapshot: Place) -> Lineage:
    """Of a log that begins behind a snapshot, what is known of before."""
    if snapshot.end == 0:
        return ()
    return (Term(epoch=snapshot.epoch, first=snapshot.end - 1, end=snapshot.end),)


def extended(lineage: Lineage, batches: Iterable[Batch]) -> Lineage:
    """The lineage of the log when these batches follow.

    Of a log that begins in the midst of a term, its first batch is not the term's.
    """
    terms = list(lineage)
    for epoch, group in groupby(batches, key=lambda batch: batch.epoch):
        own = list(group)
        end = own[-1].last_offset + 1
        if terms and terms[-1].epoch == epoch:
            terms[-1] = replace(terms[-1], end=end)
        else:
            begins = bool(terms) or own[0].base_offset == 0
            mark = own[0].checksum if begins else None
            terms.append(Term(epoch=epoch, first=own[0].base_offset, end=end, mark=mark))
    return tuple(terms)


def cut(lineage: Lineage, end: int) -> Lineage:
    """What of it lies before an offset."""
    return tuple(replace(term, end=min(term.end, end)) for term in lineage if term.first < end)


def common_end(one: Lineage, other: Lineage) -> int:
    """Up to which offset two logs are known to be the same."""
    terms = {term.epoch: term for term in other}
    for term in reversed(one):
        twin = terms.get(term.epoch)
        if twin is not None and _same(term, twin):
            return min(term.end, twin.end)
    return 0


def strangers(one: Lineage, other: Lineage) -> bool:
    """Whether the newest epoch that both have is not the same term."""
    terms = {term.epoch: term for term in other}
    shared = [term for term in one if term.epoch in terms]
    return bool(shared) and not _same(shared[-1], terms[shared[-1].epoch])


def follows(lineage: Lineage, known: Lineage) -> bool:
    """Whether a log goes on from all that is known of another; one that begins behind that, in
    no older epoch, does as far as anybody can tell."""
    if not known or not lineage:
        return not known
    first, last = lineage[0], known[-1]
    begins_behind = first.mark is None and first.first >= last.end and first.epoch >= last.epoch
    return common_end(lineage, known) >= last.end or begins_behind


def _same(one: Term, other: Term) -> bool:
    return None in (one.mark, other.mark) or one.mark == other.mark
