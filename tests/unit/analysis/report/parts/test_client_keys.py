"""A setting that stands under the Java client's name is told by librdkafka's name as well."""

from __future__ import annotations

from analysis.report.parts.client_keys import NAMES, whose
from harness.clients.java_keys import KEYS


def test_the_names_are_those_by_which_configurations_are_translated() -> None:
    translated = {
        key.java: key.librdkafka[-1]
        for keys in KEYS.values()
        for key in keys
        if key.librdkafka[-1] != key.java
    }

    assert translated == NAMES


def test_what_has_one_name_is_told_by_its_client_alone() -> None:
    assert whose("linger.ms", "producer") == "producer"
    assert whose("request.timeout.ms", "consumer") == "consumer; librdkafka’s socket.timeout.ms"


def test_a_name_that_means_something_else_in_librdkafka_says_which_of_the_two_it_is() -> None:
    told = whose("request.timeout.ms", "producer")

    assert told == "producer; librdkafka’s socket.timeout.ms, not its own request.timeout.ms"
