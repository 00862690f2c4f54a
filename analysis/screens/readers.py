"""The odd steps of readers and the holes of the log: the rows of analysis.frames.steps, by numpy.

A reader's records come in the order of its file. A pair of neighbours is a candidate if the second
is not at the next offset or has an older epoch, or if the final read has another value at the
first. Such pairs are few, except at transaction markers, over which every reader steps; the log's
array shows what lies between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypedDict

import numpy as np

from analysis.screens.log import EMPTY, GARBLED, NOBODY, Log
from analysis.screens.values import distinct
from analysis.stored.batches import NONE, Batch, Mask
from analysis.stored.columns import Columns, Numbers
from analysis.stored.fact_rows import EndRow, MoveRow, RunRow

_MOVES = 1 << 22  # of candidates and moves that are compared at once


class StepRow(TypedDict, total=False):
    """A row of analysis.frames.steps without run_id; what it lacks is null."""

    odd: str
    reader: str
    partition: int
    value: int | None
    offset: int
    end_ns: int | None
    kept_offset: int | None
    next_offset: int
    load_end_ns: int
    from_offset: int
    from_value: int | None
    other_value: int | None
    crossed_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps(Columns):
    """Steps of one reader, in columns; NONE for null."""

    partition: Numbers
    instance: Numbers
    offset: Numbers
    value: Numbers
    end_ns: Numbers
    epoch: Numbers
    from_offset: Numbers
    from_value: Numbers
    from_ns: Numbers
    from_epoch: Numbers
    first: Numbers  # 1: the reader's first record, a step from where it was put

    @property
    def older(self) -> Mask:
        """Whether the second is of an earlier leader."""
        known: Mask = (self.epoch != NONE) & (self.from_epoch != NONE)
        return known & (self.epoch < self.from_epoch)


class Readers:
    """The steps of all readers of a run."""

    def __init__(self, facts: RunRow) -> None:
        self._dense = bool(facts["dense"])
        self._put = facts["moves"]
        self._last: dict[tuple[str, int], tuple[int, ...]] = {}  # what a reader was given last
        self._found: list[tuple[str, _Steps]] = []

    def see(self, batch: Batch, mine: Mask, log: Log) -> None:
        """Look at what a reader was given; the log is whole."""
        rows = np.flatnonzero(mine)
        if not len(rows):
            return
        steps = self._steps(batch, rows)
        odd = (steps.offset != steps.from_offset + 1) | steps.older
        odd |= _replaced(steps, log) != NONE
        if np.any(odd):
            some = steps.of(odd)
            candidates = _may_tell(some, log)
            if self._dense:
                candidates |= _crosses(some, log)
            self._found.append((batch.process, some.of(candidates)))

    def _steps(self, batch: Batch, rows: Numbers) -> _Steps:
        """Each record with the one before it of its client and partition."""
        key = ((batch.instance[rows] + 1) << 20) | batch.partition[rows]
        key = np.where(batch.instance[rows] == NONE, batch.partition[rows], key)
        order = np.argsort(key, kind="stable") if np.any(np.diff(key)) else np.arange(len(rows))
        rows, key = rows[order], key[order]
        columns = (batch.offset[rows], batch.value[rows], batch.start_ns[rows], batch.epoch[rows])
        before = [np.concatenate(([NONE], column[:-1])) for column in columns]
        firsts = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
        lasts = np.concatenate((firsts[1:], [len(rows)])) - 1
        some, begins = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=np.int64)
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            whose = batch.process, int(key[first])
            known = self._last.get(whose)
            if known is None and batch.instance[rows[first]] in (NONE, 0):
                known = self._where_put(batch, int(rows[first]))
                begins[first] = 1
            some[first] = known is not None
            for each, number in zip(before, known or (), strict=False):
                each[first] = number
            self._last[whose] = tuple(int(column[last]) for column in columns)
        names = ("from_offset", "from_value", "from_ns", "from_epoch")
        here = ("partition", "instance", "offset", "value", "end_ns", "epoch")
        steps = _Steps(
            **{name: getattr(batch, name)[rows] for name in here},
            **dict(zip(names, before, strict=True)),
            first=begins,
        )
        return steps if some.all() else steps.of(some)

    def _where_put(self, batch: Batch, row: int) -> tuple[int, ...] | None:
        """As analysis.frames.steps._from_where_it_was_put: offset, value, start and epoch."""
        partition, end_ns = int(batch.partition[row]), int(batch.end_ns[row])
        moves = [
            (move["time_ns"], move["position"])
            for move in self._put
            if move["position"] is not None
            if (move["process"], move["partition"]) == (batch.process, partition)
            if move["time_ns"] <= end_ns
        ]
        if not moves:
            return None
        time_ns, position = max(moves)
        return position - 1, NONE, time_ns + 1, NONE

    def rows(self, log: Log, facts: RunRow) -> Iterator[StepRow]:
        """The rows of analysis.frames.steps, but for holes; without run_id."""
        beside = _Beside(log, facts)
        for process, steps in self._found:
            left = steps.of(~_moved(process, steps, facts["moves"]))
            for number in range(len(left.offset)):
                yield from beside.kinds(process, left, number)

    def crossed(self, log: Log, facts: RunRow) -> dict[tuple[int, int], int]:
        """By partition and offset: when a reader was first given the record there right after the
        one that the log has before it."""
        found: dict[tuple[int, int], int] = {}
        for process, steps in self._found if self._dense else ():
            over = steps.of(_crosses(steps, log) & ~_moved(process, steps, facts["moves"]))
            columns = (each.tolist() for each in (over.partition, over.offset, over.end_ns))
            for partition, offset, end_ns in zip(*columns, strict=True):
                if end_ns != NONE:
                    found[partition, offset] = min(end_ns, found.get((partition, offset), end_ns))
        return found


def _crosses(steps: _Steps, log: Log) -> Mask:
    """As analysis.frames.steps._crosses, of a dense log."""
    there = log.values_at(log.at(steps.partition, steps.from_offset)) != EMPTY
    forth = (steps.offset > steps.from_offset) & (steps.first == 0)
    crosses: Mask = forth & there & ~_over(steps, log)
    return crosses


def _replaced(steps: _Steps, log: Log) -> Numbers:
    """The value of the final read at the first of a pair, if another one was read; else NONE."""
    there = log.values_at(log.at(steps.partition, steps.from_offset))
    other = (there > GARBLED) & (steps.from_value != NONE) & (there != steps.from_value)
    return np.where(other, there, NONE)


def _may_tell(steps: _Steps, log: Log) -> Mask:
    """As analysis.frames.steps._may_tell."""
    behind = steps.offset <= steps.from_offset
    replaced = _replaced(steps, log) != NONE
    older = steps.older & ~behind
    candidates: Mask = behind | replaced | older
    left = np.flatnonzero(~candidates)
    candidates[left] = _over(steps.of(left), log)
    return candidates


def _over(steps: _Steps, log: Log) -> Mask:
    """Whether the log has a record between the two."""
    found = np.zeros(len(steps.offset), dtype=bool)
    between = steps.from_offset + 1
    left = np.flatnonzero(between < steps.offset)
    for _ in range(3):  # markers of transactions are few in a row
        place = log.at(steps.partition[left], between[left])
        hit = log.values_at(place) != EMPTY
        found[left[hit]] = True
        between[left] += 1
        left = left[~hit]
        left = left[between[left] < steps.offset[left]]
        if not len(left):
            return found
    for partition in distinct(steps.partition[left]):
        if not 0 <= partition < log.partitions:
            continue
        mine = left[steps.partition[left] == partition]
        there = log.offsets(partition)
        first = np.searchsorted(there, between[mine])
        known = first < len(there)
        found[mine[known]] = there[first[known]] < steps.offset[mine[known]]
    return found


def _moved(process: str, steps: _Steps, moves: Sequence[MoveRow]) -> Mask:
    """As analysis.frames.steps._moved."""
    own = [move for move in moves if move["process"] == process]
    moved = np.zeros(len(steps.offset), dtype=bool)
    if not own or not len(moved):
        return moved
    of = np.array([NONE if move["partition"] is None else move["partition"] for move in own])
    since, until = (
        np.array([move["since_ns"] for move in own]),
        np.array([move["time_ns"] for move in own]),
    )
    each = max(1, _MOVES // len(own))
    for first in range(0, len(moved), each):
        part = slice(first, first + each)
        partition, from_ns, end_ns = (
            getattr(steps, name)[part, None] for name in ("partition", "from_ns", "end_ns")
        )
        here = (of == NONE) | (of == partition)
        moved[part] = np.any(here & (until >= from_ns) & (since <= end_ns), axis=1)
    return moved


class _Beside:
    """Steps beside the log, as rows."""

    def __init__(self, log: Log, facts: RunRow) -> None:
        self._log, self._facts = log, facts

    def kinds(self, process: str, steps: _Steps, number: int) -> Iterator[StepRow]:
        """All that is odd about one step."""
        at = {f.name: int(getattr(steps, f.name)[number]) for f in fields(steps)}
        row: dict[str, int | None] = {name: None if n == NONE else n for name, n in at.items()}
        here, offset, before = np.array([number]), at["offset"], at["from_offset"]
        other = int(_replaced(steps.of(here), self._log)[0])
        kept, kept_value = self._kept(at["partition"], offset)
        there = self._log.values_at(self._log.at(steps.partition[here], steps.offset[here]))
        put_under, known = other != NONE, row["instance"] is not None
        over = kept is not None and kept > before
        newer = NONE not in (at["epoch"], at["from_epoch"]) and at["epoch"] > at["from_epoch"]
        confirmed = at["value"] != NONE and int(there[0]) == at["value"]
        row_of_step: StepRow = {
            "partition": at["partition"],
            "offset": offset,
            "end_ns": row["end_ns"],
            "kept_offset": kept,
            "next_offset": _next_of(kept, self._facts["ends"], at["partition"]),
            "load_end_ns": self._facts["load_end_ns"],
            "reader": process,
            "from_offset": before,
            "from_value": row["from_value"],
            "other_value": other if put_under else None,
        }
        forth, tells = offset > before, known or not self._facts["to_end"]
        if confirmed and forth and tells and (over or put_under):
            yield {**row_of_step, "odd": "skip", "value": other if put_under else kept_value}
        if known and not forth and not (newer and put_under):
            yield {**row_of_step, "odd": "back", "value": row["value"]}
        if forth and bool(steps.older[number]):
            yield {**row_of_step, "odd": "older", "value": row["value"]}

    def _kept(self, partition: int, offset: int) -> tuple[int | None, int | None]:
        """The last record of the log below an offset, and its value."""
        if not 0 <= partition < self._log.partitions:
            return None, None
        there = self._log.offsets(partition)
        at = int(np.searchsorted(there, offset)) - 1
        if at < 0:
            return None, None
        value = int(self._log.values_at(self._log.at(np.array([partition]), there[at : at + 1]))[0])
        return int(there[at]), None if value == GARBLED else value


def _next_of(kept: int | None, ends: Sequence[EndRow], partition: int) -> int:
    """Where the log's next record should be."""
    start = (ends[partition]["log_start"] or 0) if partition < len(ends) else 0
    return max(start, 0 if kept is None else kept + 1)


