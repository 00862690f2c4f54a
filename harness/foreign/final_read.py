"""Which reads of a parsed history are its final read, and how far that got in each partition.

    a line `read_to_end`, log from 0 to 60,000                         =>  complete, as it says
    the same, and an ack of the partition is later                     =>  it says nothing
    --final, and every offset that was acked or read by others is      =>  complete, from the first
    among its own, and its last line is later than the last ack            offset that it has
    the same, but an acked offset is not among them                    =>  not complete: it stopped
                                                                           before, or passed over it
    an ack has no offset                                               =>  not complete: its end is
                                                                           not known
    ranges without values                                              =>  not complete
    nobody tells of the partition                                      =>  nothing is said of it
    Jepsen: sought to the beginning, then a@0 c@2; b was acked at 1    =>  not complete, and it
                                                                           passed 1

We believe the user which reads are the final read, and not that it got to the end: that needs a
sign. Several readers (members of a group) make one final read, in order of time.

Only the **last pass** is the final read. A reader that goes back to an offset reads anew from
there; what it had read there and behind before counts as read live.

    a@0 b@1 c@2, and then b@1     =>  a@0 b@1 are the final read; b@1 c@2 before were read live
    the same, each by another     =>  the same
    a line `read_to_end` before   =>  it ended another pass, and says nothing
    sought to the beginning       =>  what was read before was read live
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from harness.foreign.parsed_history import ParsedHistory, Reads, ReadToEnd
from harness.history.record_format import OK
from harness.model.runs.imported_history import end_fields, log_fields

Numbers = np.ndarray[Any, Any]
Places = tuple[Numbers, Numbers]  # partitions, offsets
LastPass = Mapping[str, Numbers]  # each final reader -> whether each record is of it


def last_pass(history: ParsedHistory, names: Iterable[str]) -> LastPass:
    """Which records of these readers are the final read: those to which, or behind which, none of
    them goes back."""
    readers = {name: history.reads[name] for name in names}
    if not readers:
        return {}
    partition, offset, time_ns = (
        np.concatenate([np.asarray(getattr(reads, column)) for reads in readers.values()])
        for column in ("partition", "offset", "time_ns")
    )
    in_order = np.lexsort((time_ns, partition))  # stable: keeps the order of each reader
    ends_here = np.flatnonzero(np.diff(partition[in_order])) + 1
    is_final = np.ones(len(in_order), dtype=bool)
    for places in np.split(in_order, ends_here):
        lowest = np.minimum.accumulate(offset[places][::-1])[::-1]  # from here on
        is_final[places[:-1]] = offset[places[:-1]] < lowest[1:]
    sizes = [len(reads.offset) for reads in readers.values()]
    final = dict(zip(readers, np.split(is_final, np.cumsum(sizes)[:-1]), strict=True))
    for name, reads in readers.items():
        for number, pass_ in reads.passes.items():
            before = np.arange(len(reads.offset)) < pass_.records
            final[name] &= ~(before & (np.asarray(reads.partition) == number))
    return final


def ended_ns(history: ParsedHistory, final: LastPass) -> int:
    """When the final read ended."""
    return max(history.span_ns[name][1] for name in final)


def ends(history: ParsedHistory, final: LastPass, partitions: int) -> Iterator[dict[str, Any]]:
    """The fields of an event `ends` for each partition of which anybody tells."""
    readers = [history.reads[name] for name in final]
    after_acks = ended_ns(history, final) >= history.last_ack_ns
    has_ranges = any(reads.ranges for reads in readers)
    acked, without_offset, acked_ns = _acks(history)
    final_places = [_places(history.reads[name], is_final) for name, is_final in final.items()]
    live = [
        _places(reads, ~final[name] if name in final else None)
        for name, reads in history.reads.items()
    ]
    for partition in sorted(_told(history) & {*range(partitions)}):
        lines = _lines_of_last_pass(history, final, partition, acked_ns.get(partition, 0))
        line = max(lines, key=lambda line: line.end, default=None)
        fields: dict[str, Any] = {"partition": partition}
        if line is not None:
            position = min(line.position, line.end)
            fields |= log_fields(line.start, position, complete=line.position >= line.end)
        elif has_ranges:
            fields |= {"complete": False}
        else:
            offsets = _offsets(final_places, partition)
            first, last = map(int, offsets[[0, -1]]) if len(offsets) else (None, None)
            others = _offsets([acked, *live], partition)
            missed = np.setdiff1d(others[others >= (first or 0)], offsets, assume_unique=True)
            looked = len(offsets) or any(partition in reads.assigned for reads in readers)
            complete = after_acks and bool(looked) and partition not in without_offset
            passed = missed[_passed(history, final, partition, missed)]
            missed = np.setdiff1d(missed, passed, assume_unique=True)
            missing = int(missed[0]) if len(missed) else None
            complete &= not len(passed)
            fields |= end_fields(first, last, missing, complete=complete)
        yield fields


def _passed(history: ParsedHistory, final: LastPass, partition: int, missed: Numbers) -> Numbers:
    """Which of these offsets a final reader was led past from the log's start, when all acks of
    them were there."""
    sends = history.sends
    mine = (np.asarray(sends.type) == OK) & (np.asarray(sends.partition) == partition)
    mine &= np.isin(np.asarray(sends.offset), missed)
    acked_ns = np.zeros(len(missed), dtype=np.int64)
    places = np.searchsorted(missed, np.asarray(sends.offset)[mine])
    np.maximum.at(acked_ns, places, np.asarray(sends.end_ns)[mine])
    passed = np.zeros(len(missed), dtype=bool)
    for name, is_final in final.items():
        reads = history.reads[name]
        pass_ = reads.passes.get(partition)
        if pass_ is None:
            continue
        rows = is_final & (np.asarray(reads.partition) == partition)
        offset, time_ns = (np.asarray(column)[rows] for column in (reads.offset, reads.time_ns))
        behind = np.searchsorted(offset, missed)  # the first record that lies behind each
        led = (missed < pass_.position) & (behind < len(offset))
        passed[led] |= acked_ns[led] <= time_ns[behind[led]]
    return passed


def _told(history: ParsedHistory) -> set[int]:
    """The partitions of which anybody tells anything."""
    columns = [history.sends.partition, *(reads.partition for reads in history.reads.values())]
    numbers = [{*np.unique(np.asarray(column, dtype=np.int64)).tolist()} for column in columns]
    told = [{*reads.assigned, *reads.to_end} for reads in history.reads.values()]
    return set[int]().union(*numbers, *told)


def _lines_of_last_pass(
    history: ParsedHistory, final: LastPass, partition: int, since_ns: int
) -> Iterator[ReadToEnd]:
    """The lines that ended the last pass of a partition, not before the last ack."""
    for name, is_final in final.items():
        reads = history.reads[name]
        line = reads.to_end.get(partition)
        if line is None or line.time_ns < since_ns:
            continue
        before = np.flatnonzero(np.asarray(reads.partition)[: line.records] == partition)
        if not len(before) or is_final[before[-1]]:
            yield line


def _acks(history: ParsedHistory) -> tuple[Places, set[int], dict[int, int]]:
    """The places of all acks, the partitions in which an ack has no offset, and the time of each
    partition's last ack."""
    sends = history.sends
    is_ack = np.asarray(sends.type) == OK
    partition, offset, end_ns = (
        np.asarray(column, dtype=np.int64)[is_ack]
        for column in (sends.partition, sends.offset, sends.end_ns)
    )
    has_offset = offset >= 0
    partitions, numbers = np.unique(partition, return_inverse=True)
    last_ns = np.zeros(len(partitions), dtype=np.int64)
    np.maximum.at(last_ns, numbers, end_ns)
    return (
        (partition[has_offset], offset[has_offset]),
        set(partition[~has_offset].tolist()),
        dict(zip(partitions.tolist(), last_ns.tolist(), strict=True)),
    )


def _places(reads: Reads, chosen: Numbers | None) -> Places:
    """The places of all records, or of the chosen ones."""
    partition, offset = np.asarray(reads.partition), np.asarray(reads.offset)
    return (partition, offset) if chosen is None else (partition[chosen], offset[chosen])


def _offsets(places: Iterable[Places], partition: int) -> Numbers:
    """The offsets of a partition, each once, in order."""
    chosen = [offset[where == partition] for where, offset in places]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *chosen]))
