"""The settings of a run that decide its promises.

The Kafka release decides which settings count and where they stand (`kafka`, beside it).

A setting that changed at run time counts with the least safe value that it had; analysis.causes
decides whether that value was in force when it mattered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.causes.run_facts.kafka import Kafka
from analysis.stored.settings import Settings
from harness.model.client_settings import (
    IN_FLIGHT,
    acks_of,
    in_flight_of,
    of_one_generation,
    resets_of,
    retries_of,
)
from harness.model.sections.log_segments import ever_compacts
from harness.model.worker_kinds import asks_for_members, asks_for_transformers

UNCLEAN = "unclean.leader.election.enable"
FIRST_WITH_EPOCHS = (0, 11)  # inter.broker.protocol.version that brought leader epochs
FORMAT_IGNORED_FROM = (3, 0)  # and the one from which every log has the newest message format


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The configuration in force where it can matter, and how much was recorded."""

    acks: str  # "0" | "1" | "all"
    retries: int
    idempotent: bool
    replicas: int
    unclean: bool  # unclean elections were allowed or asked for, at one time or another
    epochs: bool  # followers truncate by leader epoch (KIP-101)
    checks_crcs: bool  # consumers check CRCs: check.crcs
    in_flight: int = IN_FLIGHT  # unanswered requests of a producer to one broker, at most
    commit: str | None = None  # of the group: auto | before | after | transaction; None: no group
    transforms: bool = False  # its members send an output for each input
    outputs: bool = False  # programs of the user's make some, which were read
    texts: bool = False  # records are the user's, and tell nothing but their value
    resets: str | None = None  # auto.offset.reset of consumers; None: not told
    one_generation: bool = True  # all members have the same generation, and none is static
    compared: bool = False  # the replicas were compared at the end
    watched: bool = False  # the replicas' watermarks and log ends were sampled
    transactional: bool = False  # producers have a transactional.id
    uncommitted: bool = False  # consumers read uncommitted records: isolation.level
    follower_reads: bool = False  # consumers may read from followers (KIP-392)
    compacted: bool = False  # cleanup.policy, at one time or another
    tombstones: bool = False  # some records delete their keys
    set_back: bool = False  # a controller may lack metadata that it had voted for (KRaft)
    reads_metadata: bool = False  # KRaft's metadata log was read from the controllers' disks
    history_format: int = 2  # docs/history.md; what format 1 lacks is not judged
    untold: frozenset[str] = frozenset()  # of an imported history, by harness.model.untold

    @property
    def replicated(self) -> bool:
        """Whether another broker can lead at all."""
        return self.replicas > 1

    @property
    def dense(self) -> bool:
        """Whether each offset of the log is a record's."""
        return not self.transactional and not self.compacted

    @property
    def may_truncate(self) -> bool:
        """Whether a new leader may make replicas drop what consumers were already given."""
        return self.set_back or (self.replicated and (self.unclean or not self.epochs))


def facts_of(
    scenario: Mapping[str, Any],
    server: Settings,
    changed: Sequence[Mapping[str, str]] = (),
    kafka: Kafka | None = None,
) -> Facts:
    """The facts of a resolved scenario, of its brokers' settings, of the topic settings that faults
    changed, and of its Kafka."""
    kafka = kafka or Kafka()
    work, topic = scenario["workload"], scenario["topic"]
    producer, consumer = work["producer"], work.get("consumer", {})
    in_force = {**server, **topic["config"]}  # the topic's own setting goes before the brokers'
    elections = ({**kafka.deciding(server), **topic["config"]}, *changed)
    allowed = kafka.configures_unclean and any(
        _true(settings.get(UNCLEAN)) for settings in elections
    )

    return Facts(
        acks=acks_of(producer),
        retries=retries_of(producer),
        idempotent=_true(producer.get("enable.idempotence", False)),
        in_flight=in_flight_of(producer),
        replicas=int(topic["replication_factor"]),
        unclean=allowed,
        epochs=not kafka.zookeeper or _have_epochs(server, topic["config"]),
        checks_crcs=_true(consumer.get("check.crcs", False)),
        commit=str(work["commit"]) if asks_for_members(work) else None,
        transforms=asks_for_transformers(work),
        outputs=bool(scenario.get("outputs")),
        texts=bool(work.get("record") or work.get("record_file")),
        resets=resets_of(consumer),
        one_generation=of_one_generation(consumer),
        compared=_true(scenario.get("check", {}).get("replicas", False)),
        watched=_true(scenario.get("check", {}).get("watermarks", False)),
        transactional="transactional.id" in producer,
        uncommitted=consumer.get("isolation.level") == "read_uncommitted",
        follower_reads=_read_from_followers(work, server),
        tombstones=bool(work.get("tombstones")),
        compacted=ever_compacts({**in_force, **change} for change in ({}, *changed)),
    )


def lag_max_ms(server: Settings) -> float:
    """How long a replica may not fetch before it leaves the ISR."""
    return float(server.get("replica.lag.time.max.ms", 30_000))


def _read_from_followers(work: Settings, server: Settings) -> bool:
    """Whether brokers may send a consumer to a follower, which has to tell its rack."""
    sent = bool(server.get("replica.selector.class")) and "client.rack" in work.get("consumer", {})
    return sent or work.get("read_via") == "follower"


def _true(value: object) -> bool:
    return str(value).lower() == "true"


def _have_epochs(server: Settings, topic: Settings) -> bool:
    """Whether brokers speak of leader epochs, and logs keep them: a log's message format goes by a
    setting of its own, up to 3.0 (KIP-724)."""
    protocol = _version(server.get("inter.broker.protocol.version", "3.9"))
    if protocol >= FORMAT_IGNORED_FROM:
        return True
    brokers = server.get("log.message.format.version")
    stored = topic.get("message.format.version", brokers)
    return min(protocol, protocol if stored is None else _version(stored)) >= FIRST_WITH_EPOCHS


def _version(text: object) -> tuple[int, ...]:
    """The first two numbers of "0.10.2-IV0" or "3.9"."""
    return tuple(int(part) for part in str(text).split("-", 1)[0].split(".")[:2])
