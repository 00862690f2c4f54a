"""Unavailability windows by numpy: the rows of analysis.checks.unavailability.

Of the successes, only the first and last in each slice of time are kept, batch by batch. They give
the gaps of each kind and partition, in order of time and disjoint. Then one pass per kind over a
partition's values finds the attempts, whatever the number of gaps:

    gap      |-----|       |-----|      an attempt (start, end) meets a gap if it starts before the
    a          ====                     gap's end and ends after its start
    b     ======                        a and d begin in a gap, and are kept one by one
    c           ================        b and c last over its start, with which they begin once cut:
    d                          ===      of these the number and the latest end are enough

So each attempt is placed among the gaps' starts once, and kept if it begins in a gap. The order of
attempts that begin at the same time is arbitrary, as in Spark: it matters only for an attempt that
ended before it began, which no history has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TypedDict

import numpy as np

from analysis.measures.fates import Fates, offset_of
from analysis.stored.batches import FS, NONE, TYPES, Batch, Mask
from analysis.stored.columns import Columns, Numbers
from analysis.stored.fact_rows import RunRow
from harness.history.record_format import SEQUENCE_BITS

_SUCCESSES = {"produce": ("send",), "consume": ("read", "lookup", "poll"), "process": ("process",)}
_OPEN = np.iinfo(np.int64).max  # the end of what lasts
_SLICE_BITS = 40  # of a slice's number, below its partition
_FEW = 1 << 16  # slices that are counted by their place in an array, however few rows there are
_MANY = 1 << 20  # rows that are kept before they are summed up


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slices(Columns):
    """Slices of time in which something succeeded, by partition."""

    key: Numbers
    first_ns: Numbers
    last_ns: Numbers
    least: Numbers  # offset; _OPEN: none
    most: Numbers  # NONE: none


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gaps:
    """Those of one kind and partition, in order."""

    from_ns: Numbers
    to_ns: Numbers
    is_last: Mask  # nothing succeeded after it
    reached: Numbers  # the furthest offset before it; NONE: none
    first_offset: int  # of all; NONE: none


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempts:
    """Attempts in gaps, in order of their starts; of some at once the latest end."""

    gap: Numbers
    start_ns: Numbers
    end_ns: Numbers
    many: Numbers


class WindowRow(TypedDict):
    """A stretch in which what was tried in a partition did not succeed."""

    kind: str
    partition: int
    start_ns: int
    end_ns: int
    next_success_ns: int | None  # None: nothing succeeded after it
    attempts: int


class Windows:
    """The unavailability windows: see all operations first."""

    def __init__(self, run: RunRow) -> None:
        self._run, self._threshold_ns = run, run["threshold_ns"]
        asked = {"produce": True, "consume": run["tailing"], "process": run["grouped"]}
        self._seen = {kind: _Seen() for kind, is_asked in asked.items() if is_asked}
        self._number = np.full(len(FS) * len(TYPES), -1, dtype=np.int8)
        for number, kind in enumerate(self._seen):
            for name in _SUCCESSES[kind]:
                self._number[FS.index(name) * len(TYPES) + TYPES.index("ok")] = number

    def see(self, batch: Batch) -> None:
        """Look at a batch's successes."""
        begin_ns, end_ns = self._run["load_start_ns"], self._run["load_end_ns"]
        number = self._number[batch.f * len(TYPES) + batch.type]
        number[(batch.end_ns < begin_ns) | (batch.end_ns > end_ns)] = -1
        for each, seen in enumerate(self._seen.values()):
            mine = np.flatnonzero(number == each)
            if len(mine):
                ended_ns = batch.end_ns[mine]
                place = np.floor((ended_ns - begin_ns) / self._threshold_ns).astype(np.int64)
                seen.see(batch.partition[mine], place, ended_ns, batch.offset[mine])

    def rows(self, partitions: Iterable[Fates]) -> Iterator[WindowRow]:
        """One for each window; each of `partitions` has all values of one home."""
        by_kind = {kind: seen.summed_up for kind, seen in self._seen.items()}
        for fates in partitions:
            if not len(fates.home) or (partition := int(fates.home.max())) == NONE:
                continue
            at_home = fates.home == partition
            values = fates if at_home.all() else fates.of(at_home)
            for kind, slices in by_kind.items():
                gaps = self._gaps(slices, partition)
                if len(gaps.from_ns):
                    starts_ns, ends_ns = self._tried(kind, values, gaps)
                    attempts = _met(starts_ns, ends_ns, gaps)
                    yield from self._windows(kind, partition, attempts, gaps)

    def _gaps(self, slices: _Slices, partition: int) -> _Gaps:
        """As availability.gaps, of one kind and partition."""
        edges = np.array([partition, partition + 1]) << _SLICE_BITS
        mine = slices.of(slice(*np.searchsorted(slices.key, edges)))
        first_ns, last_ns, most, bounds = mine.first_ns, mine.last_ns, mine.most, 0
        if partition < len(self._run["ends"]):
            begin_ns, end_ns, bounds = self._run["load_start_ns"], self._run["load_end_ns"], 1
            first_ns = np.concatenate(([begin_ns], first_ns, [end_ns]))
            last_ns = np.concatenate(([begin_ns], last_ns, [end_ns]))
            most = np.concatenate(([NONE], most, [NONE]))
        from_ns, to_ns = last_ns[:-1], first_ns[1:]
        first_offset = int(mine.least.min(initial=_OPEN))
        gap = np.flatnonzero(to_ns - from_ns >= self._threshold_ns)
        return _Gaps(
            from_ns=from_ns[gap],
            to_ns=to_ns[gap],
            is_last=gap + bounds == len(to_ns),
            reached=np.maximum.accumulate(most)[gap],
            first_offset=NONE if first_offset == _OPEN else first_offset,
        )

    def _tried(self, kind: str, fates: Fates, gaps: _Gaps) -> tuple[Numbers, Numbers]:
        """Start and end of each attempt of this kind, not cut to the gaps."""
        if kind == "produce":
            sent = fates.sent_ns != NONE
            return fates.sent_ns[sent], self._ended_ns(fates)[sent]
        until_ns = fates.delivered_ns if kind == "consume" else fates.done_ns
        waits = fates.readable & (fates.acked_ns != NONE)
        waits &= (until_ns == NONE) | (until_ns > fates.acked_ns)
        ends_ns = until_ns[waits]
        left = np.flatnonzero(ends_ns == NONE)
        ends_ns[left] = _OPEN
        if kind == "process" and len(left):
            place = np.where(fates.absent, fates.acked_place, fates.first_place)
            ends_ns[left] = _until_passed_ns(offset_of(place[waits][left]), gaps)
        return fates.acked_ns[waits], ends_ns

    def _ended_ns(self, fates: Fates) -> Numbers:
        """When each send ended, or its producer died."""
        ended_ns = fates.ended_ns.copy()
        left = np.flatnonzero(ended_ns == NONE)
        ended_ns[left] = _OPEN
        producer = fates.value[left] >> SEQUENCE_BITS
        for death in reversed(self._run["deaths"]):  # of several of one producer the first counts
            ended_ns[left[producer == death["producer"]]] = death["died_ns"]
        return ended_ns

    def _windows(
        self, kind: str, partition: int, attempts: _Attempts, gaps: _Gaps
    ) -> Iterator[WindowRow]:
        """Attempts without a pause as long as the threshold between them are one window."""
        if not len(attempts.gap):
            return
        # All that was tried in a gap ends before the next one begins.
        so_far_ns = np.maximum.accumulate(attempts.end_ns)[:-1]
        begins = np.diff(attempts.gap) > 0
        begins |= attempts.start_ns[1:] - so_far_ns >= self._threshold_ns
        firsts = np.concatenate(([0], np.flatnonzero(begins) + 1))
        start_ns = attempts.start_ns[firsts]
        end_ns = np.maximum.reduceat(attempts.end_ns, firsts)
        many = np.add.reduceat(attempts.many, firsts)
        for each in np.flatnonzero(end_ns - start_ns >= self._threshold_ns).tolist():
            gap = attempts.gap[firsts[each]]
            yield {
                "kind": kind,
                "partition": partition,
                "start_ns": int(start_ns[each]),
                "end_ns": int(end_ns[each]),
                "next_success_ns": None if gaps.is_last[gap] else int(gaps.to_ns[gap]),
                "attempts": int(many[each]),
            }


