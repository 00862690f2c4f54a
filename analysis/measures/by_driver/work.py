"""What each worker did: rows of analysis.measures.work_done, by numpy.

Of the sends that began between two edges of faults the last to end counts: what is true of it and
of the first edge after it is true of a send.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.frames.operations import NO_ACK
from analysis.measures.by_driver.batches import FS, NONE, TYPES, Batch, Mask
from analysis.measures.own_time import FOREVER_NS
from analysis.measures.work_done import AFTERWARDS, SHORT_NS, SHORTLY_NS
from analysis.stored.columns import Numbers
from harness.history.record_format import SEQUENCE_BITS

Row = dict[str, Any]
Key = tuple[str, int, int]  # process, f and type as one number, partition
_NEVER = np.iinfo(np.int64).max


class Work:
    """Rows of `work_done`."""

    def __init__(self, run: Mapping[str, Any]) -> None:
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

    def rows(self) -> Iterator[Row]:
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
                **row,
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

    def __init__(self, row: Mapping[str, Any]) -> None:
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
