"""What decides loss or duplicates is always set explicitly."""

from __future__ import annotations

import pytest

from harness.clients import defaults

EXPLICIT = (
    "acks",
    "retries",
    "enable.idempotence",
    "max.in.flight.requests.per.connection",
    "linger.ms",
    "message.timeout.ms",
    "request.timeout.ms",
    "compression.type",
)


@pytest.mark.parametrize("key", EXPLICIT)
def test_a_producer_says_what_it_does_even_when_nobody_asked(key):
    assert key in defaults.producer_config({}, {})


def test_the_users_file_wins_over_the_scenario_and_the_scenario_over_the_defaults():
    config = defaults.producer_config({"acks": "1", "linger.ms": 5}, {"linger.ms": 7})

    assert (config["acks"], config["linger.ms"]) == ("1", 7)


def test_a_setting_has_one_name_whoever_writes_it():
    config = defaults.producer_config({"request.required.acks": "1"}, {"max.in.flight": 1})

    assert config["acks"] == "1"
    assert config["max.in.flight.requests.per.connection"] == 1
    assert "request.required.acks" not in config


@pytest.mark.parametrize(
    "asked", [{"acks": "1"}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}]
)
def test_idempotence_gives_way_when_nobody_asked_for_it(asked):
    assert defaults.producer_config({}, {})["enable.idempotence"] is True
    assert defaults.producer_config(asked, {})["enable.idempotence"] is False


def test_each_producer_has_a_transactional_id_of_its_own():
    config = defaults.producer_config({"transactional.id": "shop"}, {})

    ids = [defaults.of_one(config, number)["transactional.id"] for number in (0, 1)]
    assert ids == ["shop-0", "shop-1"] == [defaults.transactional_id(config, n) for n in (0, 1)]
    assert defaults.of_one({"acks": "all"}, 0) == {"acks": "all"}
    assert defaults.transactional_id({}, 0) is None


def test_no_send_may_outlast_its_transaction():
    """librdkafka refuses longer ones; what somebody asked for stays, and is refused later."""
    config = defaults.producer_config(
        {"transactional.id": "t", "transaction.timeout.ms": 5000}, {"socket.timeout.ms": 7000}
    )

    assert (config["message.timeout.ms"], config["socket.timeout.ms"]) == (5000, 7000)
    assert defaults.producer_config({"transactional.id": "t"}, {})["message.timeout.ms"] == 60000
    assert defaults.producer_config({}, {})["message.timeout.ms"] == 120000


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"acks": 1}, "needs acks=all, but acks is 1"),
        ({"request.required.acks": "0"}, "needs acks=all, but acks is 0"),
        ({"retries": 0}, "needs retries > 0"),
        ({"message.send.max.retries": 0}, "needs retries > 0"),
        ({"enable.idempotence": False}, "needs enable.idempotence=true"),
        ({"transactional.id": ""}, "is empty"),
    ],
)
def test_what_rules_transactions_out_is_said_with_its_remedy(more, why):
    problem = defaults.transaction_problem({"transactional.id": "t", **more})

    assert problem is not None
    assert problem.startswith("transactional.id ")
    assert why in problem
    assert (
        defaults.transaction_problem(
            {**more}
            | {
                "transactional.id": "t",
                "acks": -1,
                "retries": 1,
                "enable.idempotence": True,
                "request.required.acks": "all",
                "message.send.max.retries": 1,
            }
        )
        is None
    )
    more.pop("transactional.id", None)
    assert defaults.transaction_problem(more) is None


def test_idempotence_that_was_asked_for_stays_and_is_refused_later():
    config = defaults.producer_config({"acks": "1", "enable.idempotence": True}, {})

    assert config["enable.idempotence"] is True
