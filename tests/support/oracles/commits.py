"""A second opinion on what a group committed: docs/anomalies.md, row by row, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


def commits(case: Any) -> Iterator[tuple[str, Any]]:
    """Every answer below what had been committed, and every commit of a generation that was over:
    its name and what is told of it."""
    made = [row for row in case.rows if row["f"] == "commit" and row["type"] != "fail"]
    for row in case.rows:
        here = (row["partition"], row["offset"])
        if row["f"] == "committed" and row["start"] < row["end"]:
            mine = [each for each in made if each["partition"] == row["partition"]]
            if (higher := _set_back(row, mine)) is not None:
                yield "commit-back", (*here, higher["offset"], row["process"])
    for row in made:
        if _surely(row) and row["generation"] is not None and _is_over(row, case.events):
            yield "zombie-commit", (row["partition"], row["offset"], None, row["process"])


def _set_back(answer: Row, made: list[Row]) -> Row | None:
    """The commit that an answer knows no more, and that nothing took back."""
    higher = [
        row
        for row in made
        if _surely(row) and row["offset"] > answer["offset"] and row["end"] < answer["start"]
    ]
    last = max(higher, key=lambda row: (row["start"], row["offset"], row["end"]), default=None)
    for row in made:
        same = row["offset"] in (None, answer["offset"]) and row["start"] <= answer["end"]
        if last and same and not (_surely(row) and row["end"] < last["start"]):
            return None
    return last


def _surely(row: Row) -> bool:
    return bool(row["type"] == "ok" and row["start"] < row["end"])


def _is_over(row: Row, events: list[Row]) -> bool:
    """Whether somebody had been given a newer generation, and its member knew of no other."""
    mine = sorted((e for e in events if e["process"] == row["process"]), key=lambda e: e["time"])
    known = [e["generation"] for e in mine if e["time"] < row["start"]]
    meanwhile = {e["generation"] for e in mine if row["start"] <= e["time"] <= row["end"]}
    newer = any(
        e["event"] == "assigned" and (e["generation"] or 0) > row["generation"]
        for e in events
        if e["time"] < row["start"]
    )
    return newer and known[-1:] == [row["generation"]] and meanwhile <= {row["generation"]}
