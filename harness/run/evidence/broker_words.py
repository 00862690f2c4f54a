"""Reads from brokers' logs who led a partition from which offset, and what was truncated.

Kafka 3.9, each line behind "[2026-11-23 11:45:38,820] INFO ":

    [Broker id=2] Leader t-0 with topic id Some(…) starts at leader epoch 1 from offset 502 with
        partition epoch 1, high watermark 501, ISR [2,3], …                             `led`
    [Broker id=1] Follower t-0 starts at leader epoch 1 from offset 503 with partition epoch 1 and
        high watermark 83. Current leader is 2. …                                       `followed`
    [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition t-0 with
        TruncationState(offset=502, completed=true) due to leader epoch and offset EpochEndOffset(…)
    [UnifiedLog partition=t-0, dir=/data] Truncating to offset 502                      `truncated`
    [UnifiedLog partition=t-0, dir=/data] Truncate and start at offset 502, …           `truncated`
    [LogLoader partition=t-0, dir=/data] Corruption found in segment 0, truncating to offset 7
                                                                                        `truncated`

"from offset" is the broker's own log end at that moment. The text of a truncation is the reason
that the fetcher logged just before. "Truncating to 0 has no effect" truncates nothing and is left
out.

The time is the broker's own wall clock, to the millisecond. `logged_ms` is that time by the run's
clock; it is wrong by as much as a fault has shifted the broker's clock.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

_LINE = re.compile(r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] \w+ (?P<message>.*)")
_NAMED = r"(?P<topic>\S+)-(?P<partition>\d+)"
_LED = re.compile(
    rf"\[Broker id=\d+\] Leader {_NAMED} .*?starts at leader epoch (?P<epoch>\d+) "
    r"from offset (?P<offset>\d+) .*?high watermark (?P<watermark>\d+)"
)
_FOLLOWED = re.compile(
    rf"\[Broker id=\d+\] Follower {_NAMED} .*?starts at leader epoch (?P<epoch>\d+) "
    r"from offset (?P<offset>\d+) .*?high watermark (?P<watermark>\d+)"
    r"(?:\. Current leader is (?P<leader>\d+))?"
)
_WHY = re.compile(
    rf"\[ReplicaFetcher.*\] Truncating partition {_NAMED} with "
    r"TruncationState\(offset=(?P<offset>\d+), .*?\) (?P<text>due to .*?)(?: \(kafka\.\S+\))?$"
)
_TRUNCATED = re.compile(
    rf"\[(?:UnifiedLog|LogLoader) partition={_NAMED}, dir=.*?\] "
    r"(?P<how>Truncating to offset|Truncate and start at offset|Corruption found in segment \d+, "
    r"truncating to offset) (?P<offset>\d+)"
)
_NUMBERS = ("partition", "epoch", "offset", "watermark", "leader")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClock:
    """One moment by two clocks, and the zone of the brokers' log times (None: this host's)."""

    monotonic_ns: int
    utc: datetime
    zone: tzinfo | None

    def ms(self, written: str) -> int | None:
        """A log line's time by the run's clock."""
        try:
            moment = datetime.strptime(written, "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007
            local = moment.replace(tzinfo=self.zone) if self.zone else moment.astimezone()
        except (ValueError, OverflowError, OSError):
            return None
        since = local.astimezone(UTC) - self.utc
        return round(self.monotonic_ns / 1e6 + since.total_seconds() * 1e3)


def logged_events(
    lines: Iterable[str], topics: Collection[str], clock: RunClock
) -> Iterator[dict[str, Any]]:
    """What a broker's log says of some topics, in order: the fields of one line each."""
    why: dict[tuple[str, str], tuple[str, str]] = {}
    for line in lines:
        if "runcat" not in line and "starts at leader epoch" not in line:
            continue
        line_match = _LINE.match(line)
        if line_match is None:
            continue
        message = line_match["message"]
        if (reason := _WHY.match(message)) is not None:
            why[reason["topic"], reason["partition"]] = (reason["offset"], reason["text"])
            continue
        fields = _event(message)
        if fields is None or fields["topic"] not in topics:
            continue
        if fields["event"] == "truncated":
            offset, text = why.pop((fields["topic"], str(fields["partition"])), ("", ""))
            if offset == str(fields["offset"]):
                fields["text"] = text
        yield {**fields, "logged_ms": clock.ms(line_match["at"])}


def _event(message: str) -> dict[str, Any] | None:
    for event, pattern in (("led", _LED), ("followed", _FOLLOWED), ("truncated", _TRUNCATED)):
        match = pattern.match(message)
        if match is not None:
            return {"event": event, **_fields(match)}
    return None


def _fields(match: re.Match[str]) -> dict[str, Any]:
    fields = {name: text for name, text in match.groupdict().items() if text is not None}
    how = fields.pop("how", "")
    if how and how != "Truncating to offset":
        fields["text"] = how
    return {name: int(text) if name in _NUMBERS else text for name, text in fields.items()}
