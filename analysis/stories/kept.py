"""What was kept of the brokers' logs (docs/evidence.md) for the stories of some records.

    Record   a record of a log, as it was kept before its broker came back, or at the end
    Tail     from which offset to which a log was kept then
    LogLine  what a broker logged: it led, it followed, it cut its log off

Only records with a wanted value or at a wanted offset become objects. Rows that lack a field which
sealing does not demand are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.stored.columns import Numbers, whole_numbers
from analysis.stored.run_files import tables_of
from analysis.stored.stored_run import Run

END = "end"
MARGIN_NS = 10 * 10**9  # of a broker's clock
MISSING_MOST = 8  # reasons that are told one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of a broker's log; `value` None: a marker, a foreign payload, or unreadable."""

    broker: str
    moment: str
    time_ns: int
    partition: int
    offset: int
    epoch: int | None
    value: int | None
    unreadable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What was kept of a replica at a moment: all from `begin` to `log_end`, unless `cut_short`.
    Below `lowest` every replica in the ISR has the same."""

    broker: str
    moment: str
    time_ns: int
    begin: int
    log_end: int
    lowest: int | None
    cut_short: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """`led`, `followed`: the log ended at `offset`. `truncated`: the broker cut its log off from
    `offset` on. The time is the broker's own."""

    event: str
    broker: str
    offset: int
    epoch: int | None
    at_ns: int | None
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The evidence about one topic; `lines` are in the order of each broker's log."""

    of_value: Mapping[int, list[Record]] = field(default_factory=dict)
    at: Mapping[tuple[int, int], list[Record]] = field(default_factory=dict)  # partition, offset
    tails: Mapping[int, list[Tail]] = field(default_factory=dict)
    lines: Mapping[int, list[LogLine]] = field(default_factory=dict)
    epochs: Mapping[int, list[tuple[int, int]]] = field(default_factory=dict)  # at the end
    missing: tuple[str, ...] = ()

    def epoch_at(self, partition: int, offset: int) -> int | None:
        """The leader epoch of an offset of the log that was left at the end."""
        epochs = [epoch for epoch, first in self.epochs.get(partition, ()) if first <= offset]
        return max(epochs, default=None)

    def records_of(self, value: int | None) -> Sequence[Record]:
        """The records with a value."""
        return () if value is None else self.of_value.get(value, ())

    def led(self, partition: int) -> list[LogLine]:
        """What brokers logged when they began to lead."""
        return [line for line in self.lines.get(partition, ()) if line.event == "led"]


def kept_of(run: Run, values: Numbers, offsets: Numbers) -> Kept:
    """What was kept about records with these values or at these offsets, and what is missing."""
    table, why = tables_of(run.path, run.record).evidence()
    if table is None or not table.num_rows:
        return Kept(missing=(_why_nothing(run, why),))
    topic = pc.equal(table["topic"], str(run.scenario["topic"]["name"]))
    of_topic = table.filter(pc.fill_null(topic, False))
    of_value, at = _records(_of(of_topic, "kept-record"), values, offsets)
    tails = _tails(_of(of_topic, "kept-tail"))
    lines = _right_clocks(_log_lines(of_topic), run)
    return Kept(
        of_value=of_value,
        at=at,
        tails=tails,
        lines=lines,
        epochs=_epochs(_of(of_topic, "kept-epoch")),
        missing=_missing(_of(table, "not-kept"), tails, lines),
    )


def _why_nothing(run: Run, why: str | None) -> str:
    if why is not None:
        return f"the brokers' own logs cannot be asked: {why}"
    if not run.scenario["check"].get("evidence", True):
        return "nothing of the brokers' own logs was kept: check.evidence = false"
    return "nothing of the brokers' own logs was kept with this run"


def _of(table: pa.Table, event: str) -> pa.Table:
    return table.filter(pc.equal(table["event"], event))


def _filled(table: pa.Table, *names: str) -> list[dict[str, Any]]:
    """The rows that have all of these."""
    rows: list[dict[str, Any]] = table.to_pylist()
    return [row for row in rows if all(row[name] is not None for name in names)]


