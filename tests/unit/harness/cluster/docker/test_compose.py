"""What a run adds to docker-compose.yml, and how settings reach images as variables."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from harness.cluster import node_settings
from harness.cluster.docker import backend as docker
from harness.cluster.docker import compose
from harness.cluster.node_settings import ClusterSettings
from harness.cluster.nodes import ClusterError, Node, in_racks
from harness.distribution import storage
from harness.host import system_packages
from harness.host.python_packages import install_command
from harness.model.scenario import ClusterPart, Scenario
from harness.release import IMAGES, KRAFT_COMPOSE_FILE

ZK = Node(name="zk1", role="zookeeper", id=1, address="", port=2181, dialled=("127.0.0.1", 40001))
KAFKA = Node(name="kafka1", role="broker", id=1, address="", port=9, dialled=("127.0.0.1", 40002))
CONTROLLER = Node(name="controller1", role="controller", id=101, address="", port=9093)


@pytest.mark.parametrize(
    ("key", "variable"),
    [("num.io.threads", "KAFKA_NUM_IO_THREADS"), ("a_b.c-d", "KAFKA_A__B_C___D")],
)
def test_a_broker_s_setting_is_a_variable_as_the_public_image_reads_it(key, variable):
    assert "7" == compose.environment(KAFKA, ClusterSettings(server={key: 7}))[variable]


def test_a_zookeeper_s_setting_is_a_variable_or_a_system_property():
    settings = ClusterSettings(zoo={"syncLimit": 2, "snapshot.trust.empty": True})
    given = compose.environment(ZK, settings)

    assert "2" == given["ZOOKEEPER_SYNC_LIMIT"]
    assert "-Dzookeeper.snapshot.trust.empty=true" in given["KAFKA_OPTS"]


def test_a_run_s_settings_are_those_of_every_backend():
    """Beyond identities and addresses containers run with what the local backend runs with."""
    settings = ClusterSettings(server={"min.insync.replicas": 2})
    given = compose.environment(KAFKA, settings)
    told = node_settings.effective(settings)["server"]

    assert sorted(told.values()) == sorted(given.values())


def test_a_broker_s_rack_is_a_variable():
    (broker,) = in_racks((KAFKA,), 3)

    assert "rack1" == compose.environment(broker, ClusterSettings())["KAFKA_BROKER_RACK"]


def test_every_node_and_holder_bears_the_run_s_label():
    services = compose.additions((ZK, KAFKA), ClusterSettings(), "study-1/x")["services"]

    assert {"zk1", "net-zk1", "kafka1", "net-kafka1"} == services.keys()
    assert all("study-1/x" in each["labels"].values() for each in services.values())


def test_a_node_s_container_says_its_role():
    services = compose.additions((ZK, KAFKA), ClusterSettings(), "study-1/x")["services"]
    roles = {name: each["labels"].get(compose.ROLE_LABEL) for name, each in services.items()}

    assert roles == {"zk1": "zookeeper", "kafka1": "broker", "net-zk1": None, "net-kafka1": None}


def test_ports_are_filled_in():
    assert compose.variables((ZK, KAFKA)) == {
        "HARNESS_ADDRESS": "127.0.0.1",
        "HARNESS_PORT_ZK1": "40001",
        "HARNESS_PORT_KAFKA1": "40002",
    }


def test_a_dollar_sign_in_a_setting_stands_for_itself(tmp_path):
    compose.write(tmp_path / "c.json", {"a": "${HOME}"})

    assert '"$${HOME}"' in (tmp_path / "c.json").read_text()


def test_two_runs_of_one_name_have_projects_of_their_own_that_compose_accepts():
    one, other = (compose.project_of("Study_1/2026Z-7", mark) for mark in ("aa", "bb"))

    assert one != other
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*", one)


def test_a_node_to_come_has_no_port_yet():
    """A port that is chosen before Docker binds it may be another run's by then."""
    nodes = docker.docker_nodes(ClusterPart(zookeepers=1, brokers=1), "203.0.113.7")
    given = compose.variables(nodes)

    assert ("0", "0") == (given["HARNESS_PORT_ZK1"], given["HARNESS_PORT_KAFKA1"])
    assert "203.0.113.7" == given["HARNESS_ADDRESS"]


def test_without_any_compose_both_are_named(monkeypatch):
    monkeypatch.setattr(system_packages, "program", lambda _: None)

    with pytest.raises(ClusterError, match=r"`docker compose` \(v2\) nor `docker-compose` \(v1\)"):
        compose.command()


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
    monkeypatch.setattr(compose, "command", lambda: ("false",))

    with pytest.raises(ClusterError) as failed:
        compose.up("p", [file, tmp_path / "more.json"], {})

    assert str(file) in shlex.split(str(failed.value).split("`")[1])


# KRaft


