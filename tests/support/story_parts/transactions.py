"""Parts of the stories of transactions: what belongs to one, and what its worker tells of it."""

from __future__ import annotations

from dataclasses import replace

from tests.support.histories import Part


def within(part: Part, transaction: int = 0) -> Part:
    """An operation as part of a transaction."""
    return replace(part, rows=tuple({**row, "transaction": transaction} for row in part.rows))


def noted(
    name: str,
    ms: float,
    transaction: int = 0,
    process: str = "producer-0",
    instance: int | None = None,
) -> Part:
    """What a worker tells of its transaction."""
    row = {"event": "transaction", "process": process, "name": name, "transaction": transaction}
    return Part(table="events", rows=({**row, "instance": instance},), ms=ms)
