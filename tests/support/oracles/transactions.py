"""A second opinion on transactions: docs/anomalies.md, transaction by transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

Row = dict[str, Any]


def transactions(case: Any, lives: Mapping[int, Any]) -> Iterator[tuple[str, Any]]:
    """Each uncommitted read and each record that is torn: its name and its value, once a send."""
    parts: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in case.rows:
        if row["f"] == "send" and row["transaction"] is not None:
            parts[row["process"], row["transaction"]].append(row["value"])
    for transaction, values in parts.items():
        told = [
            note for note in case.notes if (note["process"], note["transaction"]) == transaction
        ]
        if not told:
            continue
        asked = min((note["time"] for note in told if note["name"] == "commit-asked"), default=None)
        there = any(lives[value].final for value in values)
        for value in values:
            life = lives[value]
            if life.sent not in ("ok", "info"):
                continue
            given = min((row["end"] for row in life.deliveries), default=None)
            if asked is None:
                if life.sent == "info" and life.reads:
                    yield "uncommitted-read", value
                continue
            if given is not None and given < asked:
                yield "uncommitted-read", value
            kept = life.acked[1] >= life.log_start if life.acked else life.log_start == 0
            if there and not life.final and life.complete and kept:
                yield "torn", value
