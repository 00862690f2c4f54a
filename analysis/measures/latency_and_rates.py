"""Counts, rates, latencies and the timeline of a run.

Latency counts from the time at which an operation was due (`intended_ns`), so that a worker held up
by a slow ack does not hide how late the next sends were. It ends when the ack arrives or, for
delivery, when a consumer or a member of the group first has the record. An undelivered record that
is in the log, or was acknowledged and is not provably gone, waits until the end of the load:
otherwise a reader that skips late records would look fast.

Latencies are rounded to four significant digits, and to at least 0.01 ms, as HdrHistogram does: a
quantile is off by at most 0.05 %, or 0.005 ms if that is more. So latencies are counted, not
sorted. Quantiles interpolate between two ranks.

    two sends due at 1 s and 2 s, given to a consumer at 1.1 s and never    the load ends at 10 s
    =>  delivery after 0.1 s and 8 s
    the same, but there is no consumer                                      =>  no delivery

Each operation counts in the bucket of time in which it ended; one that never ended, in the bucket
in which it began.

A send is *aborted* if its client aborted its transaction without an error of the send's own or of
a commit: on purpose, or because a transformer gave it up with its partitions.

A *redelivery* is a delivery of the same partition and offset to the same reader during the load,
after the first one. A reader is a consumer that follows the log, or all members of
the consumer group together. Looking one record up (`lookup`) is no delivery of the log.

    consumer-0 reads 0, 1, 1 and 0          =>  2 redeliveries
    consumer-0 and consumer-1 read 0 each   =>  nothing: they follow the log on their own
    one member polls 0, then another does   =>  1 redelivery

A send without an ack is neither known to be in the log nor known not to be where its record lies
below the first acknowledged offset of its partition and may be an earlier run's
(harness.model.runs.earlier_runs).

    read 2@12 3@13, 2 ended info, 3 was acked at 13    =>  of 2 nothing is known
    the same, but the topic was new                    =>  2 is in the log

A null meets no condition, as in SQL: an acked record without an offset lies neither below the log's
start nor past a log end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import numpy as np

from analysis.frames.operations import ACKED, FAILED, NO_ACK, OFFSET_BITS, UNASKED, UNKNOWN
from analysis.measures.fates import ABORTED, ABORTED_NAME, Fates, offset_of
from analysis.stored.batches import NONE, Batch, Mask
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import RunRow
from analysis.stored.groups.passed_over import within

Row = dict[str, Any]
UNITS_NS = (10**4, 10**5, 10**6, 10**7)  # what latencies are rounded to: each up to 10,000 of it
PLACES = 6  # of a quantile, in ms
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
GROUP = "consumer group"  # the reader that all its members are together
_SHIFT = 40  # of a bucket's number above a latency
_WIDE = 1 << 20  # numbers that are counted by their place in an array
_FINAL = -1  # the bucket of the final read


class ErrorRow(TypedDict):
    """An error that sends ended with."""

    error: str | None  # None: nobody recorded how they ended
    sends: int
    first_ns: int  # when the first of them ended; of one that never ended, when it began


class Tally:
    """How often numbers were seen: few different ones."""

    def __init__(self) -> None:
        self._seen: list[tuple[Numbers, Numbers]] = []

    def see(self, numbers: Numbers) -> None:
        """Count them."""
        if not len(numbers):
            return
        least = int(numbers.min())
        if int(numbers.max()) - least < _WIDE:
            times = np.bincount(numbers - least)
            different = np.flatnonzero(times)
            self._seen.append((different + least, times[different]))
        else:
            self._seen.append(np.unique(numbers, return_counts=True))
        if len(self._seen) > 64:
            self._seen = [self.counted]

    @property
    def counted(self) -> tuple[Numbers, Numbers]:
        """The different numbers, in order, and how often each was seen."""
        if not self._seen:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        numbers = np.concatenate([each for each, _ in self._seen])
        different, place = np.unique(numbers, return_inverse=True)
        times = np.zeros(len(different), np.int64)
        np.add.at(times, place, np.concatenate([each for _, each in self._seen]))
        return different, times


class Counts:
    """One row for the run (bucket None) and one per bucket, numbered from the load's start: the
    number of operations of each sort, and `latency_ms`, the latency quantiles of acks."""

    def __init__(self, run: RunRow) -> None:
        self._run = run
        self._tallies: dict[str, Tally] = defaultdict(Tally)
        self._latencies = Tally()

    def see(self, batch: Batch) -> None:
        """Count a batch."""
        known = batch.end_ns != NONE
        ended_ns = np.where(known, batch.end_ns, batch.start_ns)
        since_ns = ended_ns - self._run["load_start_ns"]
        final = batch.did("final-read")
        bucket = np.floor(since_ns / self._run["bucket_ns"]).astype(np.int64)
        bucket = np.where(final, _FINAL, bucket)
        for name, sort in self._sorts(batch, known).items():
            self._tallies[name].see(bucket[sort])
        acked = batch.did("send") & batch.ended("ok") & known
        took = hundredths(batch.end_ns[acked] - batch.intended_ns[acked])
        took = np.minimum(took, (1 << _SHIFT) - 1)  # 127 days
        self._latencies.see((bucket[acked] << _SHIFT) | took)

    def _sorts(self, batch: Batch, known: Mask) -> dict[str, Mask]:
        send, ok, fail = batch.did("send"), batch.ended("ok"), batch.ended("fail")
        lookup, acked = batch.did("lookup"), send & ok
        return {
            "sends": send,
            "acked": acked,
            "acked_without_offset": acked & (batch.offset == NONE),
            "acked_isr_alone": acked & self._alone(batch),
            "failed": send & fail,
            "aborted": send & fail & batch.failed_by(ABORTED_NAME),
            "indeterminate": send & batch.ended("info"),
            "reads": batch.did("read"),
            "deliveries": batch.did("read", "lookup", "poll") & ok,
            "lookups": lookup,
            "lookups_not_found": lookup & ~ok & known,
            "final_read_records": batch.did("final-read"),
            "processed": batch.did("process") & ok,
            "commits": batch.did("commit") & ok,
            "all": np.ones(len(send), dtype=bool),
        }

    def _alone(self, batch: Batch) -> Mask:
        within = np.zeros(len(batch.f), dtype=bool)
        for alone in self._run["alone"]:
            since = batch.end_ns >= alone["from_ns"]
            mine = batch.partition == alone["partition"]
            within |= mine & since & (batch.end_ns < alone["to_ns"])
        return within

    def rows(self) -> Iterator[Row]:
        """One for the run, and one for each bucket."""
        counted = {name: tally.counted for name, tally in self._tallies.items()}
        if "all" not in counted:
            return
        by_bucket = {
            name: dict(zip(*(each.tolist() for each in pair), strict=True))
            for name, pair in counted.items()
        }
        buckets = by_bucket.pop("all")
        quantiles = self._quantiles()
        whole = {name: sum(times.values()) for name, times in by_bucket.items()}
        yield {"bucket": None, **whole, "latency_ms": quantiles.get(None)}
        for bucket in buckets:
            counted = {name: times.get(bucket, 0) for name, times in by_bucket.items()}
            yield {"bucket": bucket, **counted, "latency_ms": quantiles.get(bucket)}

    def _quantiles(self) -> dict[int | None, list[float]]:
        key, times = self._latencies.counted
        if not len(key):
            return {}
        took, bucket = key & ((1 << _SHIFT) - 1), key >> _SHIFT
        order = np.argsort(took, kind="stable")
        found: dict[int | None, list[float]] = {None: quantiles(took[order], times[order])}
        firsts = np.flatnonzero(np.diff(bucket, prepend=bucket[0] - 1))
        for first, last in zip(firsts, [*firsts[1:], len(key)], strict=True):
            found[int(bucket[first])] = quantiles(took[first:last], times[first:last])
        return found


def hundredths(length_ns: Numbers) -> Numbers:
    """Times in hundredths of a millisecond, to four significant digits, beyond 100 s to 10 ms: few
    distinct numbers, so that they can be counted."""
    unit_ns = np.full(len(length_ns), UNITS_NS[-1])
    for unit in reversed(UNITS_NS[:-1]):
        unit_ns = np.where(length_ns < unit * 10_000, unit, unit_ns)
    units = np.floor((length_ns + unit_ns / 2) / unit_ns).astype(np.int64)
    counted: Numbers = units * (unit_ns // UNITS_NS[0])
    return counted


def quantiles(ordered: Numbers, times: Numbers) -> list[float]:
    """Of hundredths in order, each seen so many times, in ms."""
    upto = np.cumsum(times)
    rank = (int(upto[-1]) - 1) * np.array(list(QUANTILES.values()))
    low, high = np.floor(rank), np.ceil(rank)
    lower, higher = (ordered[np.searchsorted(upto, each + 1)] for each in (low, high))
    between = (high - rank) * lower + (rank - low) * higher
    counted = np.where(lower == higher, lower, between)
    return [round(float(each) / 100, PLACES) for each in counted]


class SendErrors:
    """One row for each error that sends ended with, the most frequent first; without those that
    nobody meant to write (their client aborted them) or to have acknowledged (acks=0)."""

    def __init__(self) -> None:
        self._sends: Counter[str | None] = Counter()
        self._first_ns: dict[str | None, int] = {}

    def see(self, batch: Batch) -> None:
        """Count a batch."""
        failed = batch.did("send") & ~batch.ended("ok") & ~batch.failed_by(ABORTED_NAME, NO_ACK)
        ended_ns = np.where(batch.end_ns == NONE, batch.start_ns, batch.end_ns)
        for place in np.unique(batch.error[failed]).tolist():
            error = None if place == NONE else batch.errors[place]
            mine = failed & (batch.error == place)
            self._sends[error] += int(np.count_nonzero(mine))
            first_ns = int(ended_ns[mine].min())
            self._first_ns[error] = min(first_ns, self._first_ns.get(error, first_ns))

    def rows(self) -> list[ErrorRow]:
        """One for each error."""
        return [
            {"error": error, "sends": sends, "first_ns": self._first_ns[error]}
            for error, sends in self._sends.most_common()
        ]


class Landings:
    """What became of sends in doubt, of records acked below the log's start and of what an elected
    leader did not have (analysis.frames.elections), and `latency_ms`, the latency quantiles of
    deliveries. Fates come in parts, each value once, those without a home too. `past`: which of
    some partitions and offsets the consumer group has gone past (consumer_lag.Reached)."""

    def __init__(self, run: RunRow, past: Callable[[Numbers, Numbers], Mask]) -> None:
        self._run, self._past = run, past
        self._superseded = np.array(run["superseded"], dtype=np.int64)
        self._counts: Counter[str] = Counter()
        self._unsure = _BelowFirst()
        self._latencies = Tally()
        self._seen = False

    def see(self, fates: Fates) -> None:
        """Count some values."""
        if not len(fates.value):
            return
        self._seen = True
        absent, offset = fates.absent, offset_of(fates.acked_place)
        below = (offset != NONE) & (offset < fates.log_start)
        superseded = absent & np.isin(fates.value, self._superseded)
        gone = absent & ((fates.complete & ~below) | (fates.passed & fates.one_copy)) & ~superseded
        doubt = (fates.sent == UNKNOWN) | (fates.sent == UNASKED)
        unasked = fates.sent == UNASKED
        past = self._is_past(fates, offset)
        missing = absent & fates.complete & (fates.log_start == 0) & ~superseded
        sorts = {
            "indeterminate_landed": doubt & ~absent,
            "indeterminate_not_landed": doubt & absent & fates.complete,
            "acked_below_log_start": absent & below,
            "expired_unread": absent & below & self._unread(fates, offset),
            "superseded": superseded & ~below & (fates.sent == ACKED),
            "unacknowledged_lost": unasked & missing,
            "lost_past_log_end": past & gone,
            "kept_past_log_end": past & ~absent,
            "failed_landed": (fates.sent == FAILED) & ~absent,
            "undelivered": (absent & (fates.sent == FAILED)) | (missing & (fates.sent == UNKNOWN)),
        }
        for name, sort in sorts.items():
            self._counts[name] += int(np.count_nonzero(sort))
        if self._run["in_use"]:
            self._unsure.see(
                fates.first_place[(fates.sent == UNKNOWN) & ~absent], fates.acked_place
            )
        self._latencies.see(self._late(fates))

    def _unread(self, fates: Fates, offset: Numbers) -> Mask:
        """Which no member was given and the group has gone past, and no reset while they were in
        the log: these are *skipped*."""
        partition = fates.acked_place >> OFFSET_BITS
        past = self._past(partition, offset) & ~fates.taken
        return past & ~within(self._run["passed_over"], partition, offset)

    def _is_past(self, fates: Fates, offset: Numbers) -> Mask:
        """As analysis.frames.elections.is_past: acked, and with an offset."""
        past, known = np.zeros(len(offset), dtype=bool), fates.acked_ns != NONE
        for election in self._run["elections"]:
            mine = known & (fates.acked_place >> OFFSET_BITS == election["partition"])
            since = fates.acked_ns < election["looked_ns"]
            past |= mine & since & (offset >= election["log_end"])
        return past

    def _late(self, fates: Fates) -> Numbers:
        """How late each record was given to somebody that is known to be late, in hundredths."""
        had_ns = fates.delivered_ns
        if self._run["tailing"] or self._run["grouped"]:
            waits = (had_ns == NONE) & self._is_there(fates)
            had_ns = np.where(waits, self._run["load_end_ns"], had_ns)
        timed = (had_ns != NONE) & (fates.intended_ns != NONE)
        return hundredths(had_ns[timed] - fates.intended_ns[timed])

    def _is_there(self, fates: Fates) -> Mask:
        """Whether a record that was due within the load is there for those who read."""
        landed = ~fates.absent & ~np.isin(fates.sent, (ABORTED, FAILED))
        there = landed | ((fates.sent == ACKED) & fates.readable)
        return np.asarray(there & (fates.intended_ns < self._run["load_end_ns"]))

    def row(self) -> Row:
        """The one row; {} of a run without any value."""
        if not self._seen:
            return {}
        numbers, times = self._latencies.counted
        landed = self._counts["indeterminate_landed"] - self._unsure.count()
        return {
            **self._counts,
            "indeterminate_landed": landed,
            "latency_ms": quantiles(numbers, times) if len(numbers) else None,
        }


class _BelowFirst:
    """How many places lie below the first acknowledged one of their partition."""

    def __init__(self) -> None:
        self._places = [np.zeros(0, dtype=np.int64)]
        self._first: dict[int, int] = {}  # of each partition

    def see(self, places: Numbers, acked: Numbers) -> None:
        """Look at some places, and at some that were acknowledged."""
        self._places.append(places)
        in_order = np.sort(acked[acked != NONE])
        partitions, begins = np.unique(in_order >> OFFSET_BITS, return_index=True)
        for number, first in zip(partitions.tolist(), in_order[begins].tolist(), strict=True):
            self._first[number] = min(first, self._first.get(number, first))

    def count(self) -> int:
        """How many of all."""
        places = np.sort(np.concatenate(self._places))
        begins, firsts = [number << OFFSET_BITS for number in self._first], [*self._first.values()]
        return int(np.sum(np.searchsorted(places, firsts) - np.searchsorted(places, begins)))


class Redeliveries:
    """How many redeliveries there were: which offsets each reader has had."""

    def __init__(self, operations: int) -> None:
        self._most = 16 * operations + (1 << 20)  # beyond it a bit an offset would be too much
        self._had: dict[tuple[str, int], Mask] = {}
        self._far: dict[tuple[str, int], list[Numbers]] = defaultdict(list)
        self._given = 0

    def see(self, batch: Batch) -> None:
        """Look at a batch's deliveries."""
        for reader, name in ((batch.process, "read"), (GROUP, "poll")):
            mine = batch.did(name) & batch.ended("ok")
            offset, partition = batch.offset[mine], batch.partition[mine]
            self._given += len(offset)
            for each in np.unique(partition).tolist():
                # A reader may be named as the group is: `poll` alone is the group's.
                self._mark((f"{name} {reader}", each), offset[partition == each])

    def _mark(self, whose: tuple[str, int], offsets: Numbers) -> None:
        if np.any(far := offsets > self._most):
            self._far[whose].append(offsets[far])
            offsets = offsets[~far]
        had = self._had.get(whose, np.zeros(0, dtype=bool))
        most = int(offsets.max(initial=-1)) + 1
        if most > len(had):
            had = np.concatenate((had, np.zeros(max(most, 2 * len(had)) - len(had), dtype=bool)))
            self._had[whose] = had
        had[offsets] = True

    def row(self) -> Row:
        """{} of a run in which nothing was delivered."""
        if not self._given:
            return {}
        had = sum(int(np.count_nonzero(each)) for each in self._had.values())
        had += sum(len(np.unique(np.concatenate(each))) for each in self._far.values())
        return {"redeliveries": self._given - had}
