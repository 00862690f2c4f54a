"""Runs may stand in one cell if they put the same to the test, whatever the seed drew."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.runs.configuration import digest_of, settings_of
from harness.scenario.prepare import Request, prepare


def digest(seed: int = 1, scenario: str = "study-1", **settings: Any) -> str:
    asked = {key.replace("__", "."): value for key, value in settings.items()}
    return digest_of(prepare(Request(scenario=scenario, seed=seed, settings=asked)).record)


def test_the_seed_and_the_words_change_nothing() -> None:
    assert digest(1) == digest(2)
    assert digest(1) == digest(1, title="another title")
    assert digest(1, scenario="any-node") == digest(2, scenario="any-node")  # its times are drawn


def test_a_key_that_has_its_default_changes_nothing() -> None:
    assert digest() == digest(topic__partitions=1)


@pytest.mark.parametrize(
    "changed",
    [
        {"topic__config": {"min.insync.replicas": 2}},
        {"cluster__server__unclean.leader.election.enable": True},
        {"workload__producer__acks": "all"},
        {"workload__rounds": 9_999},
        {"faults__0__times": 3},
        {"cluster__brokers": 4},
    ],
)
def test_what_reaches_brokers_clients_topic_or_the_plan_does(changed: dict[str, Any]) -> None:
    assert digest() != digest(**changed)


def test_settings_are_told_by_their_paths() -> None:
    record = prepare(Request(scenario="study-1", seed=1)).record

    told = settings_of(record)

    assert told["scenario.workload.producer.acks"] == record.scenario.workload.producer["acks"]
    assert not any(isinstance(value, dict | list) for value in told.values())
