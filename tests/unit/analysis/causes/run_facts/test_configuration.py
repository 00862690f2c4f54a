"""What of a run's configuration decides its promises."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.causes.run_facts.configuration import UNCLEAN, facts_of


@pytest.mark.parametrize(
    ("producer", "expected"),
    [
        ({"acks": "1", "retries": 5}, ("1", 5, False)),
        ({"acks": 1, "retries": "5"}, ("1", 5, False)),
        ({"acks": -1, "enable.idempotence": True}, ("all", 2147483647, True)),
        ({"request.required.acks": "all", "message.send.max.retries": 0}, ("all", 0, False)),
        ({"acks": "0", "enable.idempotence": "false"}, ("0", 2147483647, False)),
    ],
)
def test_facts_of_the_producer(producer: dict[str, Any], expected: tuple[str, int, bool]) -> None:
    facts = facts_of(_scenario(producer=producer), {})

    assert (facts.acks, facts.retries, facts.idempotent) == expected


@pytest.mark.parametrize(
    ("topic", "server", "expected"),
    [
        ({}, {}, False),
        ({}, {UNCLEAN: True}, True),
        ({}, {UNCLEAN: "true"}, True),
        ({UNCLEAN: "false"}, {UNCLEAN: "true"}, False),
        ({UNCLEAN: "true"}, {UNCLEAN: "false"}, True),
    ],
)
def test_the_topics_setting_goes_before_the_brokers(
    topic: dict[str, Any], server: dict[str, Any], expected: bool
) -> None:
    assert facts_of(_scenario(topic=topic), server).unclean is expected


@pytest.mark.parametrize(
    ("version", "epochs"),
    [
        ("0.10.2", False),
        ("0.10.2-IV0", False),
        ("0.11.0", True),
        ("0.11", True),
        ("1.0", True),
        ("3.9-IV0", True),
    ],
)
def test_leader_epochs_came_with_0_11(version: str, epochs: bool) -> None:
    server = {"inter.broker.protocol.version": version}

    assert facts_of(_scenario(), server).epochs is epochs


@pytest.mark.parametrize(
    ("protocol", "stored", "epochs"),
    [("2.8", "0.10.2", False), ("2.8", "0.11.0", True), ("3.0", "0.10.2", True)],
)
def test_logs_keep_leader_epochs_from_their_own_format_on(
    protocol: str, stored: str, epochs: bool
) -> None:
    server = {"inter.broker.protocol.version": protocol}
    brokers, topic = "log.message.format.version", {"message.format.version": stored}

    assert facts_of(_scenario(), {**server, brokers: stored}).epochs is epochs
    assert facts_of(_scenario(topic=topic), {**server, brokers: "2.8"}).epochs is epochs
    assert facts_of(_scenario(), server).epochs


@pytest.mark.parametrize(
    ("level", "given"), [("read_uncommitted", True), ("read_committed", False), (None, False)]
)
def test_who_reads_uncommitted_is_given_what_was_aborted(level: str | None, given: bool) -> None:
    scenario = _scenario(producer={"transactional.id": "t"})
    scenario["workload"]["consumer"] = {"isolation.level": level} if level else {}

    assert facts_of(scenario, {}).uncommitted is given
    assert facts_of(scenario, {}).transactional
    assert not facts_of(_scenario(), {}).transactional


@pytest.mark.parametrize(
    ("configured", "changed", "expected"),
    [("false", "true", True), ("true", "false", True), ("false", "false", False)],
)
def test_a_setting_that_was_changed_counts_as_the_least_safe_value_that_it_had(
    configured: str, changed: str, expected: bool
) -> None:
    scenario = _scenario(topic={UNCLEAN: configured})

    assert facts_of(scenario, {}, [{UNCLEAN: changed}]).unclean is expected


def _scenario(**parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "topic": {"replication_factor": 3, "config": parts.get("topic", {})},
        "workload": {"producer": parts.get("producer", {})},
    }
