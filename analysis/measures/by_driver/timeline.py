"""What happened when: counts, latencies, acks between cuts, positions of readers, redeliveries.

Each class goes through batches, and tells rows as the query of its name does
(analysis.measures.latency_and_rates, leadership, consumer_lag).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.measures.by_driver.batches import FS, NONE, TYPES, Batch, Mask, NotPlain
from analysis.measures.consumer_lag import FEWEST, GROUP, ROWS, SLICES
from analysis.measures.latency_and_rates import ABORTED_NAME, PLACES, QUANTILES, UNITS_NS
from analysis.stored.columns import Numbers

Row = dict[str, Any]
_SHIFT = 40  # of a bucket's number above a latency
_WIDE = 1 << 20  # numbers that are counted by their place in an array
_FINAL = -1  # the bucket of the final read


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
            self._seen = [self.told]

    @property
    def told(self) -> tuple[Numbers, Numbers]:
        """The numbers, in order, and how often each was seen."""
        if not self._seen:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        numbers = np.concatenate([each for each, _ in self._seen])
        different, place = np.unique(numbers, return_inverse=True)
        times = np.zeros(len(different), np.int64)
        np.add.at(times, place, np.concatenate([each for _, each in self._seen]))
        return different, times


class Counts:
    """Rows of `counts`."""

    def __init__(self, run: Mapping[str, Any]) -> None:
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
        if np.any((took < 0) | (took >= 1 << _SHIFT)):
            raise NotPlain("an ack before its send was due")
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
        told = {name: tally.told for name, tally in self._tallies.items()}
        if "all" not in told:
            return
        by_bucket = {
            name: dict(zip(*(each.tolist() for each in pair), strict=True))
            for name, pair in told.items()
        }
        buckets = by_bucket.pop("all")
        quantiles = self._quantiles()
        whole = {name: sum(times.values()) for name, times in by_bucket.items()}
        yield {"bucket": None, **whole, "latency_ms": quantiles.get(None)}
        for bucket in buckets:
            counted = {name: times.get(bucket, 0) for name, times in by_bucket.items()}
            yield {"bucket": bucket, **counted, "latency_ms": quantiles.get(bucket)}

    def _quantiles(self) -> dict[int | None, list[float]]:
        key, times = self._latencies.told
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
    """As latency_and_rates.hundredths."""
    unit_ns = np.full(len(length_ns), UNITS_NS[-1])
    for unit in reversed(UNITS_NS[:-1]):
        unit_ns = np.where(length_ns < unit * 10_000, unit, unit_ns)
    units = np.floor((length_ns + unit_ns / 2) / unit_ns).astype(np.int64)
    told: Numbers = units * (unit_ns // UNITS_NS[0])
    return told


def quantiles(ordered: Numbers, times: Numbers) -> list[float]:
    """Of hundredths in order, each seen so many times, in ms: as Spark's `percentile`."""
    upto = np.cumsum(times)
    rank = (int(upto[-1]) - 1) * np.array(list(QUANTILES.values()))
    low, high = np.floor(rank), np.ceil(rank)
    lower, higher = (ordered[np.searchsorted(upto, each + 1)] for each in (low, high))
    between = (high - rank) * lower + (rank - low) * higher
    told = np.where(lower == higher, lower, between)
    return [round(float(each) / 100, PLACES) for each in told]


class Acks:
    """Rows of `acks_between_cuts`."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        begins, self._end_ns = run["load_start_ns"], run["load_end_ns"]
        moments = [row["from_ns"] for row in run["leaders"]]
        moments += [row["invoke_ns"] for row in run["faults"]]
        self._cuts = np.array(sorted({begins, *(ns for ns in moments if ns > begins)}))
        self._tally = Tally()

    def see(self, batch: Batch) -> None:
        """Count a batch's acks."""
        ended_ns = batch.end_ns
        within = (ended_ns >= self._cuts[0]) & (ended_ns < self._end_ns)
        mine = batch.did("send") & batch.ended("ok") & within
        number = np.searchsorted(self._cuts, ended_ns[mine], side="right") - 1
        self._tally.see((number << 20) | batch.partition[mine])

    def rows(self) -> Iterator[Row]:
        """One for each partition and cut."""
        for key, acks in zip(*(each.tolist() for each in self._tally.told), strict=True):
            from_ns = int(self._cuts[key >> 20])
            yield {"partition": key & ((1 << 20) - 1), "from_ns": from_ns, "acks": acks}


class Positions:
    """Rows of `positions`: of each slice, the furthest offset by partition and reader."""

    def __init__(self, run: Mapping[str, Any]) -> None:
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

    def rows(self) -> Iterator[Row]:
        """One for each slice, partition and reader."""
        for (reader, number, partition), offset in self._furthest.items():
            yield {
                "slice_ns": self._slice_ns,
                "slice": number,
                "partition": partition,
                "reader": reader,
                "position": offset + 1,
            }


class Redeliveries:
    """The row of `redeliveries`: which offsets each reader has had."""

    def __init__(self, operations: int) -> None:
        self._most = 16 * operations + (1 << 20)  # an offset beyond it would take too much memory
        self._had: dict[tuple[str, int], npt.NDArray[np.bool_]] = {}
        self._given = 0

    def see(self, batch: Batch) -> None:
        """Look at a batch's deliveries."""
        for reader, name in ((batch.process, "read"), (GROUP, "poll")):
            mine = batch.did(name) & batch.ended("ok")
            offset, partition = batch.offset[mine], batch.partition[mine]
            if np.any((offset < 0) | (offset > self._most)):
                raise NotPlain("an offset that no log of so many records has")
            self._given += len(offset)
            for each in np.unique(partition).tolist():
                # A reader may be named as the group is: `poll` alone is the group's.
                self._mark((f"{name} {reader}", each), offset[partition == each])

    def _mark(self, whose: tuple[str, int], offsets: Numbers) -> None:
        had = self._had.get(whose, np.zeros(0, dtype=bool))
        most = int(offsets.max()) + 1
        if most > len(had):
            had = np.concatenate((had, np.zeros(max(most, 2 * len(had)) - len(had), dtype=bool)))
            self._had[whose] = had
        had[offsets] = True

    def rows(self) -> Iterator[Row]:
        """One, of a run in which anything was delivered."""
        if self._given:
            had = sum(int(np.count_nonzero(each)) for each in self._had.values())
            yield {"redeliveries": self._given - had}


assert {"send", "read", "poll"} <= set(FS)
assert {"ok", "fail", "info"} == set(TYPES)
