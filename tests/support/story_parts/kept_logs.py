"""What was kept of the brokers' logs (docs/evidence.md), as parts of a told story.

kept_log(1, 10, 11, 12, ms=2000, epochs={0: 0})     kafka1 had 10, 11, 12 before it came back
led(2, epoch=1, at=2, ms=1500)                      kafka2 led from log end 2
truncated(1, at=2, ms=2500)                         kafka1 cut off 12
kept_log(1, 10, 11, epochs={0: 0, 1: 2})            what it has at the end
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.histories import LOAD_MS, LOAD_START_NS, Part, event

END_MS = LOAD_MS + 1500


def kept_log(
    broker: int,
    *values: int | None,
    ms: float | None = None,
    begin: int = 0,
    lowest: int = 0,
    epochs: Mapping[int, int] | None = None,
    partition: int = 0,
    cut_short: bool = False,
    text: str | None = None,
) -> Part:
    """A broker's tail from `begin` on, before its return (`ms`) or at the end; `epochs`: the first
    offset of each; `text`: why its records could not be read."""
    at = {
        "moment": "end" if ms is None else "before-return",
        "broker": f"kafka{broker}",
        "partition": partition,
    }
    known = {0: 0} if epochs is None else epochs
    records = [
        {
            **at,
            "event": "kept-record",
            "offset": offset,
            "value": value,
            "epoch": max((e for e, first in known.items() if first <= offset), default=None),
            "text": text,
        }
        for offset, value in enumerate(values, start=begin)
    ]
    end = begin + len(values)
    tail = {"event": "kept-tail", "begin": begin, "log_end": end, "lowest": lowest}
    checkpoint = [
        {**at, "event": "kept-epoch", "epoch": epoch, "offset": first}
        for epoch, first in known.items()
    ]
    return _kept(*records, {**at, **tail, "cut_short": cut_short}, *checkpoint, ms=ms)


def led(broker: int, *, epoch: int, at: int, ms: float, partition: int = 0) -> Part:
    """A broker became leader with its log ending there."""
    return _said("led", broker, epoch=epoch, offset=at, ms=ms, partition=partition)


def followed(broker: int, *, epoch: int, at: int, ms: float, partition: int = 0) -> Part:
    """A broker became follower with its log ending there."""
    return _said("followed", broker, epoch=epoch, offset=at, ms=ms, partition=partition)


def truncated(broker: int, *, at: int, ms: float, partition: int = 0) -> Part:
    """A broker cut its log off there."""
    return _said("truncated", broker, epoch=None, offset=at, ms=ms, partition=partition)


def not_kept(text: str, broker: int | None = None) -> Part:
    """Something is missing."""
    return _kept({"event": "not-kept", "text": text, "broker": broker and f"kafka{broker}"})


def _said(name: str, broker: int, *, ms: float, **fields: Any) -> Part:
    row = {"event": name, "broker": f"kafka{broker}", **fields}
    return _kept({**row, "logged_ms": LOAD_START_NS // 10**6 + int(ms)})


def _kept(*rows: Mapping[str, Any], ms: float | None = None) -> Part:
    part = event("", ms=END_MS if ms is None else ms)
    return Part(table="kept", rows=tuple({"topic": "harness", **row} for row in rows), ms=part.ms)


def stories(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that a report tells."""
    found: list[dict[str, Any]] = report["stories"]["told"]
    return found


def known(story: dict[str, Any], key: str) -> dict[str, str]:
    """had or now, by broker."""
    return {replica["broker"]: replica[key] for replica in story["replicas"]}
