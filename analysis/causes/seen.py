"""What causes are derived from: the events of a run, and its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.causes.run_facts.configuration import Facts
from analysis.causes.run_facts.faults import Happened
from analysis.causes.run_facts.kafka import Kafka
from analysis.causes.states import Partition
from analysis.stored.groups.member_stops import Stop
from analysis.stored.groups.passed_over import PassedOver
from analysis.stored.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The events of a run, and its configuration."""

    facts: Facts
    happened: Happened
    kafka: Kafka = field(default_factory=Kafka)
    partitions: tuple[Partition, ...] = ()
    brokers: tuple[str, ...] = ()
    topic: str = ""
    topic_config: Settings = field(default_factory=dict)
    server: Settings = field(default_factory=dict)  # the brokers' settings
    first_ns: int = 0  # nothing was sent before
    read_ended_ns: Mapping[int, int] = field(default_factory=dict)  # the final read, by partition
    lag_max_ms: float = 30_000  # replica.lag.time.max.ms
    stops: Sequence[Stop] = ()
    passed_over: Sequence[PassedOver] = ()

    @property
    def acks_1(self) -> bool:
        """Whether the leader alone has a record when it is acknowledged."""
        return self.facts.acks == "1"

    def why_unknown(self) -> str:
        """Of which faults the effects are not known, as a clause."""
        unknown = self.happened.unknown()
        first, more = unknown[0], len(unknown) - 1
        others = f", and {more} more {'fault' if more == 1 else 'faults'}" if more else ""
        named = f"step {first['step']}, {first['verb']} {first['target']}{others}"
        return f"{named}: what {'they' if more else 'it'} can do is not known"
