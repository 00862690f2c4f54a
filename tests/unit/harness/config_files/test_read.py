"""Configuration files in the forms that people have them in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config_files.read import read_config_file
from harness.config_files.settings import ConfigFileError, FileSettings, Whose

Read = Callable[..., FileSettings]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a file of that name, and read it."""

    def written(name: str, text: str, whose: Whose, choice: str = "") -> FileSettings:
        path = tmp_path / name
        path.write_text(text)
        return read_config_file(Path(f"{path}:{choice}") if choice else path, whose)

    return written


def plain(file: FileSettings) -> dict[str, str]:
    return {each.key: each.value for each in file.settings}


def test_of_a_repeated_key_the_last_line_counts_with_a_note(read: Read) -> None:
    file = read("a.properties", "acks=1\nretries=3\nacks=all\n", "producer")

    assert plain(file) == {"retries": "3", "acks": "all"}
    (note,) = file.notes
    assert "a.properties, line 3: acks replaces that of line 1: the last line of a rep" in note


# Spring

SPRING = """
spring:
  application: {name: orders}
  kafka:
    properties: {client.dns.lookup: use_all_dns_ips, acks: "0", linger.ms: 9}
    bootstrap-servers: ${NOBODY_KNOWS}
    producer:
      acks: 1
      batchSize: 64KB
      transaction-id-prefix: ${spring.application.name}-${STAGE:dev}-
      properties: {linger.ms: 5, "[max.request.size]": 2000}
    consumer:
      auto_offset_reset: earliest
      fetch-max-wait: 5s
      max-poll-interval: PT1M
      isolation-level: READ_COMMITTED
      enable-auto-commit: off
    listener: {ack-mode: MANUAL}
"""


def test_spring_s_own_names_win_over_common_properties_and_lose_to_their_own(read: Read) -> None:
    producer = read("application.yml", SPRING, "producer")

    expected = {
        "client.dns.lookup": "use_all_dns_ips",
        "acks": "1",
        "batch.size": "65536",
        "transactional.id": "orders-dev-",
        "linger.ms": "5",
        "max.request.size": "2000",
    }
    addresses = plain(producer).pop("bootstrap.servers")
    assert {**expected, "bootstrap.servers": addresses} == plain(producer)
    problems = {each.key: each.problem for each in producer.settings if each.problem}
    assert ["bootstrap.servers"] == list(problems)  # matters only to who uses it
    assert "${NOBODY_KNOWS} stands nowhere in the file, and has no def" in str(problems)
    assert "spring.kafka.listener.ack-mode (Spring's own)" in producer.notes[0]
    (acks,) = (each for each in producer.settings if each.key == "acks")
    assert (acks.line, acks.told) == (8, "spring.kafka.producer.acks (acks)")


def test_spring_s_durations_and_words_become_kafka_s(read: Read) -> None:
    expected = {
        "auto.offset.reset": "earliest",
        "fetch.max.wait.ms": "5000",
        "max.poll.interval.ms": "60000",
        "isolation.level": "read_committed",
        "enable.auto.commit": "off",  # a text stays one: whoever knows the type refuses it
    }
    assert expected.items() <= plain(read("application.yml", SPRING, "consumer")).items()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spring.kafka.producer.batch_size=1MB\n", {"batch.size": "1048576"}),
        ("spring.kafka.producer.properties[acks]=1\n", {"acks": "1"}),
        ("SPRING_KAFKA_PRODUCER_BATCHSIZE=7\n", {"batch.size": "7"}),
        (
            "SPRING_KAFKA_PRODUCER_PROPERTIES_DELIVERY_TIMEOUT_MS=9\n",
            {"delivery.timeout.ms": "9"},
        ),
        ("spring.kafka.producer.ssl.key-password=x\n", {"ssl.key-password": "x"}),
    ],
)
def test_spring_s_names_are_relaxed(read: Read, text: str, expected: dict[str, str]) -> None:
    assert expected == plain(read("app.properties", text, "producer"))


def test_a_key_that_spring_passes_over_is_wrong_with_the_name_that_it_takes(read: Read) -> None:
    text = "spring.kafka.producer.acks=1\nspring.kafka.producer.linger-ms=5\n"
    (wrong,) = read("application.properties", text, "producer").wrong

    assert "line 2: spring.kafka.producer.linger-ms is not a key of Spring's: write " in wrong
    assert "spring.kafka.producer.properties.linger.ms" in wrong


