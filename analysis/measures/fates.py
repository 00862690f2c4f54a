"""Fates as columns: analysis.frames.operations.fates of some values, for measures by the driver.

columns = Fates(value=…, sent=…, …)    one row per value; NONE for null
columns.readable                       analysis.checks.loss.is_readable, of each
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

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
from analysis.stored.batches import NONE, Mask, numbers
from analysis.stored.columns import Columns, Numbers
from analysis.stored.fact_rows import RunRow
from harness.history import tables

MOST = 2_000_000  # operations that are in memory at once
ROWS = 1 << 18  # whose fates are made at a time
ABORTED = 0  # a failed send whose client aborted its transaction without an error of its own
ABORTED_NAME = "_ABORTED"  # docs/history.md, "In a transaction"
_LATEST = np.iinfo(np.int64).max
_EMPTY = tables.schema(tables.OPERATION_COLUMNS).empty_table()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates(Columns):
    """What became of some values of one partition: their `home`."""

    value: Numbers
    sent: Numbers  # ABORTED, or FAILED, … of analysis.frames.operations; NONE: never
    home: Numbers
    intended_ns: Numbers
    sent_ns: Numbers
    ended_ns: Numbers
    acked_ns: Numbers
    acked_place: Numbers
    delivered_ns: Numbers
    done_ns: Numbers
    taken: Mask  # of those that the final read lacks: a member of the group was given it
    first_place: Numbers
    complete: Mask
    log_start: Numbers
    passed: Mask
    one_copy: Mask

    @property
    def absent(self) -> Mask:
        """Which the final read does not have."""
        return np.asarray(self.first_place == NONE)

    @property
    def readable(self) -> Mask:
        """Which can be there to be read, as far as the final read tells."""
        return ~(self.absent & (self.complete | (self.passed & self.one_copy)))


def joined(parts: Sequence[Fates]) -> Fates:
    """All of them."""
    return Fates(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Fates)}
    )


def offset_of(place: Numbers) -> Numbers:
    """The offset of each place; NONE of none."""
    return np.where(place == NONE, NONE, place & ((1 << OFFSET_BITS) - 1))


def fates_of_files(
    files: Sequence[Path], facts: RunRow, operations: int, scratch: Path
) -> Iterator[Fates]:
    """The fates of all values of a run with these files of so many operations, by partition. In
    memory are the operations of some values or the fates of one partition; all else lies in files
    below `scratch`."""
    parts = -(-operations // MOST)
    with tempfile.TemporaryDirectory(prefix=".fates-", dir=scratch) as folder:
        lying: dict[int, list[Path]] = defaultdict(list)
        for part in range(parts):
            for fates in fates_of(_operations_of(files, part, parts), facts):
                home = int(fates.home[0])
                lying[home].append(Path(folder, f"{home}-{part}.npz"))
                np.savez(lying[home][-1], **{f.name: getattr(fates, f.name) for f in fields(Fates)})
        for home in sorted(lying):
            yield joined([_loaded(file) for file in lying.pop(home)])


def _loaded(file: Path) -> Fates:
    with np.load(file) as columns:
        return Fates(**columns)


def _operations_of(files: Sequence[Path], part: int, parts: int) -> pa.Table:
    """The operations of one in so many values."""
    found = [_EMPTY]
    for file in files:
        with pq.ParquetFile(file) as parquet:
            for group in range(parquet.num_row_groups):
                rows = parquet.read_row_group(group, columns=list(_Rows.COLUMNS), use_threads=False)
                value = numbers(rows["value"])
                found.append(rows.filter(pa.array((value != NONE) & (value % parts == part))))
    return pa.concat_tables([table.select(_Rows.COLUMNS) for table in found])


def fates_of(table: pa.Table, facts: RunRow) -> Iterator[Fates]:
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
        for home in np.unique(made.home).tolist():
            parts[int(home)].append(made.of(made.home == home))
        begin = end
    for home in sorted(parts):
        yield joined(parts.pop(home))


class _Rows:
    """Operations by value, in columns."""

    NUMBERS = ("value", "partition", "offset", "intended_ns", "start_ns", "end_ns")
    COLUMNS = (*NUMBERS, "f", "type", "error")

    def __init__(self, table: pa.Table) -> None:
        self.of = {name: numbers(table[name]) for name in self.NUMBERS}
        ok = _are(table["type"], "ok")
        self.send = _are(table["f"], "send")
        self.ack = self.send & ok
        self.given = _are(table["f"], "read", "lookup", "poll") & ok
        self.done = _are(table["f"], "process") & ok
        self.taken = _are(table["f"], "poll", "process")
        self.final = _are(table["f"], "final-read")
        rank = np.where(_are(table["error"], NO_ACK), UNASKED, UNKNOWN)
        failed = np.where(_are(table["error"], ABORTED_NAME), ABORTED, FAILED)
        rank = np.where(_are(table["type"], "fail"), failed, rank)
        self.rank = np.where(ok, ACKED, rank)
        place = (self.of["partition"] << OFFSET_BITS) | self.of["offset"]
        self.place = np.where(ok & (self.of["offset"] != NONE), place, NONE)
        self.firsts = np.flatnonzero(np.diff(self.of["value"], prepend=self.of["value"][0] - 1))

    def most(self, numbers: Numbers, which: Mask) -> Numbers:
        """The greatest of each value's; NONE without any."""
        highest: Numbers = np.maximum.reduceat(np.where(which, numbers, NONE), self.firsts)
        return highest

    def least(self, numbers: Numbers, which: Mask) -> Numbers:
        """The least of each value's; NONE without any."""
        some = which & (numbers != NONE)
        lowest = np.minimum.reduceat(np.where(some, numbers, _LATEST), self.firsts)
        return np.where(lowest == _LATEST, NONE, lowest)

    def fates(self, facts: RunRow) -> Fates:
        """One row per value."""
        of, seen = self.of, self.given | self.final
        acked = self.ack & (of["end_ns"] != NONE)
        home = self.most(of["partition"], self.send)
        lowest = self.least(self.place, seen)
        home = np.where(home == NONE, _partition(lowest), home)
        acked_place = self.most(self.place, acked)
        first_place = self.least(self.place, self.final)
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
            taken=np.logical_or.reduceat(self.taken, self.firsts) & (first_place == NONE),
            first_place=first_place,
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
