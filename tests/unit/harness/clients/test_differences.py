"""Where the Java client and librdkafka differ, and what is said of it."""

from __future__ import annotations

import pytest

from harness.clients.defaults import CLIENTS, Asked, layer_config
from harness.clients.differences import differences
from harness.clients.java_keys import ROLES
from harness.clients.librdkafka import complaint_of_librdkafka
from harness.clients.user_file import read
from tests.support.config_files import Write


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("delivery.timeout.ms=20000\n", True),  # request.timeout.ms is 30000 unless set
        ("delivery.timeout.ms=20000\nrequest.timeout.ms=19990\nlinger.ms=11\n", True),
        ("delivery.timeout.ms=20000\nrequest.timeout.ms=19990\nlinger.ms=10\n", False),
        ("request.timeout.ms=200000\n", False),  # the default of delivery is raised
        ("message.timeout.ms=20000\n", False),  # librdkafka does not ask
    ],
)
def test_what_a_java_producer_would_not_start_with_is_said(
    written: Write, text: str, said: bool
) -> None:
    notes = read(written(text), "producer").notes

    assert said == any("line 1: delivery.timeout.ms=20000 is below" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("max.poll.interval.ms=2147483647\n", "max.poll.interval.ms", "86400000"),
        ("fetch.min.bytes=0\n", "fetch.min.bytes", "1"),
        (
            "partition.assignment.strategy={0}RangeAssignor,{0}CooperativeStickyAssignor\n",
            "",
            "range",
        ),
        ("partition.assignment.strategy={0}CooperativeStickyAssignor\n", "", "cooperative-sticky"),
    ],
)
def test_what_java_takes_and_librdkafka_does_not_becomes_its_nearest(
    written: Write, text: str, name: str, value: str
) -> None:
    name = name or "partition.assignment.strategy"
    file = read(written(text.format("org.apache.kafka.clients.consumer.")), "consumer")

    assert file.config[name] == value
    assert any(f"becomes librdkafka's {name}={value}" in note for note in file.notes)


def test_a_level_of_compression_is_clamped_with_a_note(written: Write) -> None:
    file = read(written("compression.type=zstd\ncompression.zstd.level=22\n"), "producer")

    assert file.config["compression.level"] == "12"
    assert any("level=22 becomes librdkafka's compression.level=12" in each for each in file.notes)


def test_two_names_of_one_setting_are_told(written: Write) -> None:
    file = read(written("acks=1\nlinger.ms=5\nrequest.required.acks=all\n"), "producer")

    assert file.config["acks"] == "all"
    (note,) = [note for note in file.notes if "replaces" in note]
    assert "line 3: request.required.acks replaces acks of line 1: both are acks" in note


def test_what_java_s_consumer_does_not_start_with_is_told(written: Write) -> None:
    def told(text: str) -> int:
        return sum("does not start" in note for note in read(written(text), "consumer").notes)

    assert 1 == told("heartbeat.interval.ms=8000\nsession.timeout.ms=8000\n")
    assert 0 == told("heartbeat.interval.ms=7999\nsession.timeout.ms=8000\n")
    assert 1 == told("heartbeat.interval.ms=45000\n")


# --- the two clients' defaults


def test_differences_show_both_defaults_and_what_was_used() -> None:
    asked = {"acks": "all", "linger.ms": 20, "enable.idempotence": False}
    used = layer_config("producer", Asked(scenario=asked)).config
    rows = {row["key"]: row for row in differences(used, "producer")}

    expected = {"java_default": "0", "librdkafka_default": "5", "used": "20"}
    assert {"client": "producer", "key": "linger.ms", **expected} == rows["linger.ms"]
    assert rows["enable.idempotence"]["used"] == "false"
    assert "acks" not in rows  # the same in both: no difference to show


def test_differences_are_in_javas_units_and_under_any_alias() -> None:
    used = {"queue.buffering.max.kbytes": 1024, "delivery.timeout.ms": 7, "max.in.flight": 2}
    rows = {row["key"]: row["used"] for row in differences(used, "producer")}

    assert rows["buffer.memory"] == "1048576"
    assert rows["delivery.timeout.ms"] == "7"
    assert rows["max.in.flight.requests.per.connection"] == "2"


def test_the_isolation_level_is_among_the_consumers_differences() -> None:
    rows = {
        row["key"]: row for row in differences(layer_config("consumer", Asked()).config, "consumer")
    }

    assert rows["isolation.level"]["java_default"] == "read_uncommitted"
    assert rows["isolation.level"]["librdkafka_default"] == "read_committed"


def test_the_harness_s_own_configurations_are_accepted_by_librdkafka() -> None:
    for role in ROLES:
        for client in CLIENTS:
            for asked in (Asked(client=client), Asked(client=client, file={})):
                config = layer_config(role, asked).config
                assert complaint_of_librdkafka(config, role) is None
