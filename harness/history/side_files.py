"""Turns the JSON lines of a history into rows: workers' events, the nemesis's faults, the cluster's
views, the replicas' watermarks, and the evidence that was kept of brokers.

A line that cannot be used is left out and counted as a finding; it never raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.history.record_format import HistoryError
from harness.history.segments import Finding
from harness.history.stored_tables import TableError, read_bytes
from harness.history.tables import (
    BLIND_COLUMNS,
    EVENT_COLUMNS,
    FAULT_COLUMNS,
    KEPT_COLUMNS,
    REQUIRED,
    VIEW_COLUMNS,
    WATERMARK_COLUMNS,
)
from harness.model.runs import json_text

# Side files of no worker.
NEMESIS, VIEWS, WATERMARKS, KEPT = "nemesis", "views", "watermarks", "kept"
Row = dict[str, Any]

LONGEST_SHOWN: Final = 80  # characters of what is wrong
_INTEGERS: Final = {"int32": 2**31, "int64": 2**63}


@dataclass(kw_only=True)
class SideFile:
    """The lines of one side file that are JSON objects with an event and a time."""

    process: str
    name: str
    lines: list[Row] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)  # what was wrong, a line each

    def findings(self) -> tuple[Finding, ...]:
        """One finding for all bad lines."""
        if not self.bad:
            return ()
        text = f"{self.name}: {'; '.join(self.bad[:3])}"
        return (Finding(process=self.process, kind="bad-line", count=len(self.bad), text=text),)


def read(path: Path) -> SideFile:
    """Read a side file; a missing one has no lines. Raises HistoryError if it cannot be read."""
    side = SideFile(process=path.stem, name=path.name)
    if not path.exists() and not path.is_symlink():
        return side
    try:
        text = read_bytes(path).decode(errors="replace")
    except TableError as error:
        raise HistoryError(f"{path}: {error}: make it readable, or restore it") from None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            event = json_text.loads(line)
        except ValueError:
            side.bad.append(f"line {number} is not JSON, or not as ours is written")
            continue
        if not isinstance(event, dict) or not _is(event.get("event"), "string"):
            side.bad.append(f"line {number} has no event")
        elif not _is(event.get("time_ns"), "int64"):
            side.bad.append(f"line {number} has no time_ns")
        else:
            side.lines.append({**event, "line": number})
    return side


def events(side: SideFile, run_id: str) -> list[Row]:
    """A worker's events, one row each; fields without a column go to `text` as JSON."""
    rows = []
    for line in side.lines:
        given = {key: value for key, value in line.items() if key != "line"}
        row: Row = {name: given.pop(name, None) for name, _ in EVENT_COLUMNS if name != "text"}
        row |= {"run_id": run_id, "process": side.process}
        row["text"] = given["text"] if given.keys() == {"text"} else _json_text(given)
        if _keep(side, line, row, EVENT_COLUMNS, required=REQUIRED["events"]):
            rows.append(row)
    return rows


def error_names(rows: Iterable[Row]) -> dict[int, str]:
    """The names that a worker recorded for librdkafka's codes."""
    return {
        row["code"]: row["name"]
        for row in rows
        if row["event"] == "error-name" and row["code"] is not None and row["name"] is not None
    }


def faults(side: SideFile, run_id: str) -> list[Row]:
    """The nemesis's lines combined: one row a fault, in order of their first line.

    `before` is the view at the injection's invoke, `after` the newest one in the fault's lines:
    leader, ISR and controller, as JSON.
    """
    by_number: dict[int, Row] = {}
    for line in side.lines:
        if line["event"] not in ("inject", "heal") or not _is(line.get("fault"), "int32"):
            side.bad.append(f"line {line['line']} is neither inject nor heal of a fault")
            continue
        number: int = line["fault"]
        row = {**by_number.get(number, _new_fault(run_id, line))}
        _add(row, line)
        if _keep(side, line, row, FAULT_COLUMNS, required=REQUIRED["faults"]):
            by_number[number] = row
    return list(by_number.values())


def _new_fault(run_id: str, line: Row) -> Row:
    row: Row = dict.fromkeys(name for name, _ in FAULT_COLUMNS)
    row |= {key: line.get(key) for key in ("fault", "verb", "target")}
    row |= {"run_id": run_id, "step": line.get("step", line["fault"]), "nodes": []}
    row |= {"invoke_ns": line["time_ns"], "before": _view(line)}
    return row


def _add(row: Row, line: Row) -> None:
    injecting = line["event"] == "inject"
    moment, words = ("ok_ns", "evidence") if injecting else ("heal_ok_ns", "heal_evidence")
    row["nodes"] = line.get("nodes") or row["nodes"]
    row["after"] = _view(line) or row["after"]
    if line.get("type") == "invoke":
        row["invoke_ns" if injecting else "heal_invoke_ns"] = line["time_ns"]
        return
    if line.get("type") == "ok":
        row[moment] = line["time_ns"]
    row[words] = line.get("evidence")
    error = line.get("error")
    if row["error"] and isinstance(error, str):
        error = "; ".join((row["error"], error))
    row["error"] = error or row["error"]


