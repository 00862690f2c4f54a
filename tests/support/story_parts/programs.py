"""Parts of the stories of the user's programs: what they sent into a topic of their own."""

from __future__ import annotations

from typing import Any

from tests.support.histories import LOAD_MS, Part, ns_of

READER = "output-reader-0"
PAYMENTS: dict[str, Any] = {
    "outputs": {"topic": "paid", "id": "json:/order_id", "group": "payments"},
    "programs": [{"name": "payments", "command": ["pay"]}],
    "history_format": 2,
}


def output(value: int | None, at: int, *, ms: float) -> Part:
    """An output that was read during the load; None: it has no id."""
    return Part(table="operations", rows=(_row("output", value, at),), ms=ms)


def outputs(*values: int | None, complete: bool = True, log_start: int = 0) -> Part:
    """All outputs that there are at the end."""
    rows = [_row("final-output", value, at) for at, value in enumerate(values, start=log_start)]
    end = log_start + len(values)
    ends = {
        "event": "output-ends",
        "process": READER,
        "partition": 0,
        "log_start": log_start,
        "committed_end": end,
        "uncommitted_end": end,
        "position": end,
        "complete": complete,
    }
    shown = [
        {"event": "unparsable", "process": READER, "partition": 0, "position": at}
        for at, value in enumerate(values)
        if value is None
    ]
    return Part(table="final", rows=(*rows, ends, *shown), ms=LOAD_MS + 500)


def passed(at: int, *, partition: int = 0) -> Part:
    """Up to where the programs' group had committed when the drain ended."""
    row = {
        "event": "passed",
        "process": READER,
        "partition": partition,
        "position": at,
        "time_ns": ns_of(LOAD_MS + 400),
    }
    return Part(table="events", rows=(row,), ms=LOAD_MS + 400)


def _row(f: str, value: int | None, at: int) -> dict[str, Any]:
    return {
        "f": f,
        "type": "ok",
        "value": value,
        "offset": at,
        "partition": 0,
        "process": READER,
        "took": 0,
        "error": None,
        "broker": None,
    }
