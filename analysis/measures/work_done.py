"""What each worker did, as one query counts it: how many operations, when, and which
faults met them.

A send has *left the client* unless produce() refused it: it failed with an error of the client's
own (`_FATAL`, `_QUEUE_FULL`), not with one that a transaction's abort gave it. It is outstanding
until it ended; one that never ended, until its producer died or the load ended.

    fault in force 5.0 to 8.0 s    send, 4.9 to 5.1 s      =>  the fault met it
    the same                       send, 4.0 to 4.1 s      =>  it did not, and explains nothing
    fault in force 5.0 to 5.2 s    send, 4.3 to 4.4 s      =>  met: shorter than a second, so within
                                                               a second of it counts

A fault explains that nobody answered where it hit the cluster or one that sends: what befell a
consumer is no reason.

One row a run, process, f, type and partition; few rows, one pass over the operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.frames.history import History
from analysis.frames.operations import NO_ACK, is_send
from analysis.measures.availability import died_ns
from analysis.measures.own_time import FOREVER_NS

SHORT_NS = 10**9  # a fault shorter than this met what was sent within as much of it
SHORTLY_NS = 2 * 10**9  # what was sent that long before a fault came shortly before it
STILL_NS = 10**9
_SLICE_BITS = 28  # slices of a quarter of a second, about
# Errors of the client's own that a send gets after it has left, or may have.
AFTERWARDS = ("_ABORTED", "_MSG_TIMED_OUT", "_PURGE_QUEUE", "_PURGE_INFLIGHT", NO_ACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the workers of one run did: rows of `work_done`."""

    rows: Sequence[Mapping[str, Any]] = ()

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

    def total(self, name: str) -> int:
        """The sum of a column over all rows."""
        return sum(row[name] for row in self.rows)

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
        return any(
            fault in (row["before"] or ()) for name in processes for row in self._of(name, (), None)
        )

    @property
    def met(self) -> set[int]:
        """The numbers of the faults during which a send was begun or outstanding."""
        return {fault for row in self.rows for fault in row["met"] or ()}

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

    def _of(
        self, process: str | None, fs: Sequence[str], ended: str | None
    ) -> Iterable[Mapping[str, Any]]:
        return (
            row
            for row in self.rows
            if process in (None, row["process"])
            and (not fs or row["f"] in fs)
            and ended in (None, row["type"])
        )


def work_done(history: History) -> DataFrame:
    """One row a (run_id, process, f, type, partition): count, first_ns (begun), last_ns (ended, or
    begun); and of sends: refused (never left the client), unexplained (without an answer that was
    asked for, though no fault that explains it was in force meanwhile), loaded_from_ns and
    loaded_until_ns (of those that left the client), met (the faults during which one was there),
    before (those shortly before which one was).

    Sends are counted by the slice of time in which they began, those in a slice in which a fault
    has an edge by the moment: of one row all began before such an edge, or none did, so that
    what is true of the first to begin and the last to end is true of a send.
    """
    runs = F.broadcast(history.runs.select("run_id", "load_end_ns", "faults", "deaths", _edges()))
    error, send = F.coalesce("error", F.lit("")), is_send()
    refused = send & (F.col("type") == "fail") & error.startswith("_") & ~error.isin(*AFTERWARDS)
    answered = (F.col("type") == "ok") | error.isin("_ABORTED", NO_ACK)
    left, clear = send & ~refused, send & ~answered & ~F.exists("faults", _meanwhile)
    keys = ["run_id", "process", "f", "type", "partition"]
    alone = F.array_contains("edges", _slice(F.col("start_ns")))
    slice_ns = F.shiftleft(_slice(F.col("start_ns")), _SLICE_BITS)
    began = F.when(alone, F.col("start_ns")).otherwise(slice_ns)
    by_slice = (
        history.operations.join(runs, on="run_id", how="inner")
        .withColumn("until_ns", F.coalesce("end_ns", died_ns(), "load_end_ns"))
        .groupBy(*keys, F.when(send, began).alias("began"))
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.min("start_ns").alias("first_ns"),
            F.max(F.coalesce("end_ns", "start_ns")).alias("last_ns"),
            F.count_if(refused).alias("refused"),
            F.count_if(clear).alias("unexplained"),
            F.min(F.when(left, F.col("start_ns"))).alias("loaded_from_ns"),
            F.max(F.when(left, F.col("until_ns"))).alias("loaded_until_ns"),
        )
    )
    faults = history.runs.select("run_id", "faults")
    return (
        by_slice.join(F.broadcast(faults), on="run_id", how="inner")
        .withColumns({"met": _met(), "before": _before()})
        .groupBy(*keys)
        .agg(
            F.sum("count").alias("count"),
            F.min("first_ns").alias("first_ns"),
            F.max("last_ns").alias("last_ns"),
            F.sum("refused").alias("refused"),
            F.sum("unexplained").alias("unexplained"),
            F.min("loaded_from_ns").alias("loaded_from_ns"),
            F.max("loaded_until_ns").alias("loaded_until_ns"),
            F.array_distinct(F.flatten(F.collect_set("met"))).alias("met"),
            F.array_distinct(F.flatten(F.collect_set("before"))).alias("before"),
        )
    )


def _slice(time_ns: Column) -> Column:
    return F.shiftright(time_ns, _SLICE_BITS)


def _edges() -> Column:
    """The slices in which the begin of a send decides which faults met it."""
    latest = F.transform("faults", lambda fault: _slice(_latest_ns(fault)))
    begun = F.transform("faults", lambda fault: _slice(fault["invoke_ns"]))
    return F.array_distinct(F.concat(latest, begun)).alias("edges")


def _latest_ns(fault: Column) -> Column:
    """Until when a send that a fault met can have begun."""
    return F.coalesce(fault["end_ns"], F.lit(FOREVER_NS)) + _margin_ns(fault)


def _margin_ns(fault: Column) -> Column:
    lasted_ns = F.coalesce(fault["end_ns"], F.lit(FOREVER_NS)) - fault["invoke_ns"]
    return F.when(lasted_ns < SHORT_NS, SHORT_NS).otherwise(0)


def _met() -> Column:
    """The numbers of the faults that met a send."""

    def met(fault: Column) -> Column:
        return (F.col("loaded_from_ns") <= _latest_ns(fault)) & (
            F.col("loaded_until_ns") >= fault["invoke_ns"] - _margin_ns(fault)
        )

    return F.transform(F.filter("faults", met), lambda fault: fault["fault"])


def _before() -> Column:
    """The numbers of the faults shortly before which a send was there."""

    def before(fault: Column) -> Column:
        shortly_ns = fault["invoke_ns"] - SHORTLY_NS
        return (F.col("loaded_from_ns") <= fault["invoke_ns"]) & (
            F.col("loaded_until_ns") >= shortly_ns
        )

    return F.transform(F.filter("faults", before), lambda fault: fault["fault"])


def _meanwhile(fault: Column) -> Column:
    """Whether a fault that explains it was in force while a send was outstanding."""
    began_in_time = F.col("start_ns") <= F.coalesce(fault["end_ns"], F.lit(FOREVER_NS))
    return fault["explains"] & began_in_time & (F.col("until_ns") >= fault["invoke_ns"])