PROFILES = (
    "spring.kafka.producer.acks=all\n#---\n"
    "spring.config.activate.on-profile=dev\nspring.kafka.producer.acks=1\n#---\n"
    "spring.config.activate.on-profile=!dev & prod\nspring.kafka.producer.retries=9\n"
)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("default", {"acks": "all"}),
        ("dev", {"acks": "1"}),
        ("prod", {"acks": "all", "retries": "9"}),
    ],
)
def test_a_profile_is_chosen_by_its_name(
    read: Read, profile: str, expected: dict[str, str]
) -> None:
    assert expected == plain(read("application.properties", PROFILES, "producer", profile))


# Environments

COMPOSE = """
x-kafka: &kafka
  KAFKA_MIN_INSYNC_REPLICAS: 2
  KAFKA_HEAP_OPTS: -Xmx1g
services:
  kafka1:
    environment: {<<: *kafka, KAFKA_NODE_ID: 1, KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE: "${U:-true}"}
  kafka2:
    environment: {<<: *kafka, KAFKA_NODE_ID: 2, KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE: "true"}
  controller:
    environment: [KAFKA_PROCESS_ROLES=controller, KAFKA_NODE_ID=9]
  ui:
    environment: {KAFKA_CLUSTERS_0_NAME: local}
  orders:
    environment:
      - SPRING_KAFKA_PRODUCER_ACKS=1
"""


def test_brokers_that_differ_in_ids_alone_are_one(read: Read) -> None:
    file = read("docker-compose.yml", COMPOSE, "server")

    expected = {"min.insync.replicas": "2", "node.id": "1"}
    assert {**expected, "unclean.leader.election.enable": "true"} == plain(file)
    assert file.notes[0].endswith(
        ": 3 keys from environment of the service kafka1; not read: KAFKA_HEAP_OPTS (of the image)"
    )
    assert {"acks": "1"} == plain(read("docker-compose.yml", COMPOSE, "producer", "orders"))


def test_brokers_that_differ_in_more_are_listed_and_one_is_chosen(read: Read) -> None:
    text = COMPOSE.replace('NODE_ID: 2, KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE: "true"', "NODE_ID: 2")

    with pytest.raises(ConfigFileError, match=r"several brokers.*compose\.yml:kafka1, .*:kafka2"):
        read("docker-compose.yml", text, "server")
    assert {"min.insync.replicas": "2", "node.id": "2"} == plain(
        read("docker-compose.yml", text, "server", "kafka2")
    )
    with pytest.raises(ConfigFileError, match=r"nothing called kafka3 \(did you mean 'kafka[12]'"):
        read("docker-compose.yml", text, "server", "kafka3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# ours\nexport KAFKA_MIN_INSYNC_REPLICAS='2'\n", {"min.insync.replicas": "2"}),
        ("KAFKA_A__B___C=1\n", {"a-b_c": "1"}),
        ("KAFKA_CFG_NUM_IO_THREADS=3\nKAFKA_BROKER_ID=4\n", {"num.io.threads": "3"}),
        ("N=3\nKAFKA_NUM_IO_THREADS=${N}\nKAFKA_JMX_PORT=1\n", {"num.io.threads": "3"}),
    ],
)
def test_an_env_file_has_a_variable_a_line(read: Read, text: str, expected: dict[str, str]) -> None:
    assert expected == plain(read("kafka.env", text, "server"))


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


# What is none of these


@pytest.mark.parametrize(
    ("name", "text", "whose", "why"),
    [
        ("a.yml", "acks: 1\n", "producer", "says nothing of a producer in a form that is known"),
        ("a.yml", "acks: [1\n", "producer", "line 2: not YAML"),
        ("a.yml", "a: 1\nb: 2\na: 3\n", "server", "line 3: a is set in line 1 already"),
        ("a.yml", "services: {a: {environment: {KAFKA_A: [1]}}}\n", "server", "is no text"),
        ("a.yml", "services: {a: {image: x}}\n", "server", "has no settings of a broker"),
        ("a.yml", "a: &a [*a]\n", "server", "this anchor contains itself"),
        ("a.yml", "a: {{ x }}\n", "server", "this key is no text"),
        ("a.yml", STRIMZI, "producer", "a resource of Strimzi has no producer's settings"),
        ("application.properties", PROFILES, "producer", "several producers"),
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
