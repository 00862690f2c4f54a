"""Environments of Compose services, and env files."""

from __future__ import annotations

import pytest

from harness.config_files.settings import ConfigFileError
from tests.support.config_files import Read, plain

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
    taken = f"{value} is 2 (line 1): no other file and no environment" in str(file.notes)
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
    alone = "services: {a: {env_file: x}, init: {environment: {KAFKA_ACKS: 1}}}\n"
    assert "env_file of the service a" in str(read("compose.yml", alone, "server").wrong)
    two = "{environment: {KAFKA_NODE_ID: 1}}, b: {environment: {KAFKA_NODE_ID: 2}, env_file: x}"
    with pytest.raises(ConfigFileError, match="several brokers"):
        read("compose.yml", f"services: {{a: {two}}}\n", "server")


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("command: [kafka-server-start.sh, a, --override, min.insync.replicas=2]", "command"),
        ("entrypoint: java --spring.kafka.producer.acks=1 -jar app.jar", "entrypoint"),
        ("command: kafka-server-start.sh a", None),
    ],
)
def test_a_command_that_sets_more_is_asked_for(read: Read, more: str, wrong: str | None) -> None:
    text = f"services:\n  a:\n    environment: {{KAFKA_NODE_ID: 1}}\n    {more}\n"
    told = read("compose.yml", text, "server").wrong

    assert (wrong is None) == (told == ())
    assert wrong is None or f"line 4: {wrong} of the service a is not read" in told[0]


@pytest.mark.parametrize(
    ("variable", "is_wrong"),
    [
        ('SPRING_APPLICATION_JSON={"spring":{"kafka":{"producer":{"acks":"0"}}}}', True),
        ("JAVA_TOOL_OPTIONS=-Xmx1g -Dspring.kafka.producer.acks=0", True),
        ("JAVA_TOOL_OPTIONS=-Xmx1g", False),
        ("JAVA_OPTS=-Dspring.profiles.active=prod", False),  # but told
        ("SPRING_PROFILES_ACTIVE=prod", False),
    ],
)
def test_a_variable_that_holds_settings_is_asked_for(
    read: Read, variable: str, is_wrong: bool
) -> None:
    text = f"SPRING_KAFKA_PRODUCER_RETRIES=5\n{variable}\n"

    file = read("app.env", text, "producer")

    assert is_wrong == ("line 2: " in str(file.wrong))
    assert ("active=prod" in variable.lower()) == ("line 2: " in str(file.notes))


@pytest.mark.parametrize("name", ["f", "f.YML", "f.json", "f.conf"])
def test_yaml_is_known_by_what_it_says(read: Read, name: str) -> None:
    text = '{"services": {"a": {"environment": {"KAFKA_NODE_ID": "1"}}}}'

    assert {"node.id": "1"} == plain(read(name, text, "server"))
    assert {"node.id": "1"} == plain(read("f.properties", "node.id: 1\n", "server"))


def test_an_application_beside_its_broker_is_the_client(read: Read) -> None:
    text = """
services:
  app: {environment: {KAFKA_BOOTSTRAP_SERVERS: "kafka:9092", KAFKA_ACKS: 1}}
  kafka: {environment: {KAFKA_NODE_ID: 1, KAFKA_PROCESS_ROLES: "broker,controller"}}
"""
    assert plain(read("compose.yml", text, "producer"))["acks"] == "1"


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
