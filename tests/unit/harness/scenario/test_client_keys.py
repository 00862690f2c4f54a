"""The keys of [workload.producer] and [workload.consumer]."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.scenario import Scenario
from harness.scenario.client_keys import wrong_keys, wrong_value


def scenario(**clients: Any) -> Scenario:
    return Scenario.model_validate({"title": "t", "workload": {"kind": "stream", **clients}})


@pytest.mark.parametrize(
    ("role", "key", "told"),
    [
        (
            "producer",
            "lingr.ms",
            "is not a key of librdkafka: did you mean workload.producer.linger.ms?",
        ),
        (
            "consumer",
            "fetch.min.byts",
            "is not a key of librdkafka: did you mean workload.consumer.fetch.min.bytes?",
        ),
        ("producer", "xyz", "is not a key of librdkafka: remove it"),
        ("producer", "buffer.memory", "is the Java client's name: use librdkafka's, queue.buffer"),
        ("producer", "fetch.min.bytes", "is a consumer's key: move it to workload.consumer"),
        ("consumer", "linger.ms", "is a producer's key: move it to workload.producer"),
        ("producer", "bootstrap.servers", "because the run's cluster gives the addresses: remove"),
        ("consumer", "group.id", "because the harness names its groups: remove it"),
        ("producer", "statistics.interval.ms", "because the harness needs its own value"),
    ],
)
def test_a_key_that_cannot_be_used_is_one_sentence(role: str, key: str, told: str) -> None:
    (sentence,) = wrong_keys(scenario(**{role: {key: 1}}))

    assert sentence.startswith(f"workload.{role}.{key} ")
    assert told in sentence


def test_all_of_them_are_told() -> None:
    wrong = wrong_keys(scenario(producer={"lingr.ms": 1, "akcs": 1}, consumer={"group.id": "g"}))

    assert ["lingr.ms", "akcs", "group.id"] == [
        each.split()[0].split(".", maxsplit=2)[2] for each in wrong
    ]


def test_a_wrong_value_is_told_with_its_key_and_what_does_not_fit_together_without() -> None:
    wrong = {"acks": "all", "linger.ms": "soon"}
    unfit = {"acks": 1, "enable.idempotence": True}

    told = str(wrong_value("producer", wrong, {}))
    assert told.startswith("workload.producer.linger.ms = 'soon': Invalid value for configuration")
    told = str(wrong_value("producer", unfit, {"acks": "f, line 3", "linger.ms": "f, line 4"}))
    assert told.startswith("workload.producer: `acks` must be")
    assert told.endswith(" (acks=1: f, line 3)")
    assert wrong_value("producer", {"acks": "all", "linger.ms": 5}, {}) is None


def test_a_number_with_a_unit_is_none() -> None:
    """librdkafka reads its first digits without a word."""
    wrong = scenario(producer={"batch.size": "64KB", "linger.ms": "0.5", "transactional.id": "7up"})

    (told,) = wrong_keys(wrong)
    assert told == "workload.producer.batch.size = 64KB: not a number: write it without a unit"


def test_librdkafka_s_own_keys_pass_and_their_values_are_another_matter() -> None:
    """Those are judged with the defaults that a run adds."""
    producer = {"linger.ms": 5, "acks": "all", "queue.buffering.max.kbytes": "many"}

    assert wrong_keys(scenario(producer=producer, consumer={"fetch.wait.max.ms": 5})) == []
