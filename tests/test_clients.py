"""What decides loss or duplicates is always set explicitly."""

from __future__ import annotations

import pytest

from harness import clients

EXPLICIT = (
    "acks", "retries", "enable.idempotence", "max.in.flight.requests.per.connection",
    "linger.ms", "message.timeout.ms", "request.timeout.ms", "compression.type",
)  # fmt: skip


@pytest.mark.parametrize("key", EXPLICIT)
def test_a_producer_says_what_it_does_even_when_nobody_asked(key):
    assert key in clients.producer_config({}, {})


def test_the_users_file_wins_over_the_scenario_and_the_scenario_over_the_defaults():
    config = clients.producer_config({"acks": "1", "linger.ms": 5}, {"linger.ms": 7})

    assert (config["acks"], config["linger.ms"]) == ("1", 7)


def test_a_setting_has_one_name_whoever_writes_it():
    config = clients.producer_config({"request.required.acks": "1"}, {"max.in.flight": 1})

    assert config["acks"] == "1"
    assert config["max.in.flight.requests.per.connection"] == 1
    assert "request.required.acks" not in config


@pytest.mark.parametrize(
    "asked", [{"acks": "1"}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}]
)
def test_idempotence_gives_way_when_nobody_asked_for_it(asked):
    assert clients.producer_config({}, {})["enable.idempotence"] is True
    assert clients.producer_config(asked, {})["enable.idempotence"] is False


def test_idempotence_that_was_asked_for_stays_and_is_refused_later():
    config = clients.producer_config({"acks": "1", "enable.idempotence": True}, {})

    assert config["enable.idempotence"] is True
