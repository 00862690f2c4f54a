"""Parts of the stories of transformers: what is processed in partition 0, made in partition 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.histories import Part, committed, final_read, polled, processed, sent

Report = dict[str, Any]
ONE, OTHER, HEIR = "transformer-0", "transformer-1", "transformer-0-2"
X, Y = 1 << 40, 2 << 40  # outputs
TWO_PARTITIONS = {"transformers": 1, "partitions": 2, "history_format": 2}
AFTER = {**TWO_PARTITIONS, "commit": "after"}
BEFORE = {**TWO_PARTITIONS, "commit": "before"}
EXACT = {**TWO_PARTITIONS, "commit": "transaction", "isolation": "read_committed", "retries": 9}
EXACT |= {"idempotent": True}
DIRTY = {**EXACT, "isolation": "read_uncommitted"}


def processing(value: int, at: int | None, *, ms: float, by: str = ONE, ended: str = "ok") -> Part:
    """A member's processing of a record of partition 0; at=None: it never ended."""
    part = processed(value, at=at, ms=ms, process=by)
    return replace(
        part, rows=tuple({**r, "type": r["type"] if at is None else ended} for r in part.rows)
    )


def sent_output(
    value: int, at: int | None = None, *, ms: float, by: str = ONE, ended: str = "ok", **more: Any
) -> Part:
    """An output, sent to partition 1, of what was being processed from `ms` on."""
    error = {"ok": None, "fail": "_ABORTED", "info": "_MSG_TIMED_OUT"}[ended]
    return sent(
        value, at, ms=ms + 1, due=ms, partition=1, process=by, ended=ended, error=error, **more
    )


def went_on(at: int, *, by: str = ONE, ms: float = 400) -> Part:
    """The group's commit."""
    return committed(at, ms=ms, process=by, took=5)


A = (sent(1, at=0, ms=0), polled(1, at=0, ms=50, process=ONE))
READ = final_read(1)
OUT_X = (processing(1, at=0, ms=100), sent_output(X, at=0, ms=100))
AGAIN = (
    polled(1, at=0, ms=200, process=OTHER),
    processing(1, at=0, ms=210, by=OTHER),
    sent_output(Y, at=1, ms=210, by=OTHER),
)
TWICE = (*A, *OUT_X, *AGAIN, went_on(1, by=OTHER), READ, final_read(X, Y, partition=1))


def outputs_of(report: Report) -> tuple[int, int]:
    """How many inputs without an output there are, and with two."""
    counts = [report["anomalies"][name]["count"] for name in ("no-output", "two-outputs")]
    return counts[0], counts[1]
