"""How far a final read got that somebody else made, of each partition.

    a line `read_to_end`, log from 0 to 60,000                         =>  complete, as it says
    --final, and every offset that was acked or read by others is      =>  complete, from the first
    among its own, and its last line is later than the last ack            offset that it has
    the same, but an acked offset is not among them                    =>  not complete: it stopped
                                                                           before, or passed over it
    an ack told no offset                                              =>  not complete: how far it
                                                                           had to get is not known
    ranges without values                                              =>  not complete

That somebody calls it a final read is believed; that it got to the end is not, without a sign.
Several readers that are one final read (members of a group) are taken together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from harness.foreign.gathered import Gathered, Reads
from harness.history.record_format import OK

Numbers = np.ndarray[Any, Any]


def ends(found: Gathered, final: Sequence[str], partitions: int) -> Iterator[dict[str, Any]]:
    """The fields of an event `ends` for each partition."""
    readers = [found.reads[name] for name in final if name in found.reads]
    if not readers:
        return
    last_ns = max(found.span_ns[name][1] for name in final if name in found.span_ns)
    late = last_ns >= found.last_ack_ns
    acked, unplaced = _acked(found), _unplaced(found)
    others = [_places(each) for name, each in found.reads.items() if name not in final]
    mine = [_places(each) for each in readers]
    for partition in range(partitions):
        fields = {"partition": partition, "time_ns": last_ns}
        told = [each.to_end[partition] for each in readers if partition in each.to_end]
        if told:
            start, end, at, _ = max(told, key=lambda each: each[1])
            yield {**fields, **_to(start, min(at, end), complete=at >= end)}
            continue
        there = _of(mine, partition)
        known = np.union1d(_of([acked], partition), _of(others, partition))
        start = int(there[0]) if len(there) else 0
        position = int(there[-1]) + 1 if len(there) else 0
        given = any(partition in each.given for each in readers) or bool(len(there))
        missed = np.setdiff1d(known[known >= start], there, assume_unique=True)
        ranges = any(each.ranges for each in readers)
        whole = late and given and not ranges and not len(missed) and partition not in unplaced
        if ranges:
            yield {**fields, "complete": False}
        else:
            passed = int(missed[0]) if len(missed) else position
            yield {**fields, **_to(start, position if whole else passed, complete=whole)}


def _to(start: int, end: int, *, complete: bool) -> dict[str, Any]:
    """An incomplete one tells where it was, and not where the log ends."""
    known = {"committed_end": end, "uncommitted_end": end} if complete else {}
    return {"log_start": start, "position": end, "complete": complete, **known}


def _acked(found: Gathered) -> tuple[Numbers, Numbers]:
    partition, offset, type_ = (
        np.asarray(column, dtype=np.int64)
        for column in (found.sends.partition, found.sends.offset, found.sends.type)
    )
    known = (type_ == OK) & (offset >= 0)
    return partition[known], offset[known]


def _unplaced(found: Gathered) -> set[int]:
    """The partitions in which an ack told no offset."""
    sends = zip(found.sends.partition, found.sends.type, found.sends.offset, strict=True)
    return {partition for partition, type_, offset in sends if type_ == OK and offset < 0}


def _places(reads: Reads) -> tuple[Numbers, Numbers]:
    return np.asarray(reads.partition, dtype=np.int64), np.asarray(reads.offset, dtype=np.int64)


def _of(places: Sequence[tuple[Numbers, Numbers]], partition: int) -> Numbers:
    """The offsets of a partition, each once, in order."""
    chosen = [offset[where == partition] for where, offset in places]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *chosen]))
