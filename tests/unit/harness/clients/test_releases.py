"""The defaults of each client and release, as Kafka's and librdkafka's own documents have them."""

from __future__ import annotations

import re

import pytest

from harness.clients.releases import client_of

SAFE = {"acks": "all", "enable.idempotence": "true"}
UNSAFE = {"acks": "1", "enable.idempotence": "false"}
FORGOTTEN = {"acks": "all", "enable.idempotence": "false"}  # KAFKA-13598


@pytest.mark.parametrize(
    ("client", "producer"),
    [
        ("java", SAFE),
        ("4.3.1", SAFE),
        ("3.0", SAFE),
        ("3.0.0", FORGOTTEN),
        ("3.0.1", SAFE),
        ("3.1.0", FORGOTTEN),
        ("3.1.1", SAFE),
        ("2.8", UNSAFE),
        ("2.0", {**UNSAFE, "retries": "0"}),
        ("2.1", {**UNSAFE, "retries": "2147483647"}),
        ("librdkafka", FORGOTTEN),
    ],
)
def test_a_producer_has_what_its_client_gives_it(client: str, producer: dict[str, str]) -> None:
    assert producer.items() <= client_of(client).config("producer", {}).items()


@pytest.mark.parametrize("client", ["java", "2.8"])
def test_java_s_consumers_read_what_is_not_committed_and_check_crcs(client: str) -> None:
    config = client_of(client).config("consumer", {})

    assert config == {"isolation.level": "read_uncommitted", "check.crcs": "true"}


def test_librdkafka_s_do_neither() -> None:
    config = client_of("librdkafka").config("consumer", {})

    assert config == {"isolation.level": "read_committed", "check.crcs": "false"}


@pytest.mark.parametrize(
    "told",
    [
        {"acks": "1"},
        {"request.required.acks": 0},
        {"retries": 0},
        {"max.in.flight.requests.per.connection": 6},
    ],
)
def test_who_asks_for_what_idempotence_excludes_is_not_idempotent(told: dict[str, object]) -> None:
    assert client_of("java").config("producer", told)["enable.idempotence"] == "false"


def test_what_is_told_holds() -> None:
    config = client_of("2.8").config("producer", {"acks": "all", "enable.idempotence": True})

    assert (config["acks"], config["enable.idempotence"]) == ("all", True)


@pytest.mark.parametrize("told", ["3", "0.10", "sarama", "", "v2.8"])
def test_any_other_is_refused_with_what_there_is(told: str) -> None:
    wanted = 'give true or "java", a release of Kafka from 0.11 on, as "2.8", or "librdkafka"'
    with pytest.raises(ValueError, match=re.escape(wanted)):
        client_of(told)
