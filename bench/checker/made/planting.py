"""A few anomalies of each kind that such a history can have, each where nothing else is wrong.

Two sorts: those that change the order of the log or cut it (`ORDERED`) are planted before offsets
are given, all others (`PLACED`) after it. Each is a function that looks for a place in one
partition of one cycle, changes the cycle there, and says what a check must find of it; None: there
is no such place. Partitions 14 and 15 have none of them: their final reads tell of transactions
that hang, and that of 15 stops early.

A record that nobody has any more lies in a log of transactions like a marker: offsets have gaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

import numpy as np

from bench.checker.made.cycles import (
    ABORTED,
    COMMITTED,
    DOUBTFUL,
    GONE,
    MARKER,
    MS,
    OUTAGE_S,
    PARTITIONS,
    Numbers,
    S,
)
from bench.checker.made.plot import APART, Plot

EACH = 2  # of a kind
STOPS, HANGS = PARTITIONS - 1, PARTITIONS - 2  # the partitions with final reads of their own
FREE = PARTITIONS - 2
FOREIGN = 200 << 40
CUT = 3  # records at the end of a log

Found = Mapping[str, int]


Plant = Callable[[Plot, int], Found | None]


def plant(plot: Plot, plants: Iterable[Plant], first: int) -> Counter[str]:
    """Plant each somewhere, the first of them in this partition if it can be."""
    found: Counter[str] = Counter()
    for number, each in enumerate(plants):
        for partition in range(FREE):
            what = each(plot, (first + number + partition) % FREE)
            if what is not None:
                found.update(what)
                break
        else:
            raise ValueError(f"the history is too small to plant {each.__name__} in it")
    return found


# Before offsets are given


def cut_unread(plot: Plot, partition: int) -> Found | None:
    """The end of a log is lost with its leader, and nobody had read it."""
    found = _cut(plot, partition)
    if found is None:
        return None
    for at in found.tolist():
        plot.hide(at)
    return {"inconsistent-offset": len(found)}


def cut_read(plot: Plot, partition: int) -> Found | None:
    """The same, and a consumer had read it, and goes back."""
    found = _cut(plot, partition)
    if found is None:
        return None
    entries = plot.entries
    entries.final[found] = entries.polled[found] = False
    entries.processed[found] = 0
    return {"inconsistent-offset": len(found)}


def _cut(plot: Plot, partition: int) -> Numbers | None:
    """The last few records, all acknowledged; their offsets are given away."""
    entries, sends = plot.entries, plot.cycle.sends
    mine = entries.of(partition)
    before = mine[~entries.late[mine]]
    records: Numbers = before[entries.send[before] != MARKER][-CUT:]
    if len(records) < CUT or plot.busy[records].any():
        return None
    gone = np.arange(records[0], before[-1] + 1)
    later = mine[entries.late[mine]][: len(gone)]
    kinds = sends.kind[entries.send[records]]
    if (
        (kinds != COMMITTED).any()
        or (entries.send[later] == MARKER).any()
        or len(later) < len(gone)
    ):
        return None
    entries.cut[gone] = True
    plot.take(*gone.tolist(), *later.tolist())
    return records


def swapped(plot: Plot, partition: int) -> Found | None:
    """Two records of one transaction change places, and no acked one of others is between."""
    entries, sends = plot.entries, plot.cycle.sends
    last: dict[tuple[int, int], int] = {}
    for at in plot.records(partition):
        client = (int(entries.producer[at]), int(entries.window[at]))
        other = last.get(client)
        last[client] = at
        if other is None or plot.busy[other : at + 1].any() or at - other > APART:
            continue
        between = entries.send[other + 1 : at]
        ended_ns = plot.cycle.ended_ns()[between[between != MARKER]]
        if (ended_ns < sends.start_ns[entries.send[at]]).any():
            continue
        entries.send[other], entries.send[at] = entries.send[at], entries.send[other]
        entries.value[other], entries.value[at] = entries.value[at], entries.value[other]
        plot.take(other, at)
        return {"reordered": 1}
    return None


def overtaken(plot: Plot, partition: int) -> Found | None:
    """A record moves behind another producer's that was sent after it had been acknowledged."""
    entries, sends = plot.entries, plot.cycle.sends
    ended_ns = plot.cycle.ended_ns()
    records = list(plot.records(partition))
    starts_ns = sends.start_ns[entries.send[records]] if records else np.zeros(0)
    for at in reversed(records):  # the last ones of a transaction wait least for its end
        send = entries.send[at]
        number = int(np.searchsorted(starts_ns, ended_ns[send] + MS))
        if number >= len(records) or (to := records[number]) <= at:
            continue
        moved = np.arange(at, to + 1)
        rest = entries.send[moved[1:]]
        same = (sends.producer[rest] == entries.producer[at]) & (rest != MARKER)
        if same.any() or plot.busy[moved].any() or to - at > 20 * APART:
            continue
        for column in ("send", "producer", "window", "value", "final", "tail", "polled"):
            numbers = getattr(entries, column)
            numbers[moved] = np.roll(numbers[moved], -1)
        entries.processed[moved] = np.roll(entries.processed[moved], -1)
        plot.take(*moved.tolist())
        return {"real-time-violation": 1}
    return None


# After it


def lost_unread(plot: Plot, partition: int) -> Found | None:
    """An acknowledged record that nobody ever had."""
    at = next(plot.records(partition), None)
    if at is None:
        return None
    plot.hide(at)
    return {}


def elsewhere(plot: Plot, partition: int) -> Found | None:
    """An ack with the offset of a marker."""
    at = next(plot.records(partition), None)
    if at is None:
        return None
    other = next((each for each in plot.markers(partition) if abs(each - at) > APART), None)
    if other is None:
        return None
    plot.cycle.sends.acked_at[plot.entries.send[at]] = plot.entries.offset[other]
    plot.take(at, other)
    return {"inconsistent-offset": 1}


