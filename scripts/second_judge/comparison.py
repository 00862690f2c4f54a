"""The two judges side by side: where they differ, and whether that was to be expected.

They define some things otherwise, and the history tells where that is all:

- Jepsen calls lost or unseen only what nobody ever read; we do what was read, too, and is gone.
- Jepsen calls lost only what lies before a record that was read; at the log's end it is unseen.
- Jepsen knows no retention: what lies below the log's start it misses.
- A complete final read decides for us what the log holds; Jepsen counts what was cut off, too.
- Jepsen's values belong to a partition: a copy in another one is left out of its history.

Any other difference is a fault of one of the judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scripts.second_judge.findings import KINDS, Found, Where

READ_BEFORE: Final = "it was read before it was gone; Jepsen asks for what nobody ever read"
AT_THE_END: Final = "nobody read what comes after it, so Jepsen calls it unseen"
DELETED: Final = "it lies below the log's start; Jepsen knows no retention"
CUT_OFF: Final = "the complete final read has it at one offset at most; Jepsen counts all reads"
ELSEWHERE: Final = "its copy is in another partition, where Jepsen's history does not have it"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What one judge names and the other does not."""

    kind: str
    where: Where
    by_us: bool
    reason: str | None  # why that was to be expected; None: it was not


@dataclass(frozen=True, kw_only=True)
class Record:
    """One value in the partition that it was sent to."""

    acked_at: int | None = None
    read: bool = False  # during the load
    ends_at: frozenset[int] = frozenset()  # its offsets in the final reads
    strays: bool = False  # somebody read it in another partition


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the history says of the values on which the judges differ."""

    records: Mapping[Where, Record]
    log_starts: Mapping[int, int]
    complete: frozenset[int]  # partitions that were read to their ends


def differences(ours: Found, jepsens: Found, facts: Facts) -> list[Difference]:
    """All of them, in order."""
    found: list[Difference] = []
    for kind in KINDS:
        for where in sorted(ours[kind] ^ jepsens[kind]):
            if kind == "unseen" and where in ours["lost"]:
                continue  # told as lost
            by_us = where in ours[kind]
            at_the_end = where in jepsens["unseen"]
            reason = _reason(kind, where, by_us, at_the_end, facts)
            found.append(Difference(kind=kind, where=where, by_us=by_us, reason=reason))
    return found


def _reason(kind: str, where: Where, by_us: bool, at_the_end: bool, facts: Facts) -> str | None:
    """Why the judges differ by their definitions; None where they do not."""
    record, start = facts.records.get(where, Record()), facts.log_starts.get(where[0], 0)
    below = start > 0 if record.acked_at is None else record.acked_at < start
    cut = where[0] in facts.complete and len(record.ends_at) <= 1
    rules = {
        ("lost", True): ((record.read, READ_BEFORE), (at_the_end, AT_THE_END)),
        ("unseen", True): ((record.read, READ_BEFORE),),
        ("lost", False): ((below, DELETED),),
        ("unseen", False): ((below, DELETED),),
        ("duplicate", True): ((record.strays, ELSEWHERE),),
        ("duplicate", False): ((cut, CUT_OFF),),
    }
    return next((reason for holds, reason in rules.get((kind, by_us), ()) if holds), None)


def disputed(ours: Found, jepsens: Found) -> frozenset[int]:
    """The values of which facts are needed."""
    kinds = [kind for kind in KINDS if kind != "inconsistent"]
    return frozenset(value for kind in kinds for _, value in ours[kind] ^ jepsens[kind])


def facts(run: Path, ends: list[dict[str, Any]], values: frozenset[int]) -> Facts:
    """What a run's tables say of these values, and `ends` of its final read."""
    rows: list[dict[str, Any]] = []
    for path in sorted((run / "history" / "operations").glob("*.parquet")):
        table = pq.read_table(path, columns=["f", "type", "partition", "value", "offset"])
        chosen = pc.is_in(table["value"], pa.array(sorted(values), pa.int64()))
        rows += table.filter(chosen).to_pylist()
    return Facts(
        records=_records(rows),
        log_starts={end["partition"]: end["log_start"] or 0 for end in ends},
        complete=frozenset(end["partition"] for end in ends if end["complete"]),
    )


def _records(rows: list[dict[str, Any]]) -> dict[Where, Record]:
    """One record a value, in the partition that it was sent to."""
    reads: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if row["f"] in ("read", "poll", "final-read"):
            reads.setdefault(row["value"], []).append(row)
    return {
        (row["partition"], row["value"]): _record(row, reads.get(row["value"], []))
        for row in rows
        if row["f"] == "send"
    }


def _record(send: Mapping[str, Any], reads: list[dict[str, Any]]) -> Record:
    there = [row for row in reads if row["partition"] == send["partition"]]
    return Record(
        acked_at=send["offset"],
        read=any(row["f"] != "final-read" for row in there),
        ends_at=frozenset(row["offset"] for row in there if row["f"] == "final-read"),
        strays=len(there) < len(reads),
    )


# Telling it

SHOWN: Final = 50  # of one kind and reason


def told(
    ours: Found, jepsens: Found, others: Mapping[str, int], found: list[Difference]
) -> Iterator[str]:
    """Both judges' findings as lines."""
    yield f"{'':14}{'ours':>10}{'Jepsen':>10}{'both':>10}"
    for kind in KINDS:
        both = len(ours[kind] & jepsens[kind])
        yield f"{kind:14}{len(ours[kind]):>10,}{len(jepsens[kind]):>10,}{both:>10,}"
    if others:
        named = ", ".join(f"{kind} {count:,}" for kind, count in sorted(others.items()))
        yield f"Jepsen also names what we do not judge: {named}"
    agreed = [
        (kind, where, "both") for kind in KINDS for where in sorted(ours[kind] & jepsens[kind])
    ]
    alone = [
        (each.kind, each.where, f"{'ours' if each.by_us else 'Jepsen'} alone: {_why(each)}")
        for each in found
    ]
    shown: dict[tuple[str, str], int] = {}
    for kind, where, what in agreed + alone:
        shown[kind, what] = shown.get((kind, what), 0) + 1
        if shown[kind, what] <= SHOWN:
            name = "offset" if kind == "inconsistent" else "value"
            yield f"{kind}: partition {where[0]}, {name} {where[1]}: {what}"
    for (kind, what), count in shown.items():
        if count > SHOWN:
            yield f"{kind}: {count - SHOWN:,} more: {what}"
    differ = sum(each.reason is None for each in found)
    expected = len(found) - differ
    yield f"the judges differ in {differ:,}; in {expected:,} more only their definitions differ"


def _why(difference: Difference) -> str:
    return difference.reason or "THEY DIFFER"
