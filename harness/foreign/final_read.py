"""What the final read is that somebody else made, and how far it got, of each partition.

    a line `read_to_end`, log from 0 to 60,000                         =>  complete, as it says
    the same, and an ack of the partition is later                     =>  it says nothing
    --final, and every offset that was acked or read by others is      =>  complete, from the first
    among its own, and its last line is later than the last ack            offset that it has
    the same, but an acked offset is not among them                    =>  not complete: it stopped
                                                                           before, or passed over it
    an ack told no offset                                              =>  not complete: how far it
                                                                           had to get is not known
    ranges without values                                              =>  not complete

That somebody calls it a final read is believed; that it got to the end is not, without a sign.
Several readers that are one final read (members of a group) are taken together, in order of time.

The **last pass** alone is the final read: who goes back to an offset reads from there on anew, and
what it had read there and behind was read live.

    a@0 b@1 c@2, and then b@1     =>  a@0 b@1 are the final read; b@1 c@2 before were read live
    the same, each by another     =>  the same
    a line `read_to_end` before   =>  it ended a pass that was not the last, and says nothing
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.foreign.gathered import Gathered, Reads, ToEnd
from harness.history.record_format import OK

Numbers = np.ndarray[Any, Any]
LastPass = Mapping[str, Numbers]  # each final reader -> which of its records are of it


def last_pass(found: Gathered, final: Iterable[str]) -> LastPass:
    """Which records of these readers are the final read: those that none of them goes back to, or
    behind."""
    readers = {name: found.reads[name] for name in final}
    if not readers:
        return {}
    partition, offset, time_ns = (
        np.concatenate([np.asarray(getattr(each, column)) for each in readers.values()])
        for column in ("partition", "offset", "time_ns")
    )
    in_order = np.lexsort((time_ns, partition))  # stable: a reader's own order stays
    ends_here = np.flatnonzero(np.diff(partition[in_order])) + 1
    stays = np.ones(len(in_order), dtype=bool)
    for places in np.split(in_order, ends_here):
        lowest = np.minimum.accumulate(offset[places][::-1])[::-1]  # from here on
        stays[places[:-1]] = offset[places[:-1]] < lowest[1:]
    sizes = [len(each.offset) for each in readers.values()]
    return dict(zip(readers, np.split(stays, np.cumsum(sizes)[:-1]), strict=True))


def ends(found: Gathered, final: LastPass, partitions: int) -> Iterator[dict[str, Any]]:
    """The fields of an event `ends` for each partition."""
    if not final:
        return
    readers = [found.reads[name] for name in final]
    last_ns = max(found.span_ns[name][1] for name in final)
    late = last_ns >= found.last_ack_ns
    acked, unplaced, acked_ns = _acked(found), _unplaced(found), _acked_ns(found)
    live = {name: ~stays for name, stays in final.items()}
    others = [_places(each, live.get(name)) for name, each in found.reads.items()]
    mine = [_places(found.reads[name], stays) for name, stays in final.items()]
    for partition in range(partitions):
        fields = {"partition": partition, "time_ns": last_ns}
        told = list(_told(found, final, partition, acked_ns.get(partition, 0)))
        if told:
            far = max(told, key=lambda each: each.end)
            whole = far.position >= far.end
            yield {**fields, **_to(far.start, min(far.position, far.end), complete=whole)}
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


def _told(found: Gathered, final: LastPass, partition: int, since_ns: int) -> Iterator[ToEnd]:
    """The lines that ended the last pass of a partition, if that was not before the last ack."""
    for name, stays in final.items():
        reads = found.reads[name]
        told = reads.to_end.get(partition)
        if told is None or told.time_ns < since_ns:
            continue
        before = np.flatnonzero(np.asarray(reads.partition)[: told.records] == partition)
        if not len(before) or stays[before[-1]]:
            yield told


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


def _acked_ns(found: Gathered) -> dict[int, int]:
    """When each partition had its last ack."""
    type_, partition = np.asarray(found.sends.type), np.asarray(found.sends.partition)
    acked = np.flatnonzero(type_ == OK)
    partitions, places = np.unique(partition[acked], return_inverse=True)
    last_ns = np.zeros(len(partitions), dtype=np.int64)
    np.maximum.at(last_ns, places, np.asarray(found.sends.end_ns)[acked])
    return dict(zip(partitions.tolist(), last_ns.tolist(), strict=True))


def _places(reads: Reads, chosen: Numbers | None) -> tuple[Numbers, Numbers]:
    """Of all that it read, or of what is chosen of it."""
    both = np.asarray(reads.partition), np.asarray(reads.offset)
    return both if chosen is None else (both[0][chosen], both[1][chosen])


def _of(places: Sequence[tuple[Numbers, Numbers]], partition: int) -> Numbers:
    """The offsets of a partition, each once, in order."""
    chosen = [offset[where == partition] for where, offset in places]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *chosen]))
