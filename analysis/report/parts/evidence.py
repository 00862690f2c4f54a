"""The table of an anomaly's evidence: what is known of some records, and what each was lost by.

What permits a record and the faults around it are told in one column: the fault, if one is known
to belong to it, and what happened.

    acked at 49.21 s    4: kill → kafka1 from 49.21 s    kafka2 leads instead of kafka1 at 50.71 s
    =>  lost by 4: kill → kafka1 (kafka2 led partition 0 instead of kafka1, at 50.71 s)

A change of leader belongs to the last fault injected before it that was in force since the record
was sent; one that hit the record's leader goes before others. Where the configuration alone permits
a record, the fault in force is named with "during", else the next one with "before": neither is
said to have done it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report import wording

Row = Mapping[str, Any]
BLAME = ("faults", "next_fault", "permitted_by")  # the columns that are told as one
STORY = "story"  # its cells are numbers of stories
GONE = {"lost", "vanished", "unacknowledged-lost", "skipped"}


def evidence(anomaly: str, examples: Sequence[Row], report: Row) -> dict[str, Any]:
    """Columns and rows of an evidence table; a column of numbers is aligned as such."""
    names = [name for name in wording.columns(examples) if name not in BLAME]
    if STORY in names:  # where a wide table is not cut off
        names = [names[0], STORY, *(name for name in names[1:] if name != STORY)]
    heads = [_heading(name) for name in names]
    rows: list[list[object]] = [[_cell(name, row.get(name)) for name in names] for row in examples]
    blame = [_blame(row, report) for row in examples]
    if any(blame):
        heads.insert(1, "lost by" if anomaly in GONE else "explained by")
        for cells, words in zip(rows, blame, strict=True):
            cells.insert(1, words)
    return {
        "columns": [
            {"name": name, "align": "n" if all(map(_numeric, cells)) else ""}
            for name, cells in zip(heads, zip(*rows, strict=True), strict=True)
        ],
        "rows": rows,
    }


def fault_names(faults: Sequence[Row]) -> dict[int, str]:
    """`4: kill → kafka1`, by the fault's number."""
    return {fault["fault"]: f"{fault['fault']}: {wording.fault_name(fault)}" for fault in faults}


def _blame(row: Row, report: Row) -> str | None:
    """What a record was lost by, in words; None where nothing at all is known."""
    cause = next((c for c in report["causes"] if row.get("cause") in c["numbers"]), None)
    words = row.get("permitted_by")
    if words is None and cause is not None:
        words = f"in doubt: {cause['words']}"
    if words is None and row.get("judged") == "forbidden":
        words = "nothing that happened"
    named = _named(row, cause, report["faults"])
    if named and words:
        return f"{named} ({words})"
    return named or words


def _named(row: Row, cause: Row | None, faults: Sequence[Row]) -> str | None:
    """The fault that belongs to the cause or, without such a cause, what was in force or next."""
    names = fault_names(faults)
    if cause is not None and cause["at_s"] is not None:
        number = cause["fault"] if cause["fault"] is not None else _before(row, cause, faults)
        return None if number is None else names.get(number, str(number))
    if during := row.get("faults"):
        return f"during {names.get(during[-1], during[-1])}"
    following = row.get("next_fault")
    return None if following is None else f"before {names.get(following, following)}"


def _before(row: Row, cause: Row, faults: Sequence[Row]) -> int | None:
    """The last fault before the cause that was in force since the record was sent."""
    since_s = next((row[k] for k in ("sent_s", "acked_s", "time_s") if row.get(k) is not None), 0)
    happened = [
        fault
        for fault in faults
        if fault["start_s"] is not None
        and fault["start_s"] <= cause["at_s"]
        and (fault["healed_s"] is None or fault["healed_s"] >= since_s)
    ]
    hit = [fault for fault in happened if row.get("leader") in (fault["nodes"] or ())]
    last = max(hit or happened, key=lambda fault: float(fault["start_s"]), default=None)
    return None if last is None else int(last["fault"])


def _cell(column: str, value: object) -> object:
    """Outcomes in words, all else as it is."""
    return value.replace("_", " ") if column == "outcome" and isinstance(value, str) else value


def _heading(column: str) -> str:
    name = f"{column.removesuffix('_s')} (s)" if column.endswith("_s") else column
    return name.replace("_", " ")


def _numeric(cell: object) -> bool:
    return cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool))
