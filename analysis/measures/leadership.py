"""The leaders of partitions, and each broker's load, over time: report.json's `leadership`.

A *stretch* of the load lasts until a partition's leader changes or a fault is injected. It has, per
broker, the number of partitions that it led, and of acknowledged sends to them.

    kafka1 leads partition 0, kafka2 leads 1    3 s: kafka1 is killed    5 s: kafka2 leads 0 as well
    =>  0 s to 3 s    kafka1 leads 1, 900 acks    kafka2 leads 1, 900 acks
        3 s to 5 s    kafka1 leads 1,   0 acks    kafka2 leads 1, 600 acks    (fault 0)
        5 s to 9 s    kafka1 leads 0,   0 acks    kafka2 leads 2, 2400 acks

A fault's injection begins a stretch, too: for the controller a dead leader leads until its session
ends, and without that cut its idle time would make the load before look uneven. A heal begins none.

An ack counts when it arrives, for the leader of its partition then; acks after the load do not
count. Leaders of many partitions change one after the other, so a stretch shorter than 0.2 s is
merged into the next one. A merged stretch has the leaders at its end, but each ack in it counts for
the leader when it arrived. The last stretch stays, however short it is.

Cannot see: the real leader while the controller and a broker disagreed; a change between two looks,
or how much earlier it was (acks within some ms of a change may count for the wrong broker); the
preferred leader, for the assignment is not in the history. A partition without a known leader
counts for no broker.

Acks are counted between two *cuts*, and all else is pure functions over what is small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypedDict

import numpy as np
import pyarrow.parquet as pq

from analysis.checks.run_row import in_force, leaders_of
from analysis.measures.latency_and_rates import Tally
from analysis.stored.batches import Batch
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import FaultRow, LeaderRow, RunRow
from analysis.stored.stored_run import Run
from harness.model.runs import report_course

SHORT_NS = 200_000_000
_COLUMNS = ("partition", "end_ns")
_ACKED = [("f", "==", "send"), ("type", "==", "ok")]
_EVER_NS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of the load; None as a broker is nobody."""

    start_ns: int
    end_ns: int
    faults: tuple[int, ...] = ()  # injected where it begins
    leads: Counter[str | None] = field(default_factory=Counter)  # partitions, at its end
    acks: Counter[str | None] = field(default_factory=Counter)


# Acks


class AcksRow(TypedDict):
    """How many acks arrived in a partition from one cut of the load until the next."""

    partition: int
    from_ns: int  # the cut
    acks: int


class Acks:
    """How many acks arrived in each partition from one cut of the load until the next."""

    def __init__(self, run: RunRow) -> None:
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

    def rows(self) -> Iterator[AcksRow]:
        """One for each partition and cut with any."""
        for key, acks in zip(*(each.tolist() for each in self._tally.counted), strict=True):
            from_ns = int(self._cuts[key >> 20])
            yield {"partition": key & ((1 << 20) - 1), "from_ns": from_ns, "acks": acks}


def acked_unseen(run: Run) -> int:
    """How many acks arrived while nobody saw who was in the ISR of their partition: whether its
    leader acknowledged them alone is not known.

        first view of partition 0 at 1 s; nobody could tell from 5 s to 7 s
        =>  its acks before 1 s and from 5 s to 7 s, and all acks of a partition without any view
    """
    dark = [
        (row["start_ns"], _EVER_NS if row["end_ns"] is None else row["end_ns"]) for row in run.blind
    ]
    first = [
        min((v["time_ns"] for v in run.views if v["partition"] == number), default=_EVER_NS)
        for number in range(run.partitions)
    ]
    if not dark and max(first) <= run.load_start_ns:
        return 0
    first_ns: Numbers = np.array(first, dtype=np.int64)
    found = 0
    for file in run.tables:
        acked = pq.read_table(file, columns=list(_COLUMNS), filters=_ACKED).drop_null()
        partition, end_ns = (acked[name].to_numpy() for name in _COLUMNS)
        unseen = end_ns < first_ns[partition]
        for start_ns, until_ns in dark:
            unseen |= (end_ns >= start_ns) & (end_ns < until_ns)
        found += int(np.count_nonzero(unseen))
    return found


