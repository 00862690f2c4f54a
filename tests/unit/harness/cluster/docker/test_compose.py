"""What a run adds to docker-compose.yml, and how settings reach images as variables."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from harness.cluster import node_settings
from harness.cluster.docker import backend as docker
from harness.cluster.docker import compose
from harness.cluster.nodes import ClusterError, Node, in_racks
from harness.host import system_packages
from harness.host.python_packages import install_command
from harness.model.scenario import ClusterPart, Scenario
from harness.release import IMAGES

ZK = Node(name="zk1", role="zookeeper", id=1, address="", port=2181, dialled=("127.0.0.1", 40001))
KAFKA = Node(name="kafka1", role="broker", id=1, address="", port=9, dialled=("127.0.0.1", 40002))


@pytest.mark.parametrize(
    ("key", "variable"),
    [("num.io.threads", "KAFKA_NUM_IO_THREADS"), ("a_b.c-d", "KAFKA_A__B_C___D")],
)
def test_a_broker_s_setting_is_a_variable_as_the_public_image_reads_it(key, variable):
    assert "7" == compose.environment(KAFKA, {key: 7}, {})[variable]


def test_a_zookeeper_s_setting_is_a_variable_or_a_system_property():
    given = compose.environment(ZK, {}, {"syncLimit": 2, "snapshot.trust.empty": True})

    assert "2" == given["ZOOKEEPER_SYNC_LIMIT"]
    assert "-Dzookeeper.snapshot.trust.empty=true" in given["KAFKA_OPTS"]


def test_a_run_s_settings_are_those_of_every_backend():
    """Beyond identities and addresses containers run with what the local backend runs with."""
    given = compose.environment(KAFKA, {"min.insync.replicas": 2}, {})
    settings = node_settings.ClusterSettings(server={"min.insync.replicas": 2})
    told = node_settings.effective(settings)["server"]

    assert sorted(told.values()) == sorted(given.values())


def test_a_broker_s_rack_is_a_variable():
    (broker,) = in_racks((KAFKA,), 3)

    assert "rack1" == compose.environment(broker, {}, {})["KAFKA_BROKER_RACK"]


def test_every_node_and_holder_bears_the_run_s_label():
    services = compose.additions((ZK, KAFKA), {}, {}, "study-1/x")["services"]

    assert {"zk1", "net-zk1", "kafka1", "net-kafka1"} == services.keys()
    assert all("study-1/x" in each["labels"].values() for each in services.values())


def test_a_node_s_container_says_its_role():
    services = compose.additions((ZK, KAFKA), {}, {}, "study-1/x")["services"]
    roles = {name: each["labels"].get(compose.ROLE_LABEL) for name, each in services.items()}

    assert roles == {"zk1": "zookeeper", "kafka1": "broker", "net-zk1": None, "net-kafka1": None}


def test_ports_and_image_are_filled_in():
    given = compose.variables((ZK, KAFKA), "mine:1")

    assert "40001" == given["HARNESS_PORT_ZK1"]
    assert {"mine:1"} == {given[name] for name in compose.IMAGES}
    assert not set(compose.IMAGES) & compose.variables((ZK, KAFKA), "").keys()


def test_a_dollar_sign_in_a_setting_stands_for_itself(tmp_path):
    compose.write(tmp_path / "c.json", {"a": "${HOME}"})

    assert '"$${HOME}"' in (tmp_path / "c.json").read_text()


def test_two_runs_of_one_name_have_projects_of_their_own_that_compose_accepts():
    one, other = (compose.project_of("Study_1/2026Z-7", mark) for mark in ("aa", "bb"))

    assert one != other
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*", one)


def test_a_node_to_come_has_no_port_yet():
    """A port that is chosen before Docker binds it may be another run's by then."""
    given = compose.variables(docker.docker_nodes(1, 1, "203.0.113.7"), "")

    assert ("0", "0") == (given["HARNESS_PORT_ZK1"], given["HARNESS_PORT_KAFKA1"])
    assert "203.0.113.7" == given["HARNESS_ADDRESS"]


def test_without_any_compose_both_are_named(monkeypatch):
    monkeypatch.setattr(system_packages, "program", lambda _: None)

    with pytest.raises(ClusterError, match=r"`docker compose` \(v2\) nor `docker-compose` \(v1\)"):
        compose.command()


def test_images_are_pinned_unless_chosen(monkeypatch):
    for name in compose.IMAGES:
        monkeypatch.delenv(name, raising=False)

    assert "confluentinc/cp-kafka:7.9.4" == compose.images("")["kafka"]
    assert "mine:1" == compose.images("mine:1")["zookeeper"]


SCENARIO = Scenario(title="t", workload={"kind": "stream"})  # type: ignore[arg-type]


def test_other_numbers_of_nodes_are_refused_before_anything_starts():
    scenario = SCENARIO.model_copy(update={"cluster": ClusterPart(zookeepers=1)})

    assert "3 ZooKeepers and 3 brokers" in (docker.refuses(scenario) or "")


def test_a_missing_sdk_is_one_sentence(monkeypatch):
    monkeypatch.setattr(docker, "find_spec", lambda _: None)

    assert install_command("docker~=7.1") in (docker.absent({}) or "")
    assert docker.refuses(SCENARIO) is None  # `show` needs no Docker


def test_without_compose_there_is_no_docker_to_be_had(monkeypatch):
    monkeypatch.setattr(docker, "connect", lambda: None)
    monkeypatch.setattr(compose, "answers", lambda words: words == ("docker-compose",))
    assert docker.absent({}) is None

    monkeypatch.setattr(compose, "answers", lambda words: False)
    with pytest.raises(ClusterError, match="install docker-compose-plugin or docker-compose"):
        docker.absent({})


def test_a_compose_command_that_fails_is_told_as_a_shell_takes_it(monkeypatch, tmp_path):
    file = tmp_path / "it's a folder" / "docker-compose.yml"
    monkeypatch.setattr(compose, "COMPOSE_FILE", file)
    monkeypatch.setattr(compose, "command", lambda: ("false",))

    with pytest.raises(ClusterError) as failed:
        compose.up("p", tmp_path / "more.json", {})

    assert str(file) in shlex.split(str(failed.value).split("`")[1])


def test_the_image_s_start_script_makes_the_files_that_the_variables_mean(tmp_path):
    """The script itself, with a `java` that only shows the file it is given."""
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\nfor last; do :; done\ncat "$last"\n')
    java.chmod(0o755)
    variables = {
        "KAFKA_BROKER_ID": "1",
        "KAFKA_NUM_IO_THREADS": "4",
        "KAFKA_A__B_C___D": "x",
        "KAFKA_HEAP_OPTS": "-Xmx1m",
        "PATH": f"{tmp_path}:/usr/bin:/bin",
    }
    script = IMAGES / "kafka" / "run"
    shown = subprocess.run([script], env=variables, capture_output=True, text=True, check=True)

    assert {"log.dirs=/var/lib/kafka/data", "broker.id=1", "num.io.threads=4", "a_b.c-d=x"} == {
        *shown.stdout.split()
    }
