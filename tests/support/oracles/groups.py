"""A second opinion on what a consumer group made of the log: docs/anomalies.md, value by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]


class Group:
    """What the members of the consumer group were given, and where they would go on."""

    def __init__(self, rows: Sequence[Row], *, from_start: bool = False) -> None:
        self._rows, self._from_start = rows, from_start
        self.first: dict[int, int] = {}  # by partition: the lowest offset that was given
        known: dict[int, tuple[int, int]] = {}  # by partition: the last news, and the offset
        for row in rows:
            partition, offset = row["partition"], row["offset"]
            if row["f"] == "poll":
                self.first[partition] = min(offset, self.first.get(partition, offset))
            if row["f"] in ("commit", "committed") and row["type"] == "ok":
                known[partition] = max((row["end"], offset), known.get(partition, (-1, 0)))
        self.committed = {partition: offset for partition, (_, offset) in known.items()}

    def anomalies(self, life: Any) -> Iterable[str]:
        done = Counter(_place(row) for row in life.processing if row["type"] == "ok")
        if any(often > 1 for often in done.values()):
            yield "reprocessed"
        passed = self.went_past(life) or self._passed_at_once(life)
        if passed and all(row["type"] == "fail" for row in life.processing):
            yield "skipped"

    def went_past(self, life: Any) -> bool:
        """Whether a record that is in the log lies where the group has been."""
        if not life.final:
            return False
        partition, offset = min(life.final)
        begin = self.first.get(partition)
        return begin is not None and begin <= offset < self.committed.get(partition, 0)

    def _passed_at_once(self, life: Any) -> bool:
        """Whether it lies before the first that a group was given which began before it."""
        if not life.final or not self._from_start:
            return False
        partition, offset = min(life.final)
        first = self.first.get(partition, offset + 1)
        return bool(offset < min(first, self.committed.get(partition, 0)))

    def given_up(self, value: int) -> tuple[Any, ...]:
        """Of its last poll: when, by whom and where; and when that member processed a later one."""
        polls = (r for r in self._rows if r["f"] == "poll" and r["value"] == value)
        last = max(((r["end"], r["process"], *_place(r)) for r in polls), default=None)
        if last is None:
            return None, None, None, None, None
        polled, by, partition, offset = last
        later = (
            row["start"]
            for row in self._rows
            if (row["f"], row["type"], row["process"]) == ("process", "ok", by)
            and row["partition"] == partition
            and row["offset"] > offset
            and row["start"] >= polled
        )
        return polled, by, partition, offset, min(later, default=None)


def _place(row: Row) -> tuple[int, int]:
    return row["partition"], -1 if row["offset"] is None else row["offset"]