def _view(line: Row) -> str | None:
    view: Row = {key: line[key] for key in ("leader", "isr", "controller", "known") if key in line}
    return _json_text(view)


def views(side: SideFile, run_id: str) -> tuple[list[Row], list[Row]]:
    """Every change of a partition's state, and the stretches in which ZooKeeper did not answer."""
    changes, blind = [], []
    for line in side.lines:
        if line["event"] == "view":
            row = {name: line.get(name) for name, _ in VIEW_COLUMNS} | {"run_id": run_id}
            if _keep(side, line, row, VIEW_COLUMNS, required=REQUIRED["views"]):
                changes.append(row)
        elif line["event"] == "blind" and line.get("type") == "start":
            row = {"run_id": run_id, "start_ns": line["time_ns"], "end_ns": None}
            blind.append(row)
        elif line["event"] == "blind" and blind and blind[-1]["end_ns"] is None:
            blind[-1]["end_ns"] = line["time_ns"]
        else:
            side.bad.append(
                f"line {line['line']} is neither a view nor the start or end of a blind stretch"
            )
    assert all(row.keys() == dict(BLIND_COLUMNS).keys() for row in blind)
    return changes, blind


def watermarks(side: SideFile, run_id: str) -> list[Row]:
    """Every look at the replicas, one row a broker; `leads` and `in_isr` are null where ZooKeeper
    did not answer."""
    rows = []
    for line in side.lines:
        marks, ends, isr = line.get("high_watermarks"), line.get("log_ends"), line.get("isr")
        has_isr = isr is None or isinstance(isr, list)
        if not (isinstance(marks, dict) and isinstance(ends, dict) and has_isr):
            side.bad.append(f"line {line['line']} is not a sample of the replicas")
            continue
        for broker in ends:
            row = {name: line.get(name) for name, _ in WATERMARK_COLUMNS} | {"run_id": run_id}
            row |= {"broker": broker, "high_watermark": marks.get(broker), "log_end": ends[broker]}
            if isr is not None:
                row |= {"leads": line.get("leader") == broker, "in_isr": broker in isr}
            if _keep(side, line, row, WATERMARK_COLUMNS, required=REQUIRED["watermarks"]):
                rows.append(row)
    return rows


def kept(side: SideFile, run_id: str) -> list[Row]:
    """The evidence that was kept of brokers, one row a line; but one for each record of a batch
    (`kept-record`) and for each epoch of a checkpoint (`kept-epoch`, its first offset)."""
    rows = []
    for line in side.lines:
        row: Row = {name: line.get(name) for name, _ in KEPT_COLUMNS} | {"run_id": run_id}
        if line["event"] in _PAIRS:
            rows += _of_pairs(side, line, row)
        elif _keep(side, line, row, KEPT_COLUMNS, required=REQUIRED["kept"]):
            rows.append(row)
    return rows


# Events that hold pairs of numbers: where, a row's event, and the columns of a pair.
_PAIRS: Final = {
    "kept-batch": ("records", "kept-record", ("offset", "value")),
    "kept-entries": ("records", "kept-record", ("offset", "text")),  # of Kafka's own topics
    "kept-epochs": ("epochs", "kept-epoch", ("epoch", "offset")),
}


def _of_pairs(side: SideFile, line: Row, row: Row) -> list[Row]:
    field_name, event, columns = _PAIRS[line["event"]]
    pairs = line.get(field_name)
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        side.bad.append(f"line {line['line']}: {field_name} are no pairs")
        return []
    first = row.get("sequence") if _is(row.get("sequence"), "int32") else None
    rows = []
    for number, pair in enumerate(pairs):
        pair_row = {**row, "event": event, **dict(zip(columns, pair, strict=True))}
        if first is not None:
            pair_row["sequence"] = (first + number) % 2**31
        if not _keep(side, line, pair_row, KEPT_COLUMNS, required=REQUIRED["kept"]):
            return []
        rows.append(pair_row)
    return rows


def _keep(
    side: SideFile,
    line: Row,
    row: Row,
    columns: tuple[tuple[str, str], ...],
    *,
    required: tuple[str, ...],
) -> bool:
    """Whether every value fits its column; if not, the line counts as bad."""
    for name, kind in columns:
        value = row[name]
        if value is None and name not in required:
            continue
        if not _is(value, kind):
            shown = repr(value)[:LONGEST_SHOWN]
            side.bad.append(f"line {line['line']}: {name} is {shown}, {kind} expected")
            return False
    return True


def _is(value: Any, kind: str) -> bool:
    if kind in _INTEGERS:
        most = _INTEGERS[kind]
        return isinstance(value, int) and not isinstance(value, bool) and -most <= value < most
    if kind == "list<string>":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, bool if kind == "bool" else str)


def _json_text(given: Row) -> str | None:
    return json.dumps(given, ensure_ascii=False) if given else None
