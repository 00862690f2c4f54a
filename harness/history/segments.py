"""Reads segments by columns with numpy; `history.read_operations` reads the same record by record.

A readable file never raises, whatever is in it: what cannot be a record is left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.history.record_format import (
    EMPTY,
    F_NAMES,
    FORMAT,
    NOTHING,
    OPEN,
    OPTIONAL,
    SEGMENT_CAPACITY,
    SEGMENT_NAME,
    TYPE_NAMES,
    BadHeaderError,
    Format,
    HistoryError,
    read_header,
)
from harness.history.stored_tables import TableError, read_bytes


def _type_of(version: Format) -> np.dtype[np.void]:
    return np.dtype(
        {
            "names": [name for name, _, _ in version.fields],
            "formats": [kind for _, kind, _ in version.fields],
            "offsets": [at for _, _, at in version.fields],
            "itemsize": version.size,
        }
    )


# All versions are read as this type: a field that a version lacks is NOTHING.
RECORD_TYPE: Final = np.dtype(
    [(name, "<i4" if name == "instance" else kind) for name, kind, _ in FORMAT.fields]
)
EXAMPLES = 3
LONGEST = (SEGMENT_CAPACITY + 1) * FORMAT.size  # bytes of a segment
Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fact about a process's files that a reader of its history must know."""

    process: str
    kind: str  # torn, bad-record, truncated-segment, bad-line, no-end, kept
    count: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The possible records of one segment and their ids, and the findings."""

    records: Array  # of RECORD_TYPE; open ones with their completion part cleared
    ids: Array  # int64
    end_id: int  # where the next segment should begin
    findings: tuple[Finding, ...]


def segments_of(folder: Path) -> dict[str, list[Path]]:
    """Every process's segments in order of their numbers."""
    by_process: dict[str, list[tuple[int, Path]]] = {}
    for path in folder.glob("*.seg"):
        name = SEGMENT_NAME.fullmatch(path.name)
        if name is None:
            raise HistoryError(f"{path}: not a segment's name: move the file out of the history")
        by_process.setdefault(name["process"], []).append((int(name["number"]), path))
    return {process: [path for _, path in sorted(parts)] for process, parts in by_process.items()}


def read_segment(path: Path, process: str, *, first_id: int, last: bool) -> Content:
    """Read one segment; `first_id` is its expected first id, `last` allows empty slots at its end.

    Raises HistoryError when the file cannot be read at all.
    """
    try:
        data = read_bytes(path, first=LONGEST + 1)
    except TableError as error:
        raise HistoryError(f"{path}: {error}: make it readable, or restore it") from None
    try:
        header = read_header(data)
    except BadHeaderError as error:
        text = f"{path.name}: {error}; nothing in it can be read"
        finding = Finding(process=process, kind="truncated-segment", count=1, text=text)
        return _nothing(finding, first_id + max(0, len(data) // FORMAT.size - 1))
    findings, size = [], header.format.size
    whole = max(0, min(len(data) // size - 1, header.capacity))
    if whole < header.capacity:
        text = f"{path.name}: {whole} of {header.capacity} slots are present"
        findings.append(Finding(process=process, kind="truncated-segment", count=1, text=text))
    elif len(data) != (header.capacity + 1) * size:
        text = f"{path.name}: longer than the {header.capacity} slots that it says it has"
        findings.append(Finding(process=process, kind="truncated-segment", count=1, text=text))
    if header.first_id != first_id:
        text = f"{path.name}: begins with operation {header.first_id}, expected {first_id}"
        findings.append(Finding(process=process, kind="truncated-segment", count=1, text=text))
    slots = np.frombuffer(data[size : (whole + 1) * size], _type_of(header.format))
    content = _sort_out(slots[: _length(slots)] if last else slots, header.first_id)
    for kind, which in (("torn", content.torn), ("bad-record", content.bad)):
        if len(which):
            text = f"{path.name}: {_examples(slots, which)}"
            findings.append(Finding(process=process, kind=kind, count=len(which), text=text))
    return Content(
        records=content.records,
        ids=content.ids,
        end_id=header.first_id + header.capacity,
        findings=tuple(findings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    records: Array
    ids: Array
    torn: Array  # numbers of slots
    bad: Array


def _length(slots: Array) -> int:
    """The number of slots up to the last one that holds anything."""
    used = np.flatnonzero(_used(slots))
    return int(used[-1]) + 1 if len(used) else 0


def _used(slots: Array) -> Array:
    used = slots.view(np.uint8).reshape(-1, slots.dtype.itemsize).any(axis=1)
    return np.asarray(used)


def _sort_out(slots: Array, first_id: int) -> _Sorted:
    """Sort the slots into possible records, torn slots, and the rest, which no recorder writes."""
    records = np.empty(len(slots), RECORD_TYPE)
    for name in RECORD_TYPE.names or ():
        records[name] = slots[name] if name in (slots.dtype.names or ()) else NOTHING
    _clear_open(records)
    good = _possible(records)
    torn = _used(slots) & (slots["type"] == EMPTY)
    return _Sorted(
        records=records[good],
        ids=first_id + np.flatnonzero(good).astype(np.int64),
        torn=np.flatnonzero(torn),
        bad=np.flatnonzero(~good & ~torn),
    )


def _clear_open(records: Array) -> None:
    """Clear the completion part of open records: it may hold half a completion."""
    is_open = records["type"] == OPEN
    for name in ("offset", "broker", "epoch"):
        records[name][is_open] = NOTHING
    records["end_ns"][is_open] = records["start_ns"][is_open]
    records["error"][is_open] = 0


def _possible(records: Array) -> npt.NDArray[np.bool_]:
    """Whether a recorder can have written each record; call it after `_clear_open`."""
    possible: npt.NDArray[np.bool_] = (
        np.isin(records["type"], list(TYPE_NAMES))
        & np.isin(records["f"], list(F_NAMES))
        & (records["partition"] >= 0)
        & (records["intended_ns"] > 0)
        & (records["start_ns"] > 0)
        & (records["end_ns"] >= records["start_ns"])
    )
    for name in OPTIONAL:
        possible &= records[name] >= NOTHING
    return possible


def _examples(slots: Array, which: Array) -> str:
    texts = []
    for index in which[:EXAMPLES]:
        slot = slots[index]
        texts.append(
            f"slot {index} has type {slot['type']}, f {slot['f']}, "
            f"times {slot['intended_ns']} {slot['start_ns']} {slot['end_ns']}"
        )
    return "; ".join(texts)


def _nothing(finding: Finding, end_id: int) -> Content:
    return Content(
        records=np.empty(0, RECORD_TYPE),
        ids=np.empty(0, np.int64),
        end_id=end_id,
        findings=(finding,),
    )
