"""A smaller history: the operations without which no suspect can be told.

Those of suspected values, those without a value (payloads that are none, commits and what
coordinators answered), and nothing else: a fate is made of the operations of its value alone, and
who else was at its places is suspected too. Fates are made of it by numpy as well, for measures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.frames.operations import (
    ACKED,
    FAILED,
    NO_ACK,
    OFFSET_BITS,
    UNASKED,
    UNKNOWN,
)
from analysis.measures.by_driver.batches import NONE, Batch, Mask, NotPlain, batches
from analysis.measures.by_driver.fates import Fates, joined, offset_of
from analysis.screens.values import Values, distinct
from analysis.stored.columns import Numbers
from harness.history import tables

MOST = 10_000_000  # rows that are kept in memory
ROWS = 1 << 18  # whose fates are made at a time
SCHEMA = tables.schema(tables.OPERATION_COLUMNS)
_LATEST = np.iinfo(np.int64).max


def reduce(files: Sequence[Path], values: Values) -> pa.Table:
    """The operations that are left; NotPlain where they are too many."""
    parts, rows = [SCHEMA.empty_table()], 0
    for file in files:
        with pq.ParquetFile(file) as parquet:
            for group in range(parquet.num_row_groups):
                if not parquet.metadata.row_group(group).num_rows:
                    continue
                value = parquet.read_row_group(group, columns=["value"])["value"]
                numbers = pc.fill_null(value, NONE).to_numpy()
                mine = values.has(numbers) | (numbers == NONE)
                if not mine.any():
                    continue
                kept = parquet.read_row_group(group).filter(pa.array(mine))
                parts.append(_whole(kept))
                rows += kept.num_rows
                if rows > MOST:
                    raise NotPlain("too many suspects")
    return pa.concat_tables(parts)


def later_processed(files: Sequence[Path], run_id: str, passed: Values) -> Numbers:
    """Of each of these values, the first that the member that was given it last processed behind
    it, if it did: the values that tell whether it went on (analysis.checks.groups.given).

    Only files of members are gone through; NotPlain.
    """
    found = []
    for file in files:
        polls: list[tuple[Numbers, ...]] = []  # of these values: end_ns, partition, offset, value
        later: list[tuple[Numbers, ...]] = []  # start_ns, partition, offset, value
        for batch in batches(file, run_id):
            given = batch.did("poll")
            mine = given & passed.has(batch.value)
            if np.any(mine):
                polls.append(_some(batch, "end_ns", mine))
            done = batch.did("process") & batch.ended("ok") & (batch.value != NONE)
            if np.any(done):
                later.append(_some(batch, "start_ns", done))
        if polls and later:
            told, processed = (
                tuple(np.concatenate(each) for each in zip(*parts, strict=True))
                for parts in (polls, later)
            )
            found.append(_first_later(told, processed))
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _some(batch: Batch, time: str, which: Mask) -> tuple[Numbers, ...]:
    names = (time, "partition", "offset", "value")
    return tuple(getattr(batch, name)[which] for name in names)


def _first_later(polls: tuple[Numbers, ...], processed: tuple[Numbers, ...]) -> Numbers:
    """For each poll, the value that was processed first after it at a later offset."""
    found = []
    for partition in distinct(polls[1]):
        polled_ns, _, polled, _ = (each[polls[1] == partition] for each in polls)
        start_ns, _, offset, value = (each[processed[1] == partition] for each in processed)
        order = np.argsort(start_ns, kind="stable")
        start_ns, offset, value = start_ns[order], offset[order], value[order]
        at = np.searchsorted(start_ns, polled_ns)
        left = np.flatnonzero(at < len(start_ns))
        while len(left):
            hit = offset[at[left]] > polled[left]
            found.append(value[at[left[hit]]])
            left = left[~hit]
            at[left] += 1
            left = left[at[left] < len(start_ns)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _whole(table: pa.Table) -> pa.Table:
    """With all columns; what its format does not have is null."""
    nothing = pa.nulls(table.num_rows)
    told = {name: table[name] if name in table.column_names else nothing for name in SCHEMA.names}
    return pa.table(told).cast(SCHEMA)


def fates_of(table: pa.Table, facts: Mapping[str, Any]) -> Iterator[Fates]:
    """The fates of its values, by partition: as analysis.frames.operations.fates makes them."""
    table = table.filter(pc.is_valid(table["value"]))
    if not table.num_rows:
        return
    columns = table.select(_Rows.COLUMNS)
    order = pc.sort_indices(columns, sort_keys=[("value", "ascending")])
    value = columns["value"].take(order).to_numpy()
    parts: dict[int, list[Fates]] = defaultdict(list)
    begin = 0
    while begin < len(value):  # a value's operations are not parted
        end = int(np.searchsorted(value, value[min(begin + ROWS, len(value)) - 1], side="right"))
        made = _Rows(columns.take(order[begin:end])).fates(facts)
        for home in distinct(made.home):
            parts[int(home)].append(made.of(made.home == home))
        begin = end
    for home in sorted(parts):
        yield joined(parts.pop(home))


class _Rows:
    """Operations by value, in columns."""

    NUMBERS = ("value", "partition", "offset", "intended_ns", "start_ns", "end_ns")
    COLUMNS = (*NUMBERS, "f", "type", "error")

    def __init__(self, table: pa.Table) -> None:
        self.of = {name: _numbers(table[name]) for name in self.NUMBERS}
        ok = _are(table["type"], "ok")
        self.send = _are(table["f"], "send")
        self.ack = self.send & ok
        self.given = _are(table["f"], "read", "lookup", "poll") & ok
        self.done = _are(table["f"], "process") & ok
        self.final = _are(table["f"], "final-read")
        rank = np.where(_are(table["error"], NO_ACK), UNASKED, UNKNOWN)
        rank = np.where(_are(table["type"], "fail"), FAILED, rank)
        self.rank = np.where(ok, ACKED, rank)
        place = (self.of["partition"] << OFFSET_BITS) | self.of["offset"]
        self.place = np.where(ok & (self.of["offset"] != NONE), place, NONE)
        self.firsts = np.flatnonzero(np.diff(self.of["value"], prepend=self.of["value"][0] - 1))

    def most(self, numbers: Numbers, which: Mask) -> Numbers:
        """The greatest of each value's; NONE without any."""
        told: Numbers = np.maximum.reduceat(np.where(which, numbers, NONE), self.firsts)
        return told

    def least(self, numbers: Numbers, which: Mask) -> Numbers:
        """The least of each value's; NONE without any."""
        some = which & (numbers != NONE)
        told = np.minimum.reduceat(np.where(some, numbers, _LATEST), self.firsts)
        return np.where(told == _LATEST, NONE, told)

    def fates(self, facts: Mapping[str, Any]) -> Fates:
        """One row a value."""
        of, seen = self.of, self.given | self.final
        acked = self.ack & (of["end_ns"] != NONE)
        home = self.most(of["partition"], self.send)
        lowest = self.least(self.place, seen)
        home = np.where(home == NONE, _partition(lowest), home)
        acked_place = self.most(self.place, acked)
        ends = facts["ends"]
        at = np.where((home >= 0) & (home < len(ends)), home, len(ends))
        complete = np.array([*(bool(end["complete"]) for end in ends), False])[at]
        log_start = np.array([*(end["log_start"] or 0 for end in ends), 0], dtype=np.int64)[at]
        position = np.array(
            [*(NONE if end["position"] is None else end["position"] for end in ends), NONE],
            dtype=np.int64,
        )[at]
        offset = offset_of(acked_place)
        within = (acked_place != NONE) & (offset >= log_start) & (offset < position)
        return Fates(
            value=of["value"][self.firsts],
            sent=self.most(self.rank, self.send),
            home=home,
            intended_ns=self.least(of["intended_ns"], self.send),
            sent_ns=self.least(of["start_ns"], self.send),
            ended_ns=self.most(of["end_ns"], self.send),
            acked_ns=self.least(of["end_ns"], acked),
            acked_place=acked_place,
            delivered_ns=self.least(of["end_ns"], self.given),
            done_ns=self.least(of["end_ns"], self.done),
            first_place=self.least(self.place, self.final),
            complete=complete,
            log_start=log_start,
            passed=~self._stayed(acked) & ~complete & within,
            one_copy=np.full(len(home), bool(facts["one_copy"])),
        )

    def _stayed(self, acked: Mask) -> Mask:
        """Whether the final read has a value where it was acked."""
        number = np.zeros(len(self.place), dtype=np.int64)
        number[self.firsts[1:]] = 1
        number = np.cumsum(number)
        order = np.lexsort((self.place, number))
        same = (np.diff(number[order]) == 0) & (np.diff(self.place[order]) == 0)
        starts = np.flatnonzero(np.concatenate(([True], ~same)))
        acks, finals = (
            np.maximum.reduceat(each[order].astype(np.int8), starts) for each in (acked, self.final)
        )
        stayed = np.zeros(len(self.firsts), dtype=bool)
        stayed[number[order][starts[(acks == 1) & (finals == 1)]]] = True
        return stayed


def _partition(place: Numbers) -> Numbers:
    return np.where(place == NONE, NONE, place >> OFFSET_BITS)


def _are(column: pa.ChunkedArray, *words: str) -> Mask:
    """Which are one of these words; null is none of them."""
    which: Mask = pc.is_in(column, value_set=pa.array(words)).to_numpy()
    return which


def _numbers(column: pa.ChunkedArray) -> Numbers:
    numbers: Numbers = pc.fill_null(column.cast(pa.int64()), NONE).to_numpy()
    return numbers
