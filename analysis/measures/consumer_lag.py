"""Consumer lag over time: how many records of the log a reader had not read yet.

A reader is a consumer that follows the log, or all members of the consumer group together. Its lag
in a partition is the end of the log, by acks, less the offset after its last record; the reader's
lag is the sum over all partitions. Both ends are taken in slices of time (400 per load, fewer with
many partitions): the furthest of the slice or, without acks or reads in it, the one before. A
reader begins at offset 0.

    acked up to offset 9 at 1 s     consumer-0 was given 0 to 4 by then     =>  it lags by 5 at 1 s
    a leader without 7, 8, 9 takes over, and the next ack has offset 7      =>  the log ends at 8

Cannot see: records without an ack, which make the log longer; a reader's commits; what the last
slice of an outage hides: within a slice, the furthest counts; a reader without records.

Both ends are found in one pass over the operations (`Positions`), and all else is a pure function
over these.

`AfterFaults` tells whether a consumer group got to records that were acknowledged after the last
fault. A fault that nobody healed counts from its injection.

    last fault healed at 5 s, acked after it: offsets 40 to 60    processed: up to 45    =>  yes
    the same                                                      committed: 40          =>  no
    acked after it: nothing                                                           =>  no row

`Reached` tells which offsets a group has committed past, from where it began: the first record that
a member was given, or the log's start if it is new and begins there.

    given: 5 to 9    committed: 20    =>  5 to 19
    the same, auto.offset.reset=earliest    =>  0 to 19
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

import numpy as np

from analysis.measures.latency_and_rates import GROUP
from analysis.stored.batches import NONE, Batch, Mask
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import RunRow
from analysis.stored.stored_run import Run
from harness.model.runs.report_course import ReaderLag

SLICES, FEWEST = 400, 20
ROWS = 40_000  # a run's slices times its partitions, about


class PositionRow(TypedDict):
    """How far a reader of a partition had got in a slice of the load."""

    slice_ns: int
    slice: int
    partition: int
    reader: str | None  # None: the log itself
    position: int  # the offset after the furthest


class LagRow(TypedDict):
    """By how many records each reader lagged at the end of a slice."""

    t_s: float
    lag: dict[str, int]


class AfterFaultsRow(TypedDict):
    """A partition with records that were acknowledged after the last fault."""

    partition: int
    acked_from: int  # the lowest offset that was acknowledged then
    done_to: int  # the highest that a member processed or that lies before a commit; -1: none


class Positions:
    """One row per slice of the load, partition and reader."""

    def __init__(self, run: RunRow) -> None:
        self._run = run
        load_ns = run["load_end_ns"] - run["load_start_ns"]
        many = max(FEWEST, min(SLICES, ROWS // max(len(run["ends"]), 1)))
        self._slice_ns = max(run["bucket_ns"], int(np.ceil(load_ns / many)))
        self._furthest: dict[tuple[str | None, int, int], int] = {}

    def see(self, batch: Batch) -> None:
        """Look at a batch's acks and deliveries."""
        known = (batch.offset != NONE) & (batch.end_ns != NONE) & batch.ended("ok")
        known &= batch.end_ns <= self._run["load_end_ns"]
        for reader, name in ((None, "send"), (batch.process, "read"), (GROUP, "poll")):
            if np.any(mine := known & batch.did(name)):
                self._look(reader, batch, mine)

    def _look(self, reader: str | None, batch: Batch, mine: Mask) -> None:
        since_ns = batch.end_ns[mine] - self._run["load_start_ns"]
        number = np.maximum(0, np.floor(since_ns / self._slice_ns).astype(np.int64))
        partition, offset = batch.partition[mine], batch.offset[mine]
        wide = int(partition.max()) + 1
        first = int(number.min())
        furthest = np.full((int(number.max()) - first + 1) * wide, NONE)
        np.maximum.at(furthest, (number - first) * wide + partition, offset)
        for place in np.flatnonzero(furthest != NONE):
            key = reader, int(place // wide) + first, int(place % wide)
            self._furthest[key] = max(self._furthest.get(key, NONE), int(furthest[place]))

    def rows(self) -> Iterator[PositionRow]:
        """One for each slice, partition and reader."""
        for (reader, number, partition), offset in self._furthest.items():
            yield {
                "slice_ns": self._slice_ns,
                "slice": number,
                "partition": partition,
                "reader": reader,
                "position": offset + 1,
            }


class AfterFaults:
    """One row for each partition in which something was acknowledged after the last fault; none
    without faults."""

    def __init__(self, run: RunRow) -> None:
        over = (f["invoke_ns"] if f["end_ns"] is None else f["end_ns"] for f in run["faults"])
        self._since_ns = max(over, default=None)
        self._acked: dict[int, int] = {}
        self._done: dict[int, int] = {}

    def see(self, batch: Batch) -> None:
        """Look at a batch's acks, processings and commits."""
        if self._since_ns is None:
            return
        known = (batch.offset != NONE) & batch.ended("ok")
        acked = known & batch.did("send") & (batch.end_ns > self._since_ns)
        for partition, offset in _by_partition(batch, acked, batch.offset, np.minimum):
            self._acked[partition] = min(offset, self._acked.get(partition, offset))
        processed, committed = batch.did("process"), batch.did("commit", "committed")
        upto = np.where(committed, batch.offset - 1, batch.offset)
        for partition, offset in _by_partition(
            batch, known & (processed | committed), upto, np.maximum
        ):
            self._done[partition] = max(offset, self._done.get(partition, -1))

    def rows(self) -> Iterator[AfterFaultsRow]:
        """One for each partition."""
        for partition, offset in self._acked.items():
            done = self._done.get(partition, -1)
            yield {"partition": partition, "acked_from": offset, "done_to": done}


class Reached:
    """The offsets that a consumer group has gone past, by partition."""

    def __init__(self, run: RunRow) -> None:
        self._from_start = bool(run["from_start"])
        self._first: dict[int, int] = {}
        self._upto: dict[int, int] = {}

    def see(self, batch: Batch) -> None:
        """Look at a batch's polls and commits."""
        known = (batch.offset != NONE) & batch.ended("ok")
        given = known & batch.did("poll")
        for partition, offset in _by_partition(batch, given, batch.offset, np.minimum):
            self._first[partition] = min(offset, self._first.get(partition, offset))
        committed = known & batch.did("commit", "committed")
        for partition, offset in _by_partition(batch, committed, batch.offset, np.maximum):
            self._upto[partition] = max(offset, self._upto.get(partition, offset))

    def past(self, partition: Numbers, offset: Numbers) -> Mask:
        """Which of these places it has."""
        found: Mask = np.zeros(len(offset), dtype=bool)
        for each, upto in self._upto.items():
            first = 0 if self._from_start else self._first.get(each, upto)
            found |= (partition == each) & (offset >= first) & (offset < upto)
        return found


def _by_partition(
    batch: Batch, which: Mask, offsets: Numbers, least_or_most: np.ufunc
) -> Iterator[tuple[int, int]]:
    # Partitions are few and small numbers: to count them is faster than to sort them.
    for partition in np.flatnonzero(np.bincount(batch.partition[which])).tolist():
        mine = which & (batch.partition == partition)
        yield int(partition), int(least_or_most.reduce(offsets[mine]))


def lag(run: Run, rows: Sequence[PositionRow]) -> list[LagRow]:
    """The lag of each reader at the end of each slice: `t_s` and `lag` by reader; nothing where
    nobody read."""
    readers = sorted({row["reader"] for row in rows if row["reader"] is not None})
    if not readers:
        return []
    by_slice: dict[int, list[PositionRow]] = defaultdict(list)
    for row in rows:
        by_slice[row["slice"]].append(row)
    slice_ns, load_ns = rows[0]["slice_ns"], run.load_end_ns - run.load_start_ns
    ends: dict[str | None, dict[int, int]] = {reader: {} for reader in (None, *readers)}
    points = list[LagRow]()
    for number in range(-(-load_ns // slice_ns)):
        for row in by_slice[number]:
            ends[row["reader"]][row["partition"]] = row["position"]
        lags = {reader: _behind(ends[None], ends[reader]) for reader in readers}
        points.append({"t_s": min((number + 1) * slice_ns, load_ns) / 1e9, "lag": lags})
    return points


def worst(rows: Sequence[LagRow]) -> dict[str, ReaderLag]:
    """By reader, from rows of `lag`: the most records that it lagged by, `max`, at the end of which
    slice first, `at_s`, and by how many when the load ended, `end`."""
    by_reader = {}
    for reader in rows[0]["lag"] if rows else ():
        most = max(rows, key=lambda row: row["lag"][reader])
        by_reader[reader] = ReaderLag(
            max=most["lag"][reader], at_s=most["t_s"], end=rows[-1]["lag"][reader]
        )
    return by_reader


def _behind(log: Mapping[int, int], read: Mapping[int, int]) -> int:
    """By how many records, in all partitions."""
    return sum(max(0, end - read.get(partition, 0)) for partition, end in log.items())