class _Seen:
    """The slices in which one kind succeeded."""

    def __init__(self) -> None:
        self._parts: list[_Slices] = []
        self._many = 0
        self._most = _MANY

    def see(self, partition: Numbers, place: Numbers, end_ns: Numbers, offset: Numbers) -> None:
        """Look at successes: the slice, end and offset of each."""
        wide, first = int(partition.max()) + 1, int(place.min())
        size = (int(place.max()) - first + 1) * wide
        if size > max(_FEW, 4 * len(place)):
            key = partition << _SLICE_BITS | place
            least = np.where(offset == NONE, _OPEN, offset)
            rows = _Slices(key=key, first_ns=end_ns, last_ns=end_ns, least=least, most=offset)
            self._add(_summed_up(rows))
            return
        key = (place - first) * wide + partition
        first_ns, last_ns = np.full(size, _OPEN), np.full(size, NONE)
        least, most = np.full(size, _OPEN), np.full(size, NONE)
        np.minimum.at(first_ns, key, end_ns)
        np.maximum.at(last_ns, key, end_ns)
        np.minimum.at(least, key, np.where(offset == NONE, _OPEN, offset))
        np.maximum.at(most, key, offset)
        number = np.arange(size)
        keys = number % wide << _SLICE_BITS | number // wide + first
        slices = _Slices(key=keys, first_ns=first_ns, last_ns=last_ns, least=least, most=most)
        self._add(slices.of(last_ns != NONE))

    def _add(self, slices: _Slices) -> None:
        self._parts.append(slices)
        self._many += len(slices.key)
        if self._many > self._most:
            self._parts = [self.summed_up]
            self._many = len(self._parts[0].key)
            self._most = 2 * self._many + _MANY

    @property
    def summed_up(self) -> _Slices:
        """One row per slice, in order of partition and time."""
        nothing = np.zeros(0, dtype=np.int64)
        parts = {
            f.name: np.concatenate([nothing, *(getattr(part, f.name) for part in self._parts)])
            for f in fields(_Slices)
        }
        return _summed_up(_Slices(**parts))


