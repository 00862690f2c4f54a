"""What a compacted topic, and tombstones, ask of the rest of a scenario."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.scenario import Scenario
from harness.model.sections.workload import NO_KEYS


def compacted_by(scenario: Scenario) -> str | None:
    """The setting by which the topic is compacted; None: it is not."""
    brokers, topic = scenario.cluster.of_brokers, scenario.topic.config
    section = "server" if "log.cleanup.policy" in scenario.cluster.server else "broker"
    path, policy = f"cluster.{section}.log.cleanup.policy", brokers.get("log.cleanup.policy")
    if "cleanup.policy" in topic:
        path, policy = "topic.config.cleanup.policy", topic["cleanup.policy"]
    return f"{path} = {policy}" if "compact" in str(policy) else None


def compaction_problems(scenario: Scenario) -> Iterator[str]:
    """What cannot be where the topic is compacted or has tombstones, a sentence each."""
    if scenario.workload.tombstones and not isinstance(scenario.workload.keys, int):
        yield (
            "workload.tombstones: a tombstone deletes what its key had before: set workload.keys "
            "to a number, as in --set workload.keys=1000, or remove workload.tombstones"
        )
    if not (compacted := compacted_by(scenario)):
        return
    if scenario.workload.keys == NO_KEYS:
        yield (
            f"{compacted}: a compacted topic takes no record without a key: set workload.keys, as "
            "in --set workload.keys=1000, or another policy"
        )
    if scenario.workload.transformers:
        yield (
            f"{compacted}: outputs may be deleted before anybody reads them: remove "
            "workload.transformers"
        )
    if scenario.check.replicas:
        yield (
            f"{compacted}: each replica is compacted by itself, so they differ: remove "
            "check.replicas"
        )
