"""What was kept of the brokers' logs (docs/evidence.md), as far as some records' stories need it.

    Record   a record of a log, as it was kept before its broker came back, or at the end
    Tail     from which offset to which a log was kept then
    Said     what a broker logged: it led, it followed, it cut its log off

A run has at most some hundred thousand records here; only those with a wanted value, or at a wanted
offset, become objects. Rows that lack what sealing does not demand are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
MISSING_MOST = 8  # reasons why something is missing that are told one by one


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
    """What was kept of a replica at a moment: from `begin` to `log_end`, all of it unless it was
    cut short; below `lowest` every replica in the ISR has the same."""

    broker: str
    moment: str
    time_ns: int
    begin: int
    log_end: int
    lowest: int | None
    cut_short: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """`led` and `followed`: its log end was `offset` then. `truncated`: it cut off what was from
    there on. The time is the broker's own."""

    event: str
    broker: str
    offset: int
    epoch: int | None
    at_ns: int | None
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The evidence about one topic; `said` is in the order of each broker's log."""

    of_value: Mapping[int, list[Record]] = field(default_factory=dict)
    at: Mapping[tuple[int, int], list[Record]] = field(default_factory=dict)  # partition, offset
    tails: Mapping[int, list[Tail]] = field(default_factory=dict)
    said: Mapping[int, list[Said]] = field(default_factory=dict)
    epochs: Mapping[int, list[tuple[int, int]]] = field(default_factory=dict)  # at the end
    missing: tuple[str, ...] = ()

    def epoch_at(self, partition: int, offset: int) -> int | None:
        """The leader epoch of an offset of the log that was left at the end."""
        begun = [epoch for epoch, first in self.epochs.get(partition, ()) if first <= offset]
        return max(begun, default=None)


def kept_of(run: Run, values: Numbers, offsets: Numbers) -> Kept:
    """What was kept about records with these values or at these offsets, and what is missing."""
    table, why = tables_of(run.path, run.record).evidence()
    if table is None or not table.num_rows:
        return Kept(missing=(_nothing(run, why),))
    topic = pc.equal(table["topic"], str(run.scenario["topic"]["name"]))
    mine = table.filter(pc.fill_null(topic, False))
    of_value, at = _records(_of(mine, "kept-record"), values, offsets)
    tails, said = _tails(_of(mine, "kept-tail")), _by_right_clocks(_said(mine), run)
    return Kept(
        of_value=of_value,
        at=at,
        tails=tails,
        said=said,
        epochs=_epochs(_of(mine, "kept-epoch")),
        missing=_missing(_of(table, "not-kept"), tails, said),
    )


def _nothing(run: Run, why: str | None) -> str:
    if why is not None:
        return f"the brokers' own logs cannot be asked: {why}"
    if not run.scenario["check"].get("evidence", True):
        return "nothing of the brokers' own logs was kept: check.evidence = false"
    return "nothing of the brokers' own logs was kept with this run"


def _of(table: pa.Table, event: str) -> pa.Table:
    return table.filter(pc.equal(table["event"], event))


def _filled(table: pa.Table, *names: str) -> list[dict[str, Any]]:
    """Rows in which nothing of these is missing."""
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
    """Formats before magic 2 have none, which some readers of batches call -1."""
    return None if number is None or number < 0 else number


def _tails(table: pa.Table) -> dict[int, list[Tail]]:
    found: dict[int, list[Tail]] = {}
    for row in _filled(table, "broker", "partition", "moment", "begin", "log_end"):
        names = ("broker", "moment", "time_ns", "begin", "log_end", "lowest")
        tail = Tail(**{name: row[name] for name in names}, cut_short=row["cut_short"] is not False)
        found.setdefault(row["partition"], []).append(tail)
    return {number: sorted(tails, key=lambda t: t.time_ns) for number, tails in found.items()}


def _said(table: pa.Table) -> dict[int, list[Said]]:
    found: dict[int, list[Said]] = {}
    events = pc.is_in(table["event"], pa.array(["led", "followed", "truncated"]))
    for row in _filled(table.filter(events), "broker", "partition", "offset"):
        if row["event"] != "truncated" and row["epoch"] is None:
            continue
        logged = row["logged_ms"]
        said = Said(
            **{name: row[name] for name in ("event", "broker", "offset", "epoch", "text")},
            at_ns=None if logged is None else logged * 10**6,
        )
        found.setdefault(row["partition"], []).append(said)
    return found


def _by_right_clocks(said: dict[int, list[Said]], run: Run) -> dict[int, list[Said]]:
    """Without the times of brokers whose clock was not the run's: times that go back, or that lie
    outside of the run."""
    phases = run.record.get("phases") or []
    from_ns = phases[0]["start_ns"] - MARGIN_NS if phases else 0
    to_ns = phases[-1]["end_ns"] + MARGIN_NS if phases else 2**63
    times: dict[tuple[int, str], list[int]] = {}
    wrong = set()
    for partition, rows in said.items():
        for each in rows:
            known = times.setdefault((partition, each.broker), [])
            if each.at_ns is None:
                continue
            back = bool(known) and each.at_ns < known[-1] - MARGIN_NS
            if back or not from_ns <= each.at_ns <= to_ns:
                wrong.add(each.broker)
            known.append(each.at_ns)
    return {
        partition: [replace(s, at_ns=None) if s.broker in wrong else s for s in rows]
        for partition, rows in said.items()
    }


def _epochs(table: pa.Table) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, set[tuple[int, int]]] = {}
    for row in _filled(table, "partition", "offset", "epoch"):
        if row["moment"] == END:
            found.setdefault(row["partition"], set()).add((row["epoch"], row["offset"]))
    return {number: sorted(pairs) for number, pairs in found.items()}


def _missing(
    table: pa.Table, tails: Mapping[int, object], said: Mapping[int, object]
) -> tuple[str, ...]:
    """What could not be kept, each reason once."""
    told = [_reason(row) for row in table.to_pylist()]
    reasons = list(dict.fromkeys(told))
    more = len(reasons) - MISSING_MOST
    found = [*reasons[:MISSING_MOST], *([f"and {more} reasons more"] if more > 0 else [])]
    if not tails and not reasons:
        found.append("no replica's log was kept")
    if not said:
        found.append("what the brokers logged was not kept, or says nothing of this topic")
    return tuple(found)


def _reason(row: Mapping[str, Any]) -> str:
    where: Iterable[str | None] = (
        row["broker"],
        None if row["partition"] is None else f"partition {row['partition']}",
    )
    about = ", ".join(each for each in where if each)
    return f"{about}: {row['text']}" if about else str(row["text"])
