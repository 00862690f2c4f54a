"""TLS and SASL from a user's file: both clients' names, the environment, and no value in a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.cluster import client_security
from harness.cluster.external.backend import refuses
from harness.config_files.settings import ConfigFileError
from harness.model.scenario import Scenario, ScenarioError
from harness.scenario.file import checked_scenario, read_scenario

LIBRDKAFKA = """security.protocol=sasl_ssl
sasl.mechanisms=PLAIN
sasl.username=me
sasl.password=${WORD}
ssl.ca.location=ca.pem
"""
JAVA = """security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="me" password="${env:WORD}";
ssl.truststore.type=PEM
ssl.truststore.location=ca.pem
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


@pytest.mark.parametrize("text", [LIBRDKAFKA, JAVA])
def test_both_clients_names_mean_the_same(file, text):
    file.write_text(text)
    told = client_security.read(file, {"WORD": "a=b c"})

    assert told.pop("security.protocol").upper() == "SASL_SSL"
    assert told == {
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "a=b c",
        "ssl.ca.location": "ca.pem",
    }


def test_a_key_store_of_type_pem_is_certificate_and_key(file):
    file.write_text("security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=me.pem\n")

    told = client_security.read(file, {})
    assert (told["ssl.certificate.location"], told["ssl.key.location"]) == ("me.pem", "me.pem")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("security.protocol=SSL\nssl.truststore.location=x.jks\n", "line 2: .*JKS"),
        ("security.protocol=SSL\nssl.keystore.type=JKS\n", "line 2: .* must be PEM"),
        ("security.protocol=TLS\n", "security.protocol must be one of"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\n", "sasl.mechanism must be one of"),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=hidden\n",
            "sasl.password is missing",
        ),
        (
            "sasl.password=${NOT_THERE}\n",
            "line 1: sasl.password uses \\$NOT_THERE, which is not set in the env",
        ),
        ("sasl.jaas.config=com.other.Module required hidden;\n", "sasl.jaas.config is not supp"),
        ("acks=hidden\n", "line 1: acks is not a supported TLS or SASL key"),
    ],
)
def test_what_cannot_be_is_refused_by_key_and_never_by_value(file, text, told):
    file.write_text(text)

    with pytest.raises(ConfigFileError, match=told) as refused:
        client_security.read(file, {})
    assert "hidden" not in str(refused.value)


def scenario(**external: object) -> Scenario:
    return checked_scenario(
        {
            "title": "t",
            "workload": {"kind": "write-read"},
            "backend": {"external": external},
        }
    )


def test_a_cluster_that_is_there_needs_an_address_and_a_file_that_can_be_read(tmp_path):
    there = {"bootstrap": ["h:9092"]}

    assert refuses(scenario(**there)) is None
    for external, told in (
        ({}, "name at least one broker"),
        ({"bootstrap": ["h"]}, "'h' is not host:port"),
        ({**there, "client": str(tmp_path / "none")}, "cannot be read"),
    ):
        assert told in str(refuses(scenario(**external)))


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"cluster": {"server": {"num.io.threads": 1}}}, "cluster.server.num.io.threads"),
        ({"workload": {"kind": "write-read", "read_via": "follower"}}, "read_via"),
    ],
)
def test_what_is_not_ours_is_not_configured(part, told):
    given = scenario(bootstrap=["h:9092"]).model_dump() | part

    assert told in str(refuses(checked_scenario(given)))


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_a_secret_in_a_scenario_is_refused_without_its_value(role):
    with pytest.raises(ScenarioError, match=rf"workload.{role}.sasl.password: TLS and") as refused:
        read_scenario("baseline", {f"workload.{role}.sasl.password": "hidden"})
    assert "hidden" not in str(refused.value)


def test_the_example_in_the_docs_is_a_scenario_that_can_be_run_there(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "clusters.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "external.toml").write_text(text)
    (tmp_path / "client.properties").write_text(LIBRDKAFKA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORD", "hidden")

    given = read_scenario("external.toml")
    assert refuses(given) is None
    inject = given.faults[0].options["inject"]
    assert isinstance(inject, list)
    assert inject[:2] == ["ssh", "{host}"]
    assert "hidden" not in given.model_dump_json()


def test_brokers_of_a_cluster_that_is_there_may_have_any_number():
    fault = {
        "verb": "command",
        "target": "kafka1001",
        "at_s": 1,
        "options": {"inject": ["a"], "heal": ["b"]},
    }
    given = scenario(bootstrap=["h:9092"]).model_dump()

    assert checked_scenario({**given, "faults": (fault,)}).faults[0].target == "kafka1001"
    with pytest.raises(ScenarioError, match="'kafka1001' is unknown"):
        checked_scenario({**given, "backend": {}, "faults": (fault,)})
