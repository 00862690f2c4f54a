"""Configuration files in the forms that people have them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config_files.read import read_config_file
from harness.config_files.settings import ConfigFileError, Whose
from tests.support.config_files import Read, plain


def test_of_a_repeated_key_the_last_line_counts_with_a_note(read: Read) -> None:
    file = read("a.properties", "acks=1\nretries=3\nacks=all\n", "producer")

    assert plain(file) == {"retries": "3", "acks": "all"}
    (note,) = file.notes
    assert "a.properties, line 3: acks replaces that of line 1: the last line of a rep" in note


# Strimzi

STRIMZI = """
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata: {name: one}
spec:
  kafka: {config: {inter.broker.protocol.version: 3.10, auto.create.topics.enable: on}}
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata: {name: orders}
spec: {partitions: 3, replicas: 2, config: {min.insync.replicas: 2}}
"""


def test_strimzi_s_resources_have_brokers_and_a_topic(read: Read) -> None:
    """Scalars stay texts: 3.10 is no number, `on` no boolean."""
    expected = {"inter.broker.protocol.version": "3.10", "auto.create.topics.enable": "on"}
    assert expected == plain(read("strimzi.yaml", STRIMZI, "server"))
    topic = read("strimzi.yaml", STRIMZI, "topic")
    assert {"partitions": "3", "replicas": "2", "min.insync.replicas": "2"} == plain(topic)
    several = STRIMZI.replace("min.insync.replicas: 2", "cleanup.policy: [compact, delete]")
    listed = plain(read("strimzi.yaml", several, "topic"))
    assert listed["cleanup.policy"] == "compact,delete"


# What is none of these


def test_latin_1_is_read_as_java_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.properties"
    path.write_bytes("client.rack=caf\xe9\r\nacks=1\n".encode("latin-1"))

    read = read_config_file(path, "producer")
    assert plain(read) == {"client.rack": "caf\xe9", "acks": "1"}
    assert read.settings[1].line == 2


@pytest.mark.parametrize(
    ("name", "text", "whose", "why"),
    [
        ("a.yml", "acks: 1\n", "producer", "says nothing of a producer in a form that is known"),
        ("a.yml", "acks: [1\n", "producer", "line 2: not YAML"),
        ("a.yml", "a: 1\nb: 2\na: 3\n", "server", "line 3: a is set in line 1 already"),
        ("a.yml", "services: {a: {environment: {KAFKA_A: [1]}}}\n", "server", "is no text"),
        ("a.yml", "services: {a: {image: x}}\n", "server", "has no settings of a broker"),
        ("a.yml", "a: &a [*a]\n", "server", "this anchor contains itself"),
        ("a.yml", "a: @x@\n", "server", "put the value into quotes"),
        ("a.yml", "a: \0\n", "server", "is not a text file"),
        ("a.yml", "a: \1\n", "server", "not YAML"),
        ("a.yml", "[" * 3000, "server", "too deep to be read"),
        ("a.yml", "a: {{ x }}\n", "server", "this key is no text"),
        ("a.yml", STRIMZI, "producer", "a resource of Strimzi has no producer's settings"),
        ("a.properties", "acks=\\u12\n", "producer", r"line 1: \\u12 is no"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    read: Read, name: str, text: str, whose: Whose, why: str
) -> None:
    with pytest.raises(ConfigFileError, match=why) as refused:
        read(name, text, whose)

    assert name in str(refused.value)


def test_aliases_of_aliases_do_not_fill_the_memory(read: Read) -> None:
    lines = [
        "a0: &a0 [x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)),
    ]

    with pytest.raises(ConfigFileError, match="more than 100,000 values"):
        read("a.yml", "\n".join(lines), "server")


def test_two_of_one_name_are_refused(read: Read) -> None:
    two = STRIMZI + "---" + STRIMZI.replace("replicas: 2, ", "replicas: 3, ")

    with pytest.raises(ConfigFileError, match="several topics that are called orders"):
        read("strimzi.yaml", two, "topic")
