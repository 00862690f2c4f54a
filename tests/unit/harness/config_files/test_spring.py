"""Spring's properties and YAML: names, units, profiles."""

from __future__ import annotations

import pytest

from harness.config_files.settings import ConfigFileError
from tests.support.config_files import Read, plain

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
    assert (acks.line, acks.label) == (8, "spring.kafka.producer.acks (acks)")


def test_spring_s_durations_and_words_become_kafka_s(read: Read) -> None:
    expected = {
        "auto.offset.reset": "earliest",
        "fetch.max.wait.ms": "5000",
        "max.poll.interval.ms": "60000",
        "isolation.level": "read_committed",
        "enable.auto.commit": "false",
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
        ("spring.kafka.producer.acks=1\u00a0 \n", {"acks": "1\u00a0"}),  # Kafka refuses it
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
        (
            "producer.idempotence",
            "did you mean spring.kafka.producer.properties.enable.idempotence?",
        ),
        (
            "producer.request-timeout",
            "did you mean spring.kafka.producer.properties.request.timeout.ms",
        ),
        ("producer.linger-ms", "did you mean spring.kafka.producer.properties.linger.ms?"),
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


def test_of_an_application_s_own_key_below_spring_s_a_note_tells(read: Read) -> None:
    text = "spring.kafka.topic.name=orders\nspring.kafka.producer.topic=a\n"
    file = read("application.properties", text + "spring.kafka.my.acks=1\n", "producer")

    own = "not read: spring.kafka.topic.name (the application's), spring.kafka.producer.topic (the"
    assert own in file.notes[0]
    (wrong,) = file.wrong  # it ends in a key of the client's
    assert (
        "line 3: spring.kafka.my.acks is not a key of Spring's: did you mean spring.kafka.p"
        in wrong
    )


def test_yaml_s_booleans_and_numbers_are_java_s_in_spring(read: Read) -> None:
    properties = "{acks: on, linger.ms: 30_000, client.rack: 3.10, a: 'on', b: no}"
    text = f"spring: {{kafka: {{producer: {{properties: {properties}}}}}}}\n"
    expected = {"acks": "true", "linger.ms": "30000", "client.rack": "3.10", "a": "on"}

    assert {**expected, "b": "false"} == plain(read("application.yml", text, "producer"))


def test_of_a_key_in_several_places_of_spring_s_the_nearest_counts_with_a_note(read: Read) -> None:
    text = "spring.kafka.producer.retries=5\nspring.kafka.properties.retries=9\n"
    file = read("application.properties", text, "producer")

    assert plain(file) == {"retries": "5"}
    assert "line 1: spring.kafka.producer.retries (retries) replaces that of line 2" in str(
        file.notes
    )


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


def test_what_is_active_is_chosen_with_its_groups(read: Read) -> None:
    text = """
spring:
  profiles: {active: prod, group: {prod: [kafka-prod]}}
  kafka: {producer: {acks: all}}
---
spring: {config: {activate: {on-profile: kafka-prod}}, kafka: {producer: {acks: 1}}}
---
spring: {config: {activate: {on-profile: dev}}, kafka: {producer: {acks: 0}}}
"""
    file = read("application.yml", text, "producer")

    assert plain(file) == {"acks": "1"}
    assert "line 3: spring.profiles.active=prod: no other file is read" in str(file.notes)
    assert plain(read("application.yml", text, "producer", "dev")) == {"acks": "0"}
    alone = text.replace("active: prod, ", "")
    assert plain(read("application.yml", alone, "producer", "kafka-prod")) == {"acks": "1"}
    with pytest.raises(ConfigFileError, match="several producers"):
        read("application.yml", alone, "producer")


def test_what_is_random_is_the_worker_s_number(read: Read) -> None:
    text = "spring.kafka.producer.transaction-id-prefix=tx-${random.uuid}-\n"
    file = read("application.properties", text, "producer")

    assert plain(file) == {"transactional.id": "tx-{index}-"}
    assert "${random.uuid} is {index} (line 1)" in str(file.notes)


def test_profiles_that_differ_are_listed(read: Read) -> None:
    with pytest.raises(ConfigFileError, match=r"several producers.*properties:default, .*:dev"):
        read("application.properties", PROFILES, "producer")
