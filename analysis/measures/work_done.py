"""The work of each worker: the number of its operations, their times, and the faults that met them.

A send has *left the client* unless produce() refused it: it failed with an error of the client's
own (`_FATAL`, `_QUEUE_FULL`), not with one that a transaction's abort gave it. It is outstanding
until it ended; one that never ended, until its producer died or the load ended.

    fault in force 5.0 to 8.0 s    send, 4.9 to 5.1 s      =>  the fault met it
    the same                       send, 4.0 to 4.1 s      =>  it did not, and explains nothing
    fault in force 5.0 to 5.2 s    send, 4.3 to 4.4 s      =>  met: shorter than a second, so within
                                                               a second of it counts

A fault explains missing answers if it hit the cluster or a sending worker, not if it hit a
consumer.

One row per process, f, type and partition: few rows, one pass over the operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from analysis.frames.operations import NO_ACK
from analysis.stored.batches import FS, NONE, TYPES, Batch, Mask
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import FaultRow, RunRow
from harness.history.record_format import SEQUENCE_BITS

FOREVER_NS = 2**62
SHORT_NS = 10**9  # a fault shorter than this met what was sent within as much of it
SHORTLY_NS = 2 * 10**9  # what was sent that long before a fault came shortly before it
STILL_NS = 10**9
# Errors of the client's own that a send gets after it has left, or may have.
AFTERWARDS = ("_ABORTED", "_MSG_TIMED_OUT", "_PURGE_QUEUE", "_PURGE_INFLIGHT", NO_ACK)

Row = dict[str, int]  # of WorkRow, what counts
Key = tuple[str, int, int]  # process, f and type as one number, partition
_NEVER = np.iinfo(np.int64).max


class WorkRow(TypedDict):
    """What one process did of an f, a type and in a partition: see `WorkDone`."""

    process: str
    f: str
    type: str
    partition: int
    count: int
    first_ns: int
    last_ns: int
    refused: int
    unexplained: int
    loaded_from_ns: int | None
    loaded_until_ns: int | None
    met: list[int]
    before: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the workers of one run did."""

    rows: Sequence[WorkRow] = ()

    def count(self, process: str | None = None, *fs: str, ended: str | None = None) -> int:
        """How many operations of a process (None: of all), of these kinds, ended so."""
        return sum(row["count"] for row in self._of(process, fs, ended))

    def first_ns(self, process: str | None = None, *fs: str, ended: str | None = None) -> int:
        """When the first of them began; 0 without any."""
        return min((row["first_ns"] for row in self._of(process, fs, ended)), default=0)

    def last_ns(self, process: str | None = None, *fs: str, ended: str | None = None) -> int:
        """When something last was known of one of them: its end or, where it is open, its begin;
        0 without any."""
        return max((row["last_ns"] for row in self._of(process, fs, ended)), default=0)

    @property
    def refused(self) -> int:
        """How many sends never left their client."""
        return sum(row["refused"] for row in self.rows)

    @property
    def unexplained(self) -> int:
        """How many sends got no answer, and no fault explains it."""
        return sum(row["unexplained"] for row in self.rows)

    @property
    def processes(self) -> set[str]:
        """Those that recorded anything."""
        return {row["process"] for row in self.rows}

    @property
    def acknowledged_ns(self) -> tuple[int, int]:
        """From when to when records were sent that were acknowledged (acks=0: that were sent)."""
        ended = "ok" if self.count(None, "send", ended="ok") else None
        return self.first_ns(None, "send", ended=ended), self.last_ns(None, "send", ended=ended)

    @property
    def long_ns(self) -> float:
        """From when on something is long: a second, or half of the time of `acknowledged_ns`."""
        begun_ns, ended_ns = self.acknowledged_ns
        return max(STILL_NS, (ended_ns - begun_ns) / 2)

    @property
    def by_partition(self) -> dict[int, Work]:
        """The same of each partition to which something was sent that was acknowledged (acks=0:
        that was sent)."""
        ended = "ok" if self.count(None, "send", ended="ok") else None
        sent = {row["partition"] for row in self._of(None, ("send",), ended)}
        return {
            number: Work(rows=[row for row in self.rows if row["partition"] == number])
            for number in sorted(sent)
        }

    def left(self, process: str) -> int:
        """How many sends of a process left the client."""
        sends = self._of(process, ("send",), None)
        return sum(row["count"] - row["refused"] for row in sends)

    def shortly_before(self, fault: int, processes: Iterable[str]) -> bool:
        """Whether a send of these was begun or outstanding shortly before a fault."""
        return any(fault in row["before"] for name in processes for row in self._of(name, (), None))

    @property
    def met(self) -> set[int]:
        """The numbers of the faults during which a send was begun or outstanding."""
        return {fault for row in self.rows for fault in row["met"]}

    @property
    def loaded_from_ns(self) -> int | None:
        """When the first send began that left its client."""
        known = [row["loaded_from_ns"] for row in self.rows]
        return min((ns for ns in known if ns is not None), default=None)

    @property
    def loaded_until_ns(self) -> int | None:
        """Until when a send that left its client was outstanding."""
        known = [row["loaded_until_ns"] for row in self.rows]
        return max((ns for ns in known if ns is not None), default=None)

    def _of(self, process: str | None, fs: Sequence[str], ended: str | None) -> Iterable[WorkRow]:
        return (
            row
            for row in self.rows
            if process in (None, row["process"])
            and (not fs or row["f"] in fs)
            and ended in (None, row["type"])
        )


