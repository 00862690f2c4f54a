"""Builds each worker's SPEC.json from scenario, run folder and nodes; pure.

A SPEC holds the whole workload and what one worker has of its own; every worker takes the keys that
it knows (workloads/worker.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.clients import defaults
from harness.cluster.nodes import Node, brokers
from harness.cluster.view.coordinators import Coordinated
from harness.model.plan import Step
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import Scenario
from harness.model.sections.members import MemberPart
from harness.model.sections.programs import OutputsPart
from harness.model.sections.workload import sizes_of
from harness.model.worker_kinds import (
    FINAL_READ,
    FIRST_OUTPUT,
    KINDS,
    OUTPUT_READER,
    WorkerKind,
    asked_for,
    has_group,
)
from harness.run.application.placeholders import filled, placeholders

Spec = dict[str, Any]
_NOT_A_WORKERS = {"kind", "producer", "consumer", "dies", "value_bytes", "members"}
LARGEST_BATCH = 1_048_588  # Kafka's default of message.max.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Specs:
    """The SPECs of one run's workers; `leader` leads the first partition at the start."""

    scenario: Scenario
    seed: int
    folder: RunFolder
    nodes: Sequence[Node]
    leader: str | None
    refusals_stand: bool = False  # see refusals_stand

    def of_load(self, limit_s: float) -> Iterator[tuple[WorkerKind, Spec]]:
        """The SPEC of each worker that the scenario asks for; each ends by itself after
        `limit_s`."""
        senders = 0
        for name, count in asked_for(self.scenario.workload).items():
            for number in range(count):
                yield KINDS[name], self._of(KINDS[name], number, senders, limit_s)
                senders += KINDS[name].sends

    def of_final_read(self, limit_s: float, partitions: int) -> Spec:
        """The SPEC of the reader after the load, of so many partitions."""
        return {**self._of(FINAL_READ, 0, 0, limit_s), "partitions": partitions}

    def of_outputs(self, outputs: OutputsPart, limit_s: float) -> Spec:
        """The SPEC of the reader of programs' outputs."""
        spec, topic = self._of(OUTPUT_READER, 0, 0, limit_s), self.scenario.topic
        values = placeholders(self.scenario, self.nodes)
        config = {**spec["config"], "isolation.level": "read_committed"}
        return {
            **spec,
            **outputs.model_dump(include={"id", "group", "drain_s", "quiet_s"}),
            "command": [filled(word, values) for word in outputs.command],
            "topic": outputs.topic or topic.name,
            "partitions": outputs.partitions if outputs.topic else topic.partitions,
            "inputs": topic.name,
            "input_partitions": topic.partitions,
            "transactional": "transactional.id" in self.scenario.workload.producer,
            "config": {**config, "auto.offset.reset": "earliest"},
        }

    def _of(self, kind: WorkerKind, number: int, index: int, limit_s: float) -> Spec:
        """The SPEC of worker `number` of a kind; it is the `index`th of all that send."""
        work, topic = self.scenario.workload, self.scenario.topic
        own = work.members[number] if kind.member and number < len(work.members) else MemberPart()
        of_consumer = {**work.consumer, **own.consumer}
        config = defaults.worker_config(work.producer if kind.sends else of_consumer, index, number)
        bootstrap = ",".join(node.endpoint for node in brokers(self.nodes))
        spec = {
            "run_id": self.folder.run_id,
            "seed": self.seed,
            "process": f"{kind.name}-{number}",
            "history": str(self.folder.history),
            "topic": topic.name,
            "partitions": topic.partitions,
            "config": {**config, "bootstrap.servers": bootstrap},
            "flush_s": flush_s(self.scenario),
            "limit_s": limit_s,
            **work.model_dump(mode="json", exclude=_NOT_A_WORKERS),
            "sizes": sizes_of(work.value_bytes),
            "refusals_stand": self.refusals_stand,
            "largest_batch": _largest_batch(self.scenario),
        }
        if kind.sends:
            spec["index"] = index if kind.drives else FIRST_OUTPUT + index
        if kind.sends and kind.follows:
            spec["consumer_config"] = self._one_broker(number)
        if kind.sends and kind.member:
            consumer = defaults.worker_config(of_consumer, index, number)
            spec["consumer_config"] = {**consumer, "bootstrap.servers": bootstrap}
            spec["first_output"] = FIRST_OUTPUT
        if kind.member:
            spec |= own.model_dump(exclude={"consumer"})
            spec["group"] = group_of(self.folder)
            spec["dies"] = work.dies[0] if work.dies and number == 0 else ""
        return spec

    def _one_broker(self, number: int) -> dict[str, Any]:
        """The configuration of a consumer that knows a single broker: not the leader, if there is
        another."""
        work, kafkas = self.scenario.workload, brokers(self.nodes)
        follower = next((node for node in kafkas if node.name != self.leader), kafkas[0])
        rack = {"client.rack": follower.name} if work.read_via == "follower" else {}
        consumer = defaults.worker_config(work.consumer, number, number)
        return {**consumer, "bootstrap.servers": follower.endpoint, **rack}


def refusals_stand(plan: Sequence[Step], *, own: bool) -> bool:
    """Whether brokers refuse to the end of a run what they refused once: the cluster is the run's
    `own`, and no step of its plan changes settings, or may."""
    return own and not any(
        step.effects is None or step.effects.may_change_settings for step in plan
    )


def _largest_batch(scenario: Scenario) -> int:
    """The bytes of the largest batch that the topic takes."""
    brokers_take = scenario.cluster.of_brokers.get("message.max.bytes", LARGEST_BATCH)
    return int(scenario.topic.config.get("max.message.bytes", brokers_take))


def flush_s(scenario: Scenario) -> float:
    """How long a send may take, so that the end of each is seen."""
    work = scenario.workload
    waits_ms = work.max_block_ms if work.when_full == "wait" else 0
    return (float(work.producer.get("message.timeout.ms", 30000)) + waits_ms) / 1000 + 5


def group_of(folder: RunFolder) -> str:
    """The run's consumer group."""
    return f"{folder.run_id}/group"


def coordinated(scenario: Scenario, folder: RunFolder) -> dict[Coordinated, str]:
    """The names by which the workload's coordinators are found."""
    work, names = scenario.workload, dict[Coordinated, str]()
    follower = next((name for name in asked_for(work) if KINDS[name].follows), None)
    if has_group(work):
        names["group"] = group_of(folder)
    elif scenario.outputs is not None and scenario.outputs.group:
        names["group"] = scenario.outputs.group
    elif follower:
        names["group"] = str(work.consumer.get("group.id", f"{folder.run_id}/{follower}-0"))
    if first := defaults.transactional_id(work.producer, 0):
        names["transaction"] = first
    return names
