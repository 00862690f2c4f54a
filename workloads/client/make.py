"""Makes the workers' clients from explicit configurations.

The SPEC's settings hold, except where recording needs others: delivery reports one by one,
statistics (only they say which broker serves a partition), and neither commits nor a group unless
the group is under test (`make_member`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from logging import Logger
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

OnError = Callable[[KafkaError], None]
OnStatistics = Callable[[str], None]
OnCommit = Callable[[KafkaError | None, list[TopicPartition]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """The receivers of a consumer's callbacks while it is polled."""

    on_error: OnError
    logger: Logger
    on_statistics: OnStatistics | None = None
    on_commit: OnCommit | None = None


# Room beyond rate x longest outage: a fault's healing takes time as well.
QUEUE_MARGIN = 1.5
QUEUE_LEAST = 100_000  # librdkafka's own default
MESSAGE_OVERHEAD_BYTES = 128
STATISTICS_EVERY_MS = 200
LARGEST = 2_147_483_647


def make_producer(
    config: Mapping[str, Any],
    queue: Mapping[str, int],
    *,
    on_error: OnError,
    on_statistics: OnStatistics | None,
) -> Producer:
    """A producer; `config` overrides `queue`. Raises KafkaException, ValueError."""
    own: dict[str, Any] = {"error_cb": on_error}
    if on_statistics is not None:
        own |= {"stats_cb": on_statistics, "statistics.interval.ms": STATISTICS_EVERY_MS}
    return Producer({**queue, **_plain(config), **own})


def queue_limits(rate: float, longest_outage_s: float, value_bytes: int) -> dict[str, int]:
    """A queue that holds every send of the longest outage, so that none fails for lack of room."""
    messages = max(QUEUE_LEAST, math.ceil(rate * longest_outage_s * QUEUE_MARGIN))
    kbytes = messages * (value_bytes + MESSAGE_OVERHEAD_BYTES) // 1024 + 1
    return {
        "queue.buffering.max.messages": min(messages, LARGEST),
        "queue.buffering.max.kbytes": min(max(kbytes, 1_048_576), LARGEST),
    }


def make_consumer(
    config: Mapping[str, Any],
    *,
    group: str,
    listeners: Listeners,
) -> Consumer:
    """A consumer outside any group: partitions are assigned by hand, nothing is committed.

    When the log was cut below the consumer's position (an unclean election), librdkafka asks for
    the end of its leader epoch and goes on from there (KIP-320). If that is unknown, it follows
    auto.offset.reset, `earliest` unless set: it reads everything again, which a checker knows as
    redelivery. `latest` would skip what was written after the cut, `error` would stop reading;
    `earliest` does neither.
    """
    defaults = {"group.id": group, "auto.offset.reset": "earliest"}
    own = {
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "statistics.interval.ms": STATISTICS_EVERY_MS,
        "error_cb": listeners.on_error,
        "stats_cb": listeners.on_statistics,
        "logger": listeners.logger,
    }
    return Consumer({**defaults, **_plain(config), **own})


def make_member(
    config: Mapping[str, Any],
    *,
    group: str,
    auto_commit: bool,
    listeners: Listeners,
) -> Consumer:
    """A consumer in a group: it subscribes, and offsets are committed.

    With `auto_commit` the client itself commits every auto.commit.interval.ms what it has handed
    over (enable.auto.offset.store), processed or not, and calls `on_commit` in the next poll.
    Otherwise only the worker commits. A group without commits begins at the log's start, unless
    auto.offset.reset says otherwise.
    """
    defaults = {"auto.offset.reset": "earliest"}
    own = {
        "group.id": group,
        "enable.auto.commit": auto_commit,
        "enable.auto.offset.store": auto_commit,
        "on_commit": listeners.on_commit,
        "error_cb": listeners.on_error,
        "logger": listeners.logger,
    }
    return Consumer({**defaults, **_plain(config), **own})


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Booleans in librdkafka's spelling."""
    return {
        key: str(value).lower() if isinstance(value, bool) else value
        for key, value in config.items()
    }