class WorkDone:
    """One row per process, f, type and partition: count, first_ns (begun), last_ns (ended, or
    begun); and of sends: refused (never left the client), unexplained (without an answer that was
    asked for, though no fault that explains it was in force meanwhile), loaded_from_ns and
    loaded_until_ns (of those that left the client), met (the faults during which one was there),
    before (those shortly before which one was).

    Of the sends that began between two edges of faults the last to end counts: what is true of it
    and of the first edge after it is true of a send.
    """

    def __init__(self, run: RunRow) -> None:
        self._load_end_ns = run["load_end_ns"]
        self._faults = [_Fault(fault) for fault in run["faults"]]
        edges = {each.latest_ns for each in self._faults}
        edges |= {each.invoke_ns for each in self._faults}
        self._edges = np.array(sorted(edges), dtype=np.int64)
        self._died = {death["producer"]: death["died_ns"] for death in reversed(run["deaths"])}
        self._rows: dict[Key, Row] = {}
        self._until: dict[Key, Numbers] = {}  # of sends: from each edge to the next

    def see(self, batch: Batch) -> None:
        """Count a batch."""
        wide = int(batch.partition.max()) + 1
        key = (batch.f * len(TYPES) + batch.type) * wide + batch.partition
        send = batch.did("send")
        refused = send & batch.ended("fail") & _begins(batch, "_") & ~batch.failed_by(*AFTERWARDS)
        answered = batch.ended("ok") | batch.failed_by("_ABORTED", NO_ACK)
        until_ns = self._until_ns(batch)
        clear = send & ~answered
        clear[clear] = self._is_clear(batch.start_ns[clear], until_ns[clear])
        size = len(FS) * len(TYPES) * wide
        last = np.where(batch.end_ns == NONE, batch.start_ns, batch.end_ns)
        told = {
            "count": np.bincount(key, minlength=size),
            "first_ns": _least(key, batch.start_ns, size),
            "last_ns": _most(key, last, size),
            "refused": np.bincount(key[refused], minlength=size),
            "unexplained": np.bincount(key[clear], minlength=size),
        }
        left = send & ~refused
        told["loaded_from_ns"] = _least(key[left], batch.start_ns[left], size)
        told["loaded_until_ns"] = _most(key[left], until_ns[left], size)
        piece = np.searchsorted(self._edges, batch.start_ns[left], side="left")
        pieces = len(self._edges) + 1
        ends = batch.type[left] * wide + batch.partition[left]
        until = _most(ends * pieces + piece, until_ns[left], len(TYPES) * wide * pieces)
        until = until.reshape(-1, pieces)
        for place in np.flatnonzero(told["count"]).tolist():
            mine = batch.process, place // wide, place % wide
            self._add(mine, {name: int(each[place]) for name, each in told.items()})
            if FS[mine[1] // len(TYPES)] == "send":
                at = until[mine[1] % len(TYPES) * wide + mine[2]]
                self._until[mine] = np.maximum(self._until.get(mine, at), at)

    def _until_ns(self, batch: Batch) -> Numbers:
        """Until when each is outstanding."""
        until_ns = batch.end_ns.copy()
        is_open = until_ns == NONE
        if np.any(is_open):
            values = batch.value[is_open].tolist()
            until_ns[is_open] = [
                self._load_end_ns
                if value == NONE
                else self._died.get(value >> SEQUENCE_BITS, self._load_end_ns)
                for value in values
            ]
        return until_ns

    def _is_clear(self, start_ns: Numbers, until_ns: Numbers) -> Mask:
        """Whether no fault that explains it was in force while it was outstanding."""
        clear = np.ones(len(start_ns), dtype=bool)
        for fault in self._faults:
            if fault.explains:
                clear &= ~((start_ns <= fault.end_ns) & (until_ns >= fault.invoke_ns))
        return clear

    def _add(self, key: Key, more: Row) -> None:
        known = self._rows.setdefault(key, more)
        if known is not more:
            for name in ("count", "refused", "unexplained"):
                known[name] += more[name]
            for name in ("first_ns", "loaded_from_ns"):
                known[name] = min(known[name], more[name])
            for name in ("last_ns", "loaded_until_ns"):
                known[name] = max(known[name], more[name])

    def rows(self) -> Iterator[WorkRow]:
        """One for each process, f, type and partition."""
        for key, row in self._rows.items():
            process, kind, partition = key
            until = self._until.get(key, np.full(len(self._edges) + 1, NONE))
            reach = np.maximum.accumulate(until)
            sent = row["loaded_from_ns"] != _NEVER
            yield {
                "process": process,
                "f": FS[kind // len(TYPES)],
                "type": TYPES[kind % len(TYPES)],
                "partition": partition,
                "count": row["count"],
                "first_ns": row["first_ns"],
                "last_ns": row["last_ns"],
                "refused": row["refused"],
                "unexplained": row["unexplained"],
                "loaded_from_ns": row["loaded_from_ns"] if sent else None,
                "loaded_until_ns": row["loaded_until_ns"] if sent else None,
                "met": [
                    each.fault
                    for each in self._faults
                    if self._reaches(reach, each.latest_ns, each.invoke_ns - each.margin_ns)
                ],
                "before": [
                    each.fault
                    for each in self._faults
                    if self._reaches(reach, each.invoke_ns, each.invoke_ns - SHORTLY_NS)
                ],
            }

    def _reaches(self, reach: Numbers, begun_ns: int, until_ns: int) -> bool:
        """Whether a send that began by this edge was outstanding at that time or later."""
        return bool(reach[np.searchsorted(self._edges, begun_ns)] >= until_ns)


class _Fault:
    """A fault as work_done has it."""

    def __init__(self, row: FaultRow) -> None:
        self.fault, self.invoke_ns, self.explains = row["fault"], row["invoke_ns"], row["explains"]
        self.end_ns = FOREVER_NS if row["end_ns"] is None else row["end_ns"]
        self.margin_ns = SHORT_NS if self.end_ns - self.invoke_ns < SHORT_NS else 0
        self.latest_ns = self.end_ns + self.margin_ns


def _begins(batch: Batch, letter: str) -> Mask:
    return batch.failed_by(*(error for error in batch.errors if error.startswith(letter)))


def _least(key: Numbers, numbers: Numbers, size: int) -> Numbers:
    least = np.full(size, _NEVER)
    np.minimum.at(least, key, numbers)
    return least


def _most(key: Numbers, numbers: Numbers, size: int) -> Numbers:
    most = np.full(size, NONE)
    np.maximum.at(most, key, numbers)
    return most
