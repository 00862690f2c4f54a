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
        given = Path(f"{path}:{choice}") if choice else path
        return read_config_file(given, whose, ("node.id", "listener."))

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
        ("SPRING_KAFKA_PRODUCER_BATCH_SIZE=8\n", {"batch.size": "8"}),
        ("spring.kafka.producer.acks=${X:-1}\n", {"acks": "-1"}),
        ("spring.kafka.consumer.group-id=g\n", {}),
        (
            "SPRING_KAFKA_PRODUCER_PROPERTIES_DELIVERY_TIMEOUT_MS=9\n",
            {"delivery.timeout.ms": "9"},
        ),
        ("spring.kafka.producer.ssl.key-password=x\n", {"ssl.key-password": "x"}),
    ],
)
def test_spring_s_names_are_relaxed(read: Read, text: str, expected: dict[str, str]) -> None:
    assert expected == plain(read("app.properties", text, "producer"))


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("producer.linger-ms", "write spring.kafka.producer.properties.linger.ms"),
        ("producer.batch.size", "did you mean spring.kafka.producer.batch-size?"),
        ("producers.acks", "did you mean spring.kafka.producer.acks?"),
        ("acks", "did you mean spring.kafka.producer.acks?"),
        ("auto-offset-reset", "did you mean spring.kafka.consumer.auto-offset-reset?"),
    ],
)
def test_a_key_that_spring_passes_over_is_wrong_with_the_name_that_it_takes(
    read: Read, key: str, right: str
) -> None:
    text = f"spring.kafka.producer.acks=1\nspring.kafka.{key}=5\n"
    (wrong,) = read("application.properties", text, "producer").wrong

    assert f"line 2: spring.kafka.{key} is not a key of Spring's: {right}" in wrong


def test_of_a_key_that_spring_s_file_repeats_the_last_counts_with_a_note(read: Read) -> None:
    text = "spring.kafka.producer.acks: 1\nspring: {kafka: {producer: {acks: all}}}\n"
    file = read("application.yml", text, "producer")

    assert plain(file) == {"acks": "all"}
    assert "line 2: spring.kafka.producer.acks replaces that of line 1" in str(file.notes)


PROFILES = (
    "spring.kafka.producer.acks=all\n#---\n"
    "spring.config.activate.on-profile=dev\nspring.kafka.producer.acks=1\n#---\n"
    "spring.config.activate.on-profile=!dev, prod\nspring.kafka.producer.retries=9\n#---\n"
    "spring.config.activate.on-profile=prod & eu\nspring.kafka.producer.acks=0\n#---\n"
    "spring.config.activate.on-cloud-platform=none\nspring.kafka.producer.acks=0\n#---\n"
    "spring.config.import=optional:file:other.yml\n"
)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("default", {"acks": "all", "retries": "9"}),
        ("dev", {"acks": "1"}),
        ("prod", {"acks": "all", "retries": "9"}),
    ],
)
def test_a_profile_is_chosen_by_its_name(
    read: Read, profile: str, expected: dict[str, str]
) -> None:
    file = read("application.properties", PROFILES, "producer", profile)

    assert expected == plain(file)
    untold = ("line 9: spring.config.act", "on-cloud-platform=none: what", "line 15: spring.conf")
    assert all(any(text in note for note in file.notes) for text in untold)


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
        ('tag=7\nKEY="a\nb"\nKAFKA_NUM_IO_THREADS=${M:-$tag}\n', {"num.io.threads": "7"}),
        ("M=\nKAFKA_NUM_IO_THREADS=${M-5}${M:-6}${M:+7}\n", {"num.io.threads": "6"}),
    ],
)
def test_an_env_file_has_a_variable_a_line(read: Read, text: str, expected: dict[str, str]) -> None:
    assert expected == plain(read("kafka.env", text, "server"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${OTHER:-2}", "2"),  # never from the environment that the file makes
        ("${OTHER-2}", "2"),
        ("${OTHER:+2}1", "1"),
        ("$OTHER", "$OTHER stands nowhere"),
        ("${OTHER:?set it}", "stands nowhere"),
        ("${OTHER:2}", "is not a variable"),
        ("$${OTHER:-2}", "${OTHER:-2}"),
    ],
)
def test_compose_fills_in_from_outside_of_the_service(
    read: Read, value: str, expected: str
) -> None:
    text = f'services: {{a: {{environment: {{OTHER: 9, KAFKA_NODE_ID: 1, KAFKA_A: "{value}"}}}}}}\n'
    file = read("compose.yml", text, "server")

    (setting,) = (each for each in file.settings if each.key == "a")
    assert expected in (setting.problem or setting.value)
    taken = f"of {value} (line 1) the default was taken" in str(file.notes)
    assert taken == (value in ("${OTHER:-2}", "${OTHER-2}"))


def test_variables_from_elsewhere_are_asked_for(read: Read) -> None:
    text = """
services:
  a: {environment: {KAFKA_NODE_ID: 1}, env_file: .env, extends: {file: b.yml, service: b}}
  ui: {env_file: .env}
"""
    first, second = read("compose.yml", text, "server").wrong

    assert "compose.yml, line 3: env_file of the service a is not read: write" in first
    assert "line 3: extends of the service a is not read" in second


@pytest.mark.parametrize("name", ["f", "f.YML", "f.json", "f.conf"])
def test_yaml_is_known_by_what_it_says(read: Read, name: str) -> None:
    text = '{"services": {"a": {"environment": {"KAFKA_NODE_ID": "1"}}}}'

    assert {"node.id": "1"} == plain(read(name, text, "server"))
    assert {"node.id": "1"} == plain(read("f.properties", "node.id: 1\n", "server"))


def test_one_is_chosen_by_name_whatever_it_is(read: Read) -> None:
    """A tool beside the brokers; brokers that differ in what nobody uses are one."""
    text = """
services:
  a: {environment: {KAFKA_NODE_ID: 1, KAFKA_PROCESS_ROLES: broker, KAFKA_LISTENER_NAME_A: x}}
  b: {environment: {KAFKA_NODE_ID: 2, KAFKA_PROCESS_ROLES: "broker,controller"}}
  tool: {environment: {KAFKA_ACKS: 1}}
"""
    assert {"acks": "1"} == plain(read("compose.yml", text, "server", "tool"))
    assert "1" == plain(read("compose.yml", text, "server"))["node.id"]


def test_two_of_one_name_are_refused(read: Read) -> None:
    two = STRIMZI + "---" + STRIMZI.replace("replicas: 2, ", "replicas: 3, ")

    with pytest.raises(ConfigFileError, match="several topics that are called orders"):
        read("strimzi.yaml", two, "topic")


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
        ("a.yml", "a: \0\n", "server", "is not a text file"),
        ("a.yml", "a: \1\n", "server", "not YAML"),
        ("a.yml", "[" * 3000, "server", "too deep to be read"),
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
