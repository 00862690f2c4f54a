"""Kafka's own keys in a scenario: what this release does not know is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.backends import BACKENDS
from harness.cluster.nodes import ClusterError
from harness.distribution.documented import Documented
from harness.distribution.kafka_home import KafkaHome, KafkaHomeError, find_kafka
from harness.model.scenario import Scenario
from harness.model.sections.image_names import line_in
from harness.scenario.file import checked_scenario, read_scenario, shipped
from harness.scenario.kafka.keys import (
    KeyFindings,
    Section,
    check_keys,
    key_findings,
    other_kafka,
    release_on,
)

KNOWN = {
    "cluster.server": (
        *("num.partitions", "authorizer.class.name", "listener.name.", "listeners"),
        *("config.providers", "ssl.key.password"),
    ),
    "cluster.zoo": ("tickTime", "syncLimit", "ssl."),
    "topic.config": ("retention.ms", "min.insync.replicas"),
}


TYPED = {
    "cluster.server": {
        "num.io.threads": Documented("int", "[1,...]"),
        "metric.reporters": Documented("list"),
    }
}


def found(allow: tuple[str, ...] = (), /, **keys: Any) -> KeyFindings:
    """What is said of keys as in server={"num.partitions": 1}."""
    names = {"server": "cluster.server", "zoo": "cluster.zoo", "topic": "topic.config"}
    sections = tuple(
        Section(
            name=name,
            whose=f"a key of {short}",
            settings=keys.get(short, {}),
            known={**dict.fromkeys(KNOWN[name]), **TYPED.get(name, {})},
            lacking=lambda name: name.startswith("com.none."),
        )
        for short, name in names.items()
    )
    return key_findings(
        sections,
        allow,
        {
            "cluster.server": {
                "from.a.file": "server.properties, line 3: from.a.file",
                "ssl.key.password": "server.properties, line 4: ssl.key.password",
            }
        },
    )


def test_known_keys_pass_without_a_word() -> None:
    known = found(
        server={"num.partitions": 1, "listener.name.x.ssl.keystore.location": "y"},
        zoo={"tickTime": 1, "ssl.trustStore.location": "y"},
        topic={"retention.ms": 1},
    )

    assert known == KeyFindings()


@pytest.mark.parametrize(
    ("section", "key", "told"),
    [
        ("server", "num.partitons", "cluster.server.num.partitons is not a key of server: did you"),
        ("server", "num.patritions", ": did you mean cluster.server.num.partitions?"),
        (
            "zoo",
            "tickTme",
            "cluster.zoo.tickTme is not a key of zoo: did you mean cluster.zoo.tickTime?",
        ),
        ("topic", "retention.mss", "topic.config.retention.mss is not a key of topic: did you"),
        ("server", "from.a.file", "server.properties, line 3: from.a.file is not a key of server:"),
        ("server", "my.key", "cluster.server.my.key is not a key of server: remove it, or name it"),
        ("server", "retention.ms", "is not a key of server: move it to topic.config"),
        ("topic", "num.partitions", "is not a key of topic: move it to cluster.server"),
        ("server", "linger.ms", "but a producer's: move it to workload.producer, or remove it"),
        ("server", "listen.name.x", "is not a key of server"),
        ("zoo", "num.partitions", "move it to cluster.server"),
    ],
)
def test_an_unknown_key_is_refused_with_the_key_and_the_remedy(
    section: str, key: str, told: str
) -> None:
    (sentence,) = found(**{section: {key: 1}}).wrong

    assert told in sentence


def test_all_of_them_are_told() -> None:
    wrong = found(server={"a.b": 1, "c.d": 1}, zoo={"e.f": 1}, topic={"g.h": 1}).wrong

    assert ["a.b", "c.d", "e.f", "g.h"] == [each.split()[0][-3:] for each in wrong]


def test_what_is_allowed_passes_and_a_slip_does_not() -> None:
    allow = ("my.key", "num.partitons")

    assert found(allow, server={"my.key": 1}) == KeyFindings()
    assert found(allow, server={"num.partitons": 1}).wrong
    assert found(allow, server={"my.other": 1}).wrong


def test_beside_a_class_of_the_user_s_own_a_key_passes_with_a_note() -> None:
    plugin = {"authorizer.class.name": "com.acme.Authorizer"}
    own = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}

    passed = found(server={**plugin, "from.a.file": "x", "acme.bootstrap.servers": 1})
    assert passed.wrong == ()
    assert passed.notes == (
        "server.properties, line 3: from.a.file is not a key of server, taken for one of "
        "com.acme.Authorizer",
        "cluster.server.acme.bootstrap.servers is not a key of server, taken for one of "
        "com.acme.Authorizer",
    )
    assert found(server={**own, "acme.host": "x"}).wrong
    assert found(server=plugin, topic={"acme.host": "x"}).wrong  # another section's class
    assert found(server=plugin) == KeyFindings()


@pytest.mark.parametrize(
    "key",
    [
        *("num.partitons", "acks", "spring.kafka.producer.acks", "KAFKA_LINGER_MS", "a.tickTime"),
        *("lingerms", "enableIdempotence", "max.inflight.requests.per.connection"),
        *("min.in.sync.replicas", "queue.buffering.backpressure", "autoofsetreset"),
        *("isolation", "auto.commit", "in.flight", "linger", "compression"),
    ],
)
def test_it_excuses_no_key_that_kafka_knows_nor_a_slip_of_one(key: str) -> None:
    assert found(server={"authorizer.class.name": "com.acme.Authorizer", key: 1}).wrong


def test_values_are_of_the_documented_type_and_range() -> None:
    def told(value: Any, key: str = "num.io.threads") -> str:
        return "; ".join(found(server={key: value}).wrong)

    assert told(3) == ""
    assert told("0") == "cluster.server.num.io.threads = 0: not a value of type int in [1,...]"
    assert "not a value of type int" in told("{{ threads }}")
    assert "${env:X} is a template's" in told("${env:X}", "num.partitions")  # nothing documented
    provided = {"config.providers": "env, file", "num.io.threads": "${env:THREADS}"}
    assert found(server=provided) == KeyFindings()
    assert found(server={**provided, "num.io.threads": "${vault:a:b}"}).wrong
    assert found(server={**provided, "ssl.key.password": "${env:X}"}).wrong  # of a user's file
    assert "class com.none.R is in none of the jars" in told("com.none.R", "metric.reporters")


# With Kafka's own jars


def scenario(**cluster: Any) -> Scenario:
    return checked_scenario({"title": "t", "workload": {"kind": "stream"}, "cluster": cluster})


def on(backend: str, scenario: Scenario) -> KeyFindings:
    return check_keys(scenario, release_on(BACKENDS[backend], scenario, find_kafka), {})


def nowhere() -> KafkaHome:
    raise KafkaHomeError("Kafka has not been fetched yet")


@pytest.mark.jvm
def test_kafka_knows_every_key_of_every_shipped_scenario() -> None:
    told = {name: on("local", read_scenario(name)) for name in shipped()}

    assert told
    assert {} == {name: found for name, found in told.items() if found != KeyFindings()}


@pytest.mark.jvm
@pytest.mark.parametrize("backend", ["local", "docker"])
def test_a_typing_error_is_refused_wherever_the_release_is_known(backend: str) -> None:
    wrong = scenario(server={"num.partitons": 3})

    (sentence,) = on(backend, wrong).wrong
    assert sentence == (
        "cluster.server.num.partitons is not a broker's key of Kafka 3.9.2: "
        "did you mean cluster.server.num.partitions?"
    )


def no_renderer(_: Scenario) -> str:
    raise ClusterError("neither kubectl nor kustomize is on the PATH")


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (lambda _: "acme/kafka:2.8.1", "the image acme/kafka:2.8.1 is not named as one of Kafka"),
        (lambda _: "", "the release of a cluster that is not the harness's own is unknown"),
        (no_renderer, "neither kubectl nor kustomize is on the PATH"),
        (None, "Kafka has not been fetched yet"),
    ],
)
def test_where_the_release_is_unknown_a_note_says_so(image: Any, why: str) -> None:
    elsewhere = dataclasses.replace(BACKENDS["local"], image=image)

    wrong = scenario(server={"num.partitons": 3})
    told = check_keys(wrong, release_on(elsewhere, wrong, nowhere), {})

    assert told.wrong == ()
    (note,) = told.notes
    assert note.startswith("the keys of cluster.server were not checked for typing errors: ")
    assert why in note


def test_without_any_key_nothing_is_asked() -> None:
    release = release_on(BACKENDS["local"], scenario(), nowhere, needed=False)

    assert check_keys(scenario(), release, {}) == KeyFindings()


def test_the_docker_backend_s_image_is_what_its_brokers_are_made_of(tmp_path: Path) -> None:
    image = BACKENDS["docker"].image
    assert image is not None

    assert line_in(image(scenario())) == "3.9"
    assert BACKENDS["local"].image is None


IMAGE_OF_4_4 = {"backend.docker.image": "kafka-harness/kafka:4.4.0"}


@pytest.mark.parametrize(
    ("backend", "own", "why"),
    [
        ("docker", {"kafka": "3.6"}, "is Kafka 3.9: make one with `kafka-harness image"),
        ("kubernetes", {"kafka": "4.4"}, "is Kafka 3.9"),
        ("kubernetes", {"kafka": "3.6"}, "is Kafka 3.9"),
        ("docker", {"kafka": "3.9"}, None),
        ("docker", {"kafka": "4.4"}, None),
        ("docker", IMAGE_OF_4_4, 'is Kafka 4.4: set cluster.kafka = "4.4"'),
        ("docker", {"metadata": "kraft"}, None),
        ("docker", {}, None),
        ("kubernetes", {}, None),
        ("local", {"kafka": "4.4"}, None),
    ],
)
def test_containers_of_another_kafka_are_refused(
    monkeypatch: pytest.MonkeyPatch, backend: str, own: dict[str, str], why: str | None
) -> None:
    """A run would be of the image's Kafka, whatever the scenario says."""
    monkeypatch.delenv("HARNESS_KAFKA_IMAGE", raising=False)
    chosen = BACKENDS[backend]
    if backend == "kubernetes":
        chosen = dataclasses.replace(chosen, image=lambda _: "registry.test/apache/kafka:3.9.2")
    settings = {key if "." in key else f"cluster.{key}": value for key, value in own.items()}
    told = other_kafka(chosen, read_scenario("baseline", settings))

    assert told is None if why is None else why in str(told)


def test_an_image_of_the_release_that_is_asked_for_passes() -> None:
    settings = {"cluster.kafka": "3.6", "backend.docker.image": "kafka-harness/kafka:3.6.2"}

    assert other_kafka(BACKENDS["docker"], read_scenario("baseline", settings)) is None