def test_brokers_and_controllers_have_what_a_scenario_sets_of_each():
    settings = ClusterSettings(
        metadata="kraft",
        server={"num.io.threads": 3},
        broker={"log.flush.interval.messages": 1},
        controller={"min.insync.replicas": 2},
        features={"kraft.version": 0, "eligible.leader.replicas.version": 1},
    )
    broker, controller = (compose.environment(each, settings) for each in (KAFKA, CONTROLLER))

    assert ("3", "3") == (broker["KAFKA_NUM_IO_THREADS"], controller["KAFKA_NUM_IO_THREADS"])
    assert "1" == broker["KAFKA_LOG_FLUSH_INTERVAL_MESSAGES"]
    assert "2" == controller["KAFKA_MIN_INSYNC_REPLICAS"]
    assert "KAFKA_MIN_INSYNC_REPLICAS" not in broker
    levels = "kraft.version=0 eligible.leader.replicas.version=1"
    assert {levels} == {each["CLUSTER_FEATURES"] for each in (broker, controller)}
    assert not {key for key in (*broker, *controller) if "ZOOKEEPER" in key}


def test_the_nodes_of_a_scenario_are_those_of_its_compose_file():
    """Names, ids, ports: said there once more, for who starts it by hand."""
    yaml = pytest.importorskip("yaml")
    file = yaml.safe_load(KRAFT_COMPOSE_FILE.read_text())["services"]
    nodes = docker.docker_nodes(ClusterPart(kafka="4.4.0", metadata="kraft"), "127.0.0.1")

    assert file.keys() == {name for n in nodes for name in (n.name, compose.holder_of(n.name))}
    for node in nodes:
        service, holder = file[node.name], file[compose.holder_of(node.name)]
        environment = service["environment"]
        assert str(node.id) == environment["KAFKA_NODE_ID"]
        assert node.role == environment["KAFKA_PROCESS_ROLES"]
        assert f"}}:{node.port}" in holder["ports"][0]
        assert f"HARNESS_PORT_{node.name.upper()}:" in holder["ports"][0]
        assert storage.CLUSTER_ID == environment["CLUSTER_ID"]
        voters = environment["KAFKA_CONTROLLER_QUORUM_VOTERS"]
        assert (f"{node.id}@{node.name}:{node.port}" in voters) == (node.role == "controller")
        assert f"service:net-{node.name}" == service["network_mode"] == service["pid"]


def test_what_containers_cannot_be_is_refused_before_anything_starts():
    def refused(**cluster):
        wanted = ClusterPart(kafka="4.4.0", **{"metadata": "kraft", **cluster})
        return docker.refuses(SCENARIO.model_copy(update={"cluster": wanted})) or ""

    assert "" == refused()
    assert 'set it to "kraft", or use the backend local' in refused(metadata="kraft-combined")
    assert 'cluster.voters = "dynamic"' in refused(voters="dynamic")
    assert "3 controllers and 3 brokers: set cluster.controllers" in refused(controllers=5)


# The start script of the image


SCRIPT = IMAGES / "kafka" / "run"


def ran(tmp_path, *words, java="", **variables):
    """The script itself, with a `java` that says how it is called, and shows a file of settings."""
    program = tmp_path / "java"
    program.write_text(
        f"#!/bin/sh\nfor last; do :; done\n{java}\n"
        'case $* in *StorageTool*) echo "formats ${*#* kafka.tools.StorageTool}" ;;\n'
        'esac\ncase $last in /tmp/node-*) cat "$last" ;; esac\n'
    )
    program.chmod(0o755)
    given = {"PATH": f"{tmp_path}:/usr/bin:/bin", **variables}
    return subprocess.run(
        [SCRIPT, *words], env=given, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_image_s_start_script_makes_the_files_that_the_variables_mean(tmp_path):
    shown = ran(
        tmp_path,
        KAFKA_BROKER_ID="1",
        KAFKA_NUM_IO_THREADS="4",
        KAFKA_A__B_C___D="x",
        KAFKA_HEAP_OPTS="-Xmx1m",
    )

    assert {"log.dirs=/var/lib/kafka/data", "broker.id=1", "num.io.threads=4", "a_b.c-d=x"} == {
        *shown.stdout.split()
    }


def kraft(tmp_path, **more):
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    return ran(
        tmp_path,
        KAFKA_PROCESS_ROLES="controller",
        KAFKA_NODE_ID="101",
        KAFKA_LOG_DIRS=str(data),
        **{"CLUSTER_ID": "abc", **more},
    )


def test_an_empty_disk_is_formatted_and_one_that_is_not_is_left_alone(tmp_path):
    first = kraft(tmp_path, CLUSTER_FEATURES="a=1 b=0")
    (tmp_path / "data" / "meta.properties").touch()
    second = kraft(tmp_path, CLUSTER_FEATURES="a=1 b=0")

    formats = next(line for line in first.stdout.splitlines() if "formats" in line)
    assert " format -t abc -c /tmp/node-" in formats
    assert formats.endswith("--feature a=1 --feature b=0")
    assert {"process.roles=controller", "node.id=101"} <= {*second.stdout.split()}
    assert "formats" not in second.stdout
    assert "cluster" not in second.stdout  # what only formats is no key of Kafka's


def test_a_disk_that_cannot_be_formatted_ends_the_node(tmp_path):
    done = kraft(tmp_path, java="case $* in *StorageTool*) echo refused >&2; exit 3 ;; esac")

    assert (done.returncode, done.stderr.strip()) == (3, "refused")
    assert "node.id" not in done.stdout


def test_without_a_cluster_s_id_nothing_is_formatted(tmp_path):
    done = kraft(tmp_path, CLUSTER_ID="")

    assert done.returncode != 0
    assert "CLUSTER_ID" in done.stderr