def _summed_up(rows: _Slices) -> _Slices:
    """One row per key, in order."""
    if not len(rows.key):
        return rows
    order = np.argsort(rows.key, kind="stable")
    key = rows.key[order]
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(key)) + 1))
    return _Slices(
        key=key[firsts],
        first_ns=np.minimum.reduceat(rows.first_ns[order], firsts),
        last_ns=np.maximum.reduceat(rows.last_ns[order], firsts),
        least=np.minimum.reduceat(rows.least[order], firsts),
        most=np.maximum.reduceat(rows.most[order], firsts),
    )


def _until_passed_ns(offset: Numbers, gaps: _Gaps) -> Numbers:
    """Until when records wait that no member ever processed: of those that are passed over, the
    start of the first gap in which they are."""
    passed = np.searchsorted(gaps.reached, offset)  # gaps before which less was reached
    passed[offset == NONE] = len(gaps.reached)
    until_ns = np.append(gaps.from_ns, _OPEN)[passed]
    return np.where((offset != NONE) & (offset < gaps.first_offset), NONE, until_ns)


def _met(start_ns: Numbers, end_ns: Numbers, gaps: _Gaps) -> _Attempts:
    """What was attempted in each gap, cut to it."""
    place = np.searchsorted(gaps.from_ns, start_ns)  # gaps that begin before it
    within = start_ns < np.concatenate(([NONE], gaps.to_ns))[place]
    within &= end_ns > np.concatenate(([_OPEN], gaps.from_ns))[place]
    over = np.flatnonzero(end_ns > np.append(gaps.from_ns, _OPEN)[place])
    lasting, until_ns = _lasting(place[over], end_ns[over], gaps)
    mine = np.flatnonzero(within)
    gap = np.concatenate((np.flatnonzero(lasting), place[mine] - 1))
    starts_ns = np.concatenate((gaps.from_ns[lasting > 0], start_ns[mine]))
    ends_ns = np.concatenate((until_ns[lasting > 0], end_ns[mine]))
    many = np.concatenate((lasting[lasting > 0], np.ones(len(mine), dtype=np.int64)))
    order = np.argsort(starts_ns, kind="stable")
    gap = gap[order]
    return _Attempts(
        gap=gap,
        start_ns=starts_ns[order],
        end_ns=np.minimum(ends_ns[order], gaps.to_ns[gap]),
        many=many[order],
    )


def _lasting(place: Numbers, end_ns: Numbers, gaps: _Gaps) -> tuple[Numbers, Numbers]:
    """How many attempts last over each gap's start, and until when the last of them does. `place`:
    the first gap of each."""
    size = len(gaps.from_ns) + 1
    ends = np.bincount(np.searchsorted(gaps.from_ns, end_ns), minlength=size)
    lasting = np.cumsum(np.bincount(place, minlength=size) - ends)
    until_ns = np.full(size, NONE)
    np.maximum.at(until_ns, place, end_ns)
    return lasting[:-1], np.maximum.accumulate(until_ns)[:-1]