def copied(plot: Plot, partition: int) -> Found | None:
    """A value that is in the log once more."""
    at = next(plot.records(partition), None)
    other = next((m for m in plot.markers(partition) if at is not None and m > at + APART), None)
    if at is None or other is None:
        return None
    plot.take(at)
    plot.show(other, int(plot.entries.value[at]))
    return {"duplicate": 1}


def strayed(plot: Plot, partition: int) -> Found | None:
    """A record of a doubtful send, in another partition than it was sent to."""
    at = next(plot.records(partition, DOUBTFUL), None)
    if at is None:
        return None
    ended_ns = plot.cycle.ended_ns()[plot.entries.send[at]] + S
    later = (
        m for m in plot.markers((partition + 1) % FREE) if plot.entries.stable_ns[m] > ended_ns
    )
    other = next(later, None)
    if other is None:
        return None
    value = int(plot.entries.value[at])
    plot.hide(at)
    plot.show(other, value)
    return {"inconsistent-offset": 1}


def aborted_shown(plot: Plot, partition: int) -> Found | None:
    """A record of an aborted transaction is given to readers."""
    at = next(plot.records(partition, ABORTED), None)
    if at is None:
        return None
    plot.show(at, int(plot.entries.value[at]))
    return {"phantom": 1}


def never_sent(plot: Plot, partition: int) -> Found | None:
    """A value that nobody sent."""
    at = next(plot.markers(partition), None)
    if at is None:
        return None
    plot.show(at, FOREIGN | (partition << 20) | plot.cycle.number)
    return {"phantom": 1}


def unparsable(plot: Plot, partition: int) -> Found | None:
    """A payload that is none of ours."""
    at = next(plot.markers(partition), None)
    if at is None:
        return None
    plot.show(at, None)
    return {"phantom": 1}


def corrupted(plot: Plot, partition: int) -> Found | None:
    """A payload of ours that was changed: of a send of which nobody knows how it ended."""
    at = next(plot.records(partition, GONE), None)
    if at is None:
        return None
    plot.show(at, None)
    plot.corrupt.append(at)
    return {"corrupt": 1}


def never_asked(plot: Plot, partition: int) -> Found | None:
    """A record of a transaction whose commit nobody asked for."""
    at = next(plot.records(partition, GONE), None)
    if at is None:
        return None
    plot.show(at, int(plot.entries.value[at]))
    return {"uncommitted-read": 1}


def asked_late(plot: Plot, partition: int) -> Found | None:
    """A transaction that was read before its commit was asked for."""
    for at in plot.records(partition):
        mine = plot.transaction(at)
        if len(mine) and plot.cycle.transactions.asked_ns[*_of(plot, at)] < _long_before(plot):
            plot.late_asks.add(_of(plot, at))
            plot.take(*mine.tolist())
            return {"uncommitted-read": len(mine)}
    return None


def torn_in_doubt(plot: Plot, partition: int) -> Found | None:
    """One record is missing of a transaction that ended in doubt."""
    for at in plot.records(partition, DOUBTFUL):
        mine = plot.transaction(at)
        if len(mine) > 1:
            plot.take(*mine.tolist())
            plot.hide(at)
            return {}
    return None


def passed_over(plot: Plot, partition: int) -> Found | None:
    """The consumer skips a record."""
    at = next(plot.records(partition), None)
    if at is None:
        return None
    plot.entries.tail[at] = False
    plot.take(at)
    return {"poll-skip": 1}


def given_twice(plot: Plot, partition: int) -> Found | None:
    """The consumer is given a record twice."""
    at = next(plot.records(partition), None)
    if at is None:
        return None
    plot.again[at] = (at,)
    plot.take(at)
    return {"poll-back": 1}


def went_back(plot: Plot, partition: int) -> Found | None:
    """The consumer goes back by one record."""
    records = list(plot.records(partition))
    for at, after in pairwise(records):
        if after == at + 1:
            plot.again[after] = (at, after)
            plot.take(at, after)
            return {"poll-back": 1}
    return None


def older_epoch(plot: Plot, partition: int) -> Found | None:
    """The consumer is given a record of an older leader."""
    at = next(plot.records(partition), None)
    if at is None:
        return None
    plot.older.add(at)
    plot.take(at)
    return {"epoch-back": 1}


def unprocessed(plot: Plot, partition: int) -> Found | None:
    """The group's member does not process a record."""
    return _processed(plot, partition, times=0, found="skipped")


def processed_twice(plot: Plot, partition: int) -> Found | None:
    """The group's member processes a record twice."""
    return _processed(plot, partition, times=2, found="reprocessed")


def _processed(plot: Plot, partition: int, *, times: int, found: str) -> Found | None:
    at = next(plot.records(partition), None)
    if at is None:
        return None
    plot.entries.processed[at] = times
    plot.take(at)
    return {found: 1}


def _of(plot: Plot, at: int) -> tuple[int, int]:
    return int(plot.entries.producer[at]), int(plot.entries.window[at])


def _long_before(plot: Plot) -> int:
    """So long before the outage that what is asked for three seconds later is before it."""
    return plot.cycle.start_ns + (OUTAGE_S - 3) * S


ORDERED: tuple[Plant, ...] = (cut_unread, cut_read, overtaken, swapped)
PLACED: tuple[Plant, ...] = (
    *(torn_in_doubt, asked_late),  # whole transactions first
    *(strayed, aborted_shown, corrupted, never_asked),
    *(lost_unread, elsewhere, copied, never_sent, unparsable),
    *(passed_over, given_twice, went_back, older_epoch, unprocessed, processed_twice),
)
