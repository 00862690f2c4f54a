"""A second opinion on what transformers made: docs/anomalies.md, input by input."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

Row = dict[str, Any]
Found = Iterator[tuple[str, Any]]


def outputs(case: Any, lives: Mapping[int, Any], group: Any) -> Found:
    """Each input with two outputs, at its place, and each one that has none."""
    ours = [row for row in case.rows if is_transformer(row) and row["value"] is not None]
    sends = [row for row in ours if row["f"] == "send"]
    taken = [row for row in ours if row["f"] == "process"]
    begun = Counter((row["process"], row["start"]) for row in taken)
    made: dict[int, list[tuple[Row, Any]]] = defaultdict(list)
    for send in sends:
        for row in taken:
            if (row["process"], row["start"]) == (send["process"], due(send)):
                made[row["value"]].append((row, lives[send["value"]]))
    for value, of_it in made.items():
        alone = [each for each in of_it if begun[each[0]["process"], each[0]["start"]] == 1]
        yield from _twice(case, lives[value], alone)
    if not case.transforms or not all(end["complete"] for end in case.ends):
        return
    own = {send["value"] for send in sends}
    for value, life in lives.items():
        if value in own or life.sent is None or not group.went_past(life):
            continue
        if not any(_may_be_there(case, output) for _, output in made[value]):
            yield "no-output", value


def due(send: Row) -> int:
    """When a send was due, in ms."""
    return int(send["due"] if "due" in send else send["start"])


def is_transformer(row: Row) -> bool:
    """Whether a transformer did it."""
    return str(row["process"]).startswith("transformer-")


def _twice(case: Any, life: Any, made: list[tuple[Row, Any]]) -> Found:
    places = {(r["partition"], r["offset"]) for r in life.reads}
    found = defaultdict[Any, set[int]](set)
    for row, output in made:
        place: Any = (row["partition"], row["offset"])
        if row["offset"] is None:
            place = min(places) if len(places) == 1 else None
        certain = output.sent in ("ok", "no-ack") or (output.sent == "info" and not case.dirty)
        if place and certain and output.final:
            found[place].add(output.value)
    for place, values in found.items():
        if len(values) > 1:
            yield "two-outputs", (life.value, *place)


def _may_be_there(case: Any, output: Any) -> bool:
    if output.sent in ("ok", "no-ack"):
        return True
    if output.final:
        return not (case.dirty and output.sent == "fail")
    return bool(output.sent == "info" and output.log_start > 0)
