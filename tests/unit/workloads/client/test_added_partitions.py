"""Partitions that are added during a run: used where the SPEC says so, once each has a leader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from analysis.stored.stored_run import partitions_used
from harness.waiting import wait_until
from workloads.client import records
from workloads.client.records import Partitions
from workloads.worker import Spec

SPEC = Spec(
    run_id="r", process="p", history=Path(), topic="t", partitions=1, config={}, limit_s=1.0
)


class Producer:
    """Answers in turn with the partitions' leaders, None: with an error; the last holds."""

    def __init__(self, *answers: dict[int, int] | None) -> None:
        self.answers, self.asked = list(answers), 0

    def list_topics(self, topic: str, timeout: float) -> Any:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if answer is None:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        led = {number: SimpleNamespace(leader=leader) for number, leader in answer.items()}
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=led)})


def test_new_partitions_count_once_each_has_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "ASK_EVERY_S", 0.001)
    producer = Producer({0: 1}, None, {0: 1, 1: -1, 2: 3}, {0: 1, 1: 2, 2: 3}, {0: 1, 1: 2})

    with Partitions(replace(SPEC, use_added_partitions=True), lambda: producer) as partitions:
        wait_until(lambda: producer.asked > 5, timeout_s=30, what="answers", every_s=0.001)

    assert partitions.count == 3


def test_one_without_a_leader_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "ASK_EVERY_S", 0.001)
    producer = Producer({0: 1, 1: -1, 2: 3})

    with Partitions(replace(SPEC, use_added_partitions=True), lambda: producer) as partitions:
        wait_until(lambda: producer.asked > 2, timeout_s=30, what="answers", every_s=0.001)

    assert partitions.count == 1


def test_without_the_key_nobody_asks() -> None:
    producer = Producer({0: 1, 1: 2})
    with Partitions(SPEC, lambda: producer) as partitions:
        pass

    assert (partitions.count, producer.asked) == (1, 0)


@pytest.mark.parametrize(
    ("uses", "nodes", "partitions"), [(True, ["kafka1"], 4), (False, ["kafka1"], 1), (True, [], 1)]
)
def test_a_stored_run_has_those_that_a_fault_added(
    uses: bool, nodes: list[str], partitions: int
) -> None:
    record = {
        "scenario": {"topic": {"partitions": 1}, "workload": {"use_added_partitions": uses}},
        "plan": [{"step": 0, "effects": {"adds_partitions": 3}}, {"step": 1, "effects": None}],
    }
    faults: Any = [{"step": 0, "nodes": nodes}, {"step": 1, "nodes": ["kafka1"]}]

    assert partitions_used(record, faults) == partitions
