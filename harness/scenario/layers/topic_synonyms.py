"""Says what brokers' keys mean for the run's topic, which has settings of its own.

    unclean.leader.election.enable, min.insync.replicas   a file's win over [topic.config]
    log.segment.bytes beside topic.config.segment.bytes   no effect on the topic
    num.partitions, default.replication.factor            no effect on the topic
    log.retention.hours beside log.retention.ms           no effect at all

Source: Kafka's ServerTopicConfigSynonyms; the broker configurations of log.retention and log.roll.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from harness.model.kafka_text import kafka_text
from harness.scenario.kafka.modes import MINIMUM, UNCLEAN

# Keys that decide what a cluster loses; a broker's file means them for the topic, too.
DECISIVE: Final = (UNCLEAN, MINIMUM)
_HOURS, _MINUTES = 3_600_000, 60_000
# A broker's key -> the topic's key, and the broker's unit in units of the topic's.
_SYNONYMS: dict[str, tuple[str, int]] = {
    "compression.gzip.level": ("compression.gzip.level", 1),
    "compression.lz4.level": ("compression.lz4.level", 1),
    "compression.type": ("compression.type", 1),
    "compression.zstd.level": ("compression.zstd.level", 1),
    "log.cleaner.delete.retention.ms": ("delete.retention.ms", 1),
    "log.cleaner.max.compaction.lag.ms": ("max.compaction.lag.ms", 1),
    "log.cleaner.min.cleanable.ratio": ("min.cleanable.dirty.ratio", 1),
    "log.cleaner.min.compaction.lag.ms": ("min.compaction.lag.ms", 1),
    "log.cleanup.policy": ("cleanup.policy", 1),
    "log.flush.interval.messages": ("flush.messages", 1),
    "log.flush.interval.ms": ("flush.ms", 1),
    "log.flush.scheduler.interval.ms": ("flush.ms", 1),
    "log.index.interval.bytes": ("index.interval.bytes", 1),
    "log.index.size.max.bytes": ("segment.index.bytes", 1),
    "log.local.retention.bytes": ("local.retention.bytes", 1),
    "log.local.retention.ms": ("local.retention.ms", 1),
    "log.message.downconversion.enable": ("message.downconversion.enable", 1),
    "log.message.format.version": ("message.format.version", 1),
    "log.message.timestamp.after.max.ms": ("message.timestamp.after.max.ms", 1),
    "log.message.timestamp.before.max.ms": ("message.timestamp.before.max.ms", 1),
    "log.message.timestamp.difference.max.ms": ("message.timestamp.difference.max.ms", 1),
    "log.message.timestamp.type": ("message.timestamp.type", 1),
    "log.preallocate": ("preallocate", 1),
    "log.retention.bytes": ("retention.bytes", 1),
    "log.retention.hours": ("retention.ms", _HOURS),
    "log.retention.minutes": ("retention.ms", _MINUTES),
    "log.retention.ms": ("retention.ms", 1),
    "log.roll.hours": ("segment.ms", _HOURS),
    "log.roll.jitter.hours": ("segment.jitter.ms", _HOURS),
    "log.roll.jitter.ms": ("segment.jitter.ms", 1),
    "log.roll.ms": ("segment.ms", 1),
    "log.segment.bytes": ("segment.bytes", 1),
    "log.segment.delete.delay.ms": ("file.delete.delay.ms", 1),
    "message.max.bytes": ("max.message.bytes", 1),
}
# Brokers' defaults for new topics -> the scenario's key that the run's topic is made with.
_OF_NEW_TOPICS = {
    "num.partitions": "partitions",
    "default.replication.factor": "replication_factor",
}
# The first that is set counts.
_FIRST_COUNTS = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)


def reasons_in_vain(
    key: str, value: str, topic: Mapping[str, Any], server: Mapping[str, Any]
) -> Iterator[str]:
    """Why a key of a broker's file has no effect on the run's topic, and what would; nothing if it
    has one, or changes nothing. `topic`: its partitions and replication_factor, and its own
    settings; `server`: the brokers'."""
    name, unit = _SYNONYMS.get(key, (key, 1))
    own = f"--set topic.config.{name}={_times(value, unit)}"
    if other := _OF_NEW_TOPICS.get(key):
        if (has := str(topic[other])) != value:
            yield f"the run's topic has {other} = {has}; --set topic.{other}={value} would count"
    elif key in _SYNONYMS and name in topic:
        if kafka_text(topic[name]) != _times(value, unit):
            yield f"the run's topic has {name} = {topic[name]} of its own; {own} would count"
    else:
        for group in _FIRST_COUNTS:
            before = group[: group.index(key)] if key in group else ()
            if first := next((earlier for earlier in before if earlier in server), None):
                yield f"brokers go by {first} = {server[first]}; {own} would count"


def _times(value: str, unit: int) -> str:
    return str(int(value) * unit) if unit > 1 and value.isdecimal() else value
