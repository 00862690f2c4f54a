"""--set: values, paths, and what is told where it sets nothing."""

from __future__ import annotations

import pytest

from harness.model.scenario import ScenarioError
from harness.scenario.file import read_scenario
from harness.scenario.overrides import parse_override


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("workload.rounds=100", ("workload.rounds", 100)),
        ("topic.leader=controller", ("topic.leader", "controller")),
        ('workload.producer.acks="1"', ("workload.producer.acks", "1")),
        ("a.b=true", ("a.b", True)),
    ],
)
def test_settings_are_toml_values_or_plain_words(text, expected):
    assert expected == parse_override(text)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("acks=all", "that is a producer's key: write --set producer.acks=all"),
        ("isolation.level=read_committed", "write --set consumer.isolation.level=read_committed"),
        ("rate=5", "that is a key of [workload]: write --set workload.rate=5"),
        ("server.num.io.threads=3", "write --set cluster.server.num.io.threads=3"),
        ("min.insync.replicas=2", "put topic.config. (a topic's key of Kafka), cluster.server."),
        ("producr.acks=1", "unknown key producr (did you mean 'producer'?)"),
        ("worklod.rate=1", "unknown key worklod (did you mean 'workload'?)"),
        ("expect.lost=0", "write --set 'expect.lost=\"0\"'"),
        ("workload.raunds=3", "did you mean 'workload.rounds'?"),
    ],
)
def test_a_setting_without_its_section_or_quotes_is_told_with_them(text, right):
    with pytest.raises(ScenarioError) as refused:
        read_scenario("study-1", dict([parse_override(text)]))

    assert right in str(refused.value)


def test_settings_reach_dotted_keys_of_kafka_and_entries_of_lists():
    loaded = read_scenario(
        "study-1",
        {
            "cluster.server.log.flush.interval.messages": 1,
            "faults.0.times": 2,
            "workload.producer.linger.ms": 5,
        },
    )

    assert loaded.cluster.server["log.flush.interval.messages"] == 1
    assert loaded.faults[0].times == 2
    assert loaded.workload.producer["linger.ms"] == 5


@pytest.mark.parametrize("text", ["workload.rounds", "=3", "faults.7.verb=kill"])
def test_settings_that_lead_nowhere_are_refused(text):
    with pytest.raises(ScenarioError):
        read_scenario("study-1", dict([parse_override(text)]))