def _records(
    table: pa.Table, values: Numbers, offsets: Numbers
) -> tuple[dict[int, list[Record]], dict[tuple[int, int], list[Record]]]:
    of_value: dict[int, list[Record]] = {}
    at: dict[tuple[int, int], list[Record]] = {}
    wanted = np.isin(whole_numbers(table, "value"), values)
    wanted |= np.isin(whole_numbers(table, "offset"), offsets)
    for row in _filled(table.filter(pa.array(wanted)), "broker", "partition", "offset", "moment"):
        record = Record(
            **{name: row[name] for name in ("broker", "moment", "time_ns", "partition", "offset")},
            epoch=_epoch(row["epoch"]),
            value=row["value"],
            unreadable=row["text"] is not None,
        )
        at.setdefault((record.partition, record.offset), []).append(record)
        if record.value is not None:
            of_value.setdefault(record.value, []).append(record)
    return of_value, at


def _epoch(number: int | None) -> int | None:
    """Formats before magic 2 have no epoch; some readers of batches say -1."""
    return None if number is None or number < 0 else number


def _tails(table: pa.Table) -> dict[int, list[Tail]]:
    by_partition: dict[int, list[Tail]] = {}
    for row in _filled(table, "broker", "partition", "moment", "begin", "log_end"):
        names = ("broker", "moment", "time_ns", "begin", "log_end", "lowest")
        tail = Tail(**{name: row[name] for name in names}, cut_short=row["cut_short"] is not False)
        by_partition.setdefault(row["partition"], []).append(tail)
    return {n: sorted(tails, key=lambda t: t.time_ns) for n, tails in by_partition.items()}


def _log_lines(table: pa.Table) -> dict[int, list[LogLine]]:
    by_partition: dict[int, list[LogLine]] = {}
    events = pc.is_in(table["event"], pa.array(["led", "followed", "truncated"]))
    for row in _filled(table.filter(events), "broker", "partition", "offset"):
        if row["event"] != "truncated" and row["epoch"] is None:
            continue
        logged = row["logged_ms"]
        line = LogLine(
            **{name: row[name] for name in ("event", "broker", "offset", "epoch", "text")},
            at_ns=None if logged is None else logged * 10**6,
        )
        by_partition.setdefault(row["partition"], []).append(line)
    return by_partition


def _right_clocks(lines: dict[int, list[LogLine]], run: Run) -> dict[int, list[LogLine]]:
    """The lines without the times of brokers whose clock was not the run's: their times go back, or
    lie outside of the run."""
    phases = run.record.get("phases") or []
    from_ns = phases[0]["start_ns"] - MARGIN_NS if phases else 0
    to_ns = phases[-1]["end_ns"] + MARGIN_NS if phases else 2**63
    times: dict[tuple[int, str], list[int]] = {}
    wrong = set()
    for partition, rows in lines.items():
        for line in rows:
            earlier = times.setdefault((partition, line.broker), [])
            if line.at_ns is None:
                continue
            back = bool(earlier) and line.at_ns < earlier[-1] - MARGIN_NS
            if back or not from_ns <= line.at_ns <= to_ns:
                wrong.add(line.broker)
            earlier.append(line.at_ns)
    return {
        partition: [replace(row, at_ns=None) if row.broker in wrong else row for row in rows]
        for partition, rows in lines.items()
    }


def _epochs(table: pa.Table) -> dict[int, list[tuple[int, int]]]:
    by_partition: dict[int, set[tuple[int, int]]] = {}
    for row in _filled(table, "partition", "offset", "epoch"):
        if row["moment"] == END:
            by_partition.setdefault(row["partition"], set()).add((row["epoch"], row["offset"]))
    return {number: sorted(pairs) for number, pairs in by_partition.items()}


def _missing(
    table: pa.Table, tails: Mapping[int, object], lines: Mapping[int, object]
) -> tuple[str, ...]:
    """What could not be kept, each reason once."""
    reasons = list(dict.fromkeys(map(_reason, table.to_pylist())))
    more = len(reasons) - MISSING_MOST
    words = [*reasons[:MISSING_MOST], *([f"and {more} reasons more"] if more > 0 else [])]
    if not tails and not reasons:
        words.append("no replica's log was kept")
    if not lines:
        words.append("what the brokers logged was not kept, or says nothing of this topic")
    return tuple(words)


def _reason(row: Mapping[str, Any]) -> str:
    where: Iterable[str | None] = (
        row["broker"],
        None if row["partition"] is None else f"partition {row['partition']}",
    )
    about = ", ".join(part for part in where if part)
    return f"{about}: {row['text']}" if about else str(row["text"])
