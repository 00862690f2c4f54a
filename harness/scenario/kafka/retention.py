"""A note where retention by size can delete nothing within the run.

retention.bytes = 54857600, segment.bytes not set, 400 MB of load    nothing is deleted
the same, 40 MB of load                                              no note: nothing is due
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.kafka_text import kafka_text
from harness.model.scenario import Scenario
from harness.model.sections.log_segments import (
    closes_segments,
    policy_of,
    retention_bytes,
    segment_bytes,
)
from harness.model.sections.workload import WorkloadPart, mean_bytes


def retention_notes(chosen: Scenario) -> Iterator[str]:
    """The note, if the load is above what is to be kept, and below a segment."""
    topic, work = chosen.topic, chosen.workload
    settings = {**chosen.cluster.of_brokers, **topic.config}
    kept = retention_bytes(settings)
    load = _load_bytes(work) / topic.partitions
    lasts_ms = work.duration_s * 1000 if work.kind == "stream" else 0
    if "delete" not in policy_of(settings) or not 0 < kept < load:
        return
    if closes_segments(settings, lasts_ms, load):
        return
    key = "retention.bytes" if "retention.bytes" in topic.config else "log.retention.bytes"
    segment = f"{segment_bytes(settings):,.0f}"
    set_by = {"segment.bytes", "log.segment.bytes"} & settings.keys()
    why = max(set_by, default="Kafka's default")
    yield (
        f"{key} = {kafka_text(settings[key])} deletes nothing here: only closed segments are "
        f"deleted, and one is closed at {segment} bytes ({why}), above the {load:,.0f} that the "
        "load brings to a partition; set topic.config.segment.bytes below that"
    )


def _load_bytes(work: WorkloadPart) -> float:
    """How many bytes of values the producers mean to send."""
    sends = work.stream_sends if work.kind == "stream" else work.rounds
    return mean_bytes(work.value_bytes) * sends
