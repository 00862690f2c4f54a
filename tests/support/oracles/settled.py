"""A second opinion on when a transaction is settled, asked one transaction and partition at a
time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


def settled_ns(
    rows: list[Row], notes: list[Row], *, process: str, number: int, partition: int, dirty: bool
) -> int | None:
    """When it was, by all that is told; None: nobody knows."""
    told = [
        *_of_the_same_id(rows, notes, process, number),
        *([] if dirty else _read(rows, notes, process, number, partition)),
    ]
    return min(told, default=None)


def _of_the_same_id(rows: list[Row], notes: list[Row], process: str, number: int) -> Iterator[int]:
    for row in rows:
        later = row["process"] == process and (row["transaction"] or 0) > number
        if row["f"] == "send" and later and row["type"] == "ok":
            yield row["end_ns"]
    # A client's first begin tells that it was given the id; all others it decides alone.
    begun = [n for n in notes if n["name"] == "begun"]
    for note in begun:
        client = [n for n in begun if _client(n) == _client(note)]
        if note["time_ns"] > min(n["time_ns"] for n in client):
            continue
        mine = [n["time_ns"] for n in begun if n["process"] == process and n not in client]
        after = bool(mine) and note["time_ns"] > min(mine)
        same_place = _place(note["process"]) == _place(process)
        later = note["process"] != process or note["transaction"] > number
        if same_place and later and after:
            yield note["time_ns"]


def _client(note: Row) -> tuple[str, int]:
    return note["process"], note["instance"]


def _read(
    rows: list[Row], notes: list[Row], process: str, number: int, partition: int
) -> Iterator[int]:
    for send in rows:
        named = send["f"] == "send" and send["process"] == process
        if not named or send["transaction"] is None or send["type"] == "fail":
            continue
        names = {
            n["name"]
            for n in notes
            if (n["process"], n["transaction"]) == (process, send["transaction"])
        }
        if "commit-asked" not in names or "aborted" in names or send["transaction"] < number:
            continue
        for row in rows:
            given = row["f"] in ("read", "poll", "lookup") and row["type"] == "ok"
            here = row["partition"] == partition or send["transaction"] > number
            if given and here and row["value"] == send["value"]:
                yield row["end_ns"]


def _place(process: str) -> str:
    return "-".join(process.split("-")[:2])