def _behind_a_gap(there: Numbers, end: EndRow) -> list[tuple[int, int]]:
    """The records that do not follow at once on the one before, or on the log's start: where each
    is, and its number."""
    due = np.concatenate(([0], there[:-1] + 1)) if len(there) else there
    numbers = np.flatnonzero(there > np.maximum(due, end["log_start"] or 0))
    return [(int(there[number]), int(number)) for number in numbers]


def holes(
    log: Log,
    facts: RunRow,
    ended: Iterable[tuple[Numbers, Numbers, Numbers]],
    crossed: Mapping[tuple[int, int], int],
) -> Iterator[StepRow]:
    """Offsets of complete logs that hold nothing, as rows of analysis.frames.steps. `ended`: what
    final reads have, as partitions, offsets and when each was read; asked only if there are any.
    `crossed`: Readers.crossed."""
    if not facts["dense"]:
        return
    found: dict[tuple[int, int], StepRow] = {}
    for partition, end in enumerate(facts["ends"][: log.partitions]):
        if not end["complete"]:
            continue
        there = log.offsets(partition)
        rows = [(offset, number, offset) for offset, number in _behind_a_gap(there, end)]
        if len(there) and end["position"] is not None:  # of the log's end
            rows.append((end["position"], int(np.searchsorted(there, end["position"])), NOBODY))
        for offset, number, key in rows:
            kept = int(there[number - 1]) if number else None
            due = _next_of(kept, facts["ends"], partition)
            if offset <= due or (key == NOBODY and kept is None):
                continue
            found[partition, key] = {
                "odd": "hole",
                "partition": partition,
                "value": None,
                "offset": offset,
                "end_ns": None,
                "kept_offset": kept,
                "next_offset": due,
                "load_end_ns": facts["load_end_ns"],
                "crossed_ns": crossed.get((partition, offset)),
            }
    if any(offset != NOBODY for _, offset in found):
        for partitions, offsets, moments in ended:
            for number in np.flatnonzero(np.isin(offsets, [at for _, at in found])).tolist():
                row = found.get((int(partitions[number]), int(offsets[number])))
                if row is not None:
                    moment = int(moments[number])
                    before = row["end_ns"]
                    row["end_ns"] = moment if before is None else min(before, moment)
    yield from found.values()
