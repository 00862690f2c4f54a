"""Whether a log goes on in another segment: only closed segments are deleted or compacted.

    segment.bytes = 1 GiB (Kafka's default), 400 MB written     one segment, which stays
    segment.bytes = 16 MiB, 400 MB written                      retention.bytes can delete

Settings are a topic's over its brokers', under the names of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

HOUR_MS: Final = 3_600_000
DAYS_7: Final = 168  # hours: Kafka's default of log.retention.hours and log.roll.hours
_DAY_MS: Final = 24 * HOUR_MS  # of delete.retention.ms
_GIB: Final = 2**30  # and of log.segment.bytes


def closes_segments(settings: Mapping[str, Any], lasted_ms: float, log_bytes: float) -> bool:
    """Whether a log of so many bytes goes on in another segment within that time."""
    rolled_ms = as_number(settings.get("log.roll.hours"), DAYS_7) * HOUR_MS
    rolled_ms = as_number(settings.get("log.roll.ms"), rolled_ms)
    return (
        log_bytes > segment_bytes(settings)
        or as_number(settings.get("segment.ms"), rolled_ms) <= lasted_ms
    )


def segment_bytes(settings: Mapping[str, Any]) -> float:
    """The size at which a segment is closed."""
    return as_number(
        settings.get("segment.bytes"), as_number(settings.get("log.segment.bytes"), _GIB)
    )


def retention_bytes(settings: Mapping[str, Any]) -> float:
    """How much of a log is kept; negative: all."""
    return as_number(settings.get("retention.bytes", settings.get("log.retention.bytes")), -1)


def policy_of(settings: Mapping[str, Any]) -> str:
    """What becomes of old records: delete, compact or both."""
    return str(settings.get("cleanup.policy", settings.get("log.cleanup.policy", "delete")))


def delete_retention_ms(settings: Mapping[str, Any]) -> float:
    """How long a compacted log keeps a tombstone."""
    of_brokers = settings.get("log.cleaner.delete.retention.ms")
    return as_number(settings.get("delete.retention.ms"), as_number(of_brokers, _DAY_MS))


def ever_compacts(settings: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a log that had these settings, one after the other, was ever compacted."""
    return any("compact" in policy_of(each) for each in settings)


def as_number(given: Any, default: float) -> float:
    """A setting as a number; the default where it is not set, or none."""
    try:
        return default if given is None else float(given)
    except (TypeError, ValueError):
        return default
