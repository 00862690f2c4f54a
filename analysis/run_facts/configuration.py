"""What decides the promises: the configuration in force, and what the faults may have done to it.

A setting that was changed at run time counts as the least safe value that it had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.run_facts.faults import Happened, done
from harness.model.client_settings import acks_of, retries_of
from harness.model.effects import Takes

BROKER_KEY = {"flush.messages": "log.flush.interval.messages"}  # where it is not the topic's
FIRST_WITH_EPOCHS = (0, 11)  # inter.broker.protocol.version that brought leader epochs


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The configuration in force, and what the faults may have done where it can matter."""

    acks: str  # "0" | "1" | "all"
    retries: int
    idempotent: bool
    replicas: int
    unclean: bool  # unclean.leader.election.enable
    epochs: bool  # followers truncate by leader epoch (KIP-101)
    flushed: bool  # every batch is synced before it is answered: flush.messages=1
    checks_crcs: bool  # consumers look at what they are given: check.crcs
    leader_may_move: bool = False  # a fault could make another broker lead
    takes: Takes = "nothing"  # what a node may lack of what it had written
    whole_isr: bool = False  # every member of an ISR was hit, together, by a fault that takes
    altered: bool = False  # records on disk may have changed
    commit: str | None = None  # of the consumer group: "auto" | "before" | "after"; None: no group
    compared: bool = False  # what the replicas hold was compared at the end
    watched: bool = False  # the replicas' watermarks and log ends were followed
    members_died: bool = False  # a member of the group was killed, or ended itself
    disturbed: bool = False  # some fault hit somebody
    transactional: bool = False  # producers have a transactional.id
    uncommitted: bool = False  # consumers ask for what is not committed: isolation.level

    @property
    def deposed(self) -> bool:
        """Whether leadership may have moved because of a fault."""
        return self.replicas > 1 and self.leader_may_move

    @property
    def destroyed(self) -> bool:
        """Whether a node may have lost what it had acknowledged."""
        return self.takes == "all" or (self.takes == "unsynced" and not self.flushed)

    @property
    def no_copy(self) -> bool:
        """Whether no broker may be left that has all acknowledged records and may lead."""
        return self.destroyed and (self.acks == "1" or self.replicas == 1 or self.whole_isr)

    @property
    def given_altered(self) -> bool:
        """Whether a consumer may have been given a record that had changed on disk."""
        return self.altered and not self.checks_crcs

    @property
    def given_aborted(self) -> bool:
        """Whether consumers are given the records of aborted transactions."""
        return self.transactional and self.uncommitted

    @property
    def cut_short(self) -> bool:
        """Whether a group's member may have stopped, or lost its coordinator, at any moment."""
        return self.members_died or self.disturbed

    @property
    def log_may_shrink(self) -> bool:
        """Whether replicas may drop records that consumers were already given."""
        return self.deposed and (self.unclean or not self.epochs)


def facts_of(
    scenario: Mapping[str, Any],
    server: Mapping[str, Any],
    happened: Happened | None = None,
    *,
    unknown_did_all: bool = False,
) -> Facts:
    """The facts in a resolved scenario, its brokers' settings, and what happened; of faults of
    which it is not known what they can do, nothing, or as if they had done everything."""
    work, topic = scenario["workload"], scenario["topic"]
    producer, consumer = work["producer"], work.get("consumer", {})
    happened = happened or Happened()
    did = done(happened, unknown_did_all=unknown_did_all)

    def ever(key: str, default: str) -> list[str]:
        """The values in force at one time or another: the topic's goes before the broker's."""
        brokers = BROKER_KEY.get(key, key)
        first = topic["config"].get(key, server.get(brokers, default))
        names = {key} if key in topic["config"] else {key, brokers}
        return [str(first), *(each[name] for each in did.settings for name in names & each.keys())]

    return Facts(
        acks=acks_of(producer),
        retries=retries_of(producer),
        idempotent=_true(producer.get("enable.idempotence", False)),
        replicas=int(topic["replication_factor"]),
        unclean=any(_true(value) for value in ever("unclean.leader.election.enable", "false")),
        flushed=all(value == "1" for value in ever("flush.messages", "")),
        epochs=_has_epochs(str(server.get("inter.broker.protocol.version", "3.9"))),
        checks_crcs=_true(consumer.get("check.crcs", False)),
        leader_may_move=did.leader_may_move,
        takes=did.takes,
        whole_isr=did.whole_isr,
        altered=did.altered,
        commit=str(work["commit"]) if work.get("group_consumers") else None,
        compared=_true(scenario.get("check", {}).get("replicas", False)),
        watched=_true(scenario.get("check", {}).get("watermarks", False)),
        members_died=happened.members_died,
        disturbed=did.disturbed,
        transactional="transactional.id" in producer,
        uncommitted=consumer.get("isolation.level") == "read_uncommitted",
    )


def _true(value: object) -> bool:
    return str(value).lower() == "true"


def _has_epochs(version: str) -> bool:
    """Whether an inter.broker.protocol.version has leader epochs: "0.10.2-IV0", "3.9"."""
    numbers = tuple(int(part) for part in version.split("-", 1)[0].split(".")[:2])
    return numbers >= FIRST_WITH_EPOCHS