# Stretches


def leadership(run: Run, counted: Iterable[AcksRow]) -> list[report_course.Stretch]:
    """The rows of the report, from the run's rows of `Acks`; none without views."""
    led = leaders_of(run)
    if not led:
        return []
    brokers = _brokers(run)
    pieces = between_cuts(
        led,
        in_force(run),
        counted,
        bounds_ns=(run.load_start_ns, run.load_end_ns),
        partitions=run.partitions,
    )
    return [_in_report(stretch, run, brokers) for stretch in merged(pieces)]


def between_cuts(
    leaders: Sequence[LeaderRow],
    faults: Sequence[FaultRow],
    counted: Iterable[AcksRow],
    *,
    bounds_ns: tuple[int, int],
    partitions: int,
) -> Iterator[Stretch]:
    """A stretch from each cut to the next. `leaders` and `faults` as in schema.RUNS."""
    start_ns, end_ns = bounds_ns
    moments = {row["from_ns"] for row in leaders} | {row["invoke_ns"] for row in faults}
    cuts = [start_ns, *sorted(at_ns for at_ns in moments if start_ns < at_ns < end_ns), end_ns]
    acks = {(row["from_ns"], row["partition"]): row["acks"] for row in counted}
    changes = sorted(leaders, key=lambda row: row["from_ns"], reverse=True)
    led: dict[int, str | None] = dict.fromkeys(range(partitions))
    for from_ns, to_ns in pairwise(cuts):
        while changes and changes[-1]["from_ns"] <= from_ns:
            change = changes.pop()
            led[change["partition"]] = change["leader"]
        of_broker: Counter[str | None] = Counter()
        for partition, leader in led.items():
            of_broker[leader] += acks.get((from_ns, partition), 0)
        yield Stretch(
            start_ns=from_ns,
            end_ns=to_ns,
            faults=tuple(row["fault"] for row in faults if row["invoke_ns"] == from_ns),
            leads=Counter(led.values()),
            acks=of_broker,
        )


def merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Each short stretch merged into the one after it."""
    rows: list[Stretch] = []
    short: Stretch | None = None
    for stretch in stretches:
        whole = stretch if short is None else _and(short, stretch)
        short = whole if stretch.end_ns - stretch.start_ns < SHORT_NS else None
        if short is None:
            rows.append(whole)
    return rows if short is None else [*rows, short]


def _and(short: Stretch, later: Stretch) -> Stretch:
    return replace(
        later,
        start_ns=short.start_ns,
        faults=short.faults + later.faults,
        acks=short.acks + later.acks,
    )


# Telling


def _brokers(run: Run) -> list[str]:
    """The cluster's brokers; of a run that does not name them, all that were seen."""
    named = {name for name, node in run.nodes.items() if node.get("role") == "broker"}
    seen = {name for view in run.views for name in (view["leader"], *(view["isr"] or ())) if name}
    return sorted(named | seen, key=lambda name: (len(name), name))


def _in_report(stretch: Stretch, run: Run, brokers: Sequence[str]) -> report_course.Stretch:
    length_s = (stretch.end_ns - stretch.start_ns) / 1e9
    return report_course.Stretch(
        start_s=run.seconds(stretch.start_ns),
        end_s=run.seconds(stretch.end_ns),
        faults=list(stretch.faults),
        brokers=[
            report_course.BrokerLoad(
                broker=name,
                leads=stretch.leads[name],
                acks=stretch.acks[name],
                acks_per_s=round(stretch.acks[name] / length_s, 1) if length_s else None,
            )
            for name in brokers
        ],
        leaderless=stretch.leads[None],
        leaderless_acks=stretch.acks[None],
    )
