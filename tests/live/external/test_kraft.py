"""A Kafka without any ZooKeeper, and with SCRAM: the view by brokers, and a whole run on it."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.cluster import client_security
from harness.cluster.node_settings import LOG4J, render
from harness.cluster.nodes import ClusterError
from harness.cluster.view.brokers import AskedView
from harness.cluster.view.discovery import discovered
from harness.distribution.kafka_home import find_kafka
from harness.host.java import find_java
from harness.waiting import wait_until
from tests.support.commands import COMMAND, Ran, newest
from tests.support.host_pace import bound_s

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]

PASSWORD = secrets.token_hex(8)
# An address of this process's own, and ports below those that are given to clients: nobody takes
# them before the node does.
ADDRESS = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
CLIENTS, CONTROLLER = f"{ADDRESS}:19092", f"{ADDRESS}:19093"
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.fixture(scope="module")
def kraft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One node that is broker 7 and controller in one; its address."""
    folder = tmp_path_factory.mktemp("kraft")
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    jaas = f'{scram} username="me" password="{PASSWORD}";'
    properties = {
        "process.roles": "broker,controller",
        "node.id": "7",
        "listeners": f"CLIENTS://{CLIENTS},CONTROLLER://{CONTROLLER}",
        "advertised.listeners": f"CLIENTS://{CLIENTS}",
        "controller.quorum.voters": f"7@{CONTROLLER}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "CLIENTS",
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.clients.scram-sha-512.sasl.jaas.config": jaas,
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    file = folder / "server.properties"
    file.write_text(render(properties))
    java = [
        str(find_java().path),
        "-XX:TieredStopAtLevel=1",
        "-Xmx256m",
        "-cp",
        find_kafka().class_path,
    ]
    user = f"SCRAM-SHA-512=[name=me,password={PASSWORD}]"
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(file), "-S", user],
        check=True,
        capture_output=True,
        timeout=bound_s(120),
    )
    (folder / "log4j").write_text(LOG4J)
    java.append(f"-Dlog4j.configuration=file:{folder / 'log4j'}")
    with (folder / "log").open("wb") as log:
        node = subprocess.Popen([*java, "kafka.Kafka", str(file)], stdout=log, stderr=log)
    try:
        wait_until(
            lambda: "Kafka Server started" in (folder / "log").read_text(),
            timeout_s=bound_s(120),
            what="the KRaft node to start",
        )
        yield CLIENTS
    finally:
        node.kill()
        node.wait()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("client") / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=me\n"
        "sasl.password=${WORD}\n"
    )
    return file


def test_the_quorums_leader_is_the_controller(kraft, client):
    settings = client_security.read(client, {"WORD": PASSWORD})
    nodes = discovered([kraft], settings)

    assert [(node.name, node.endpoint) for node in nodes] == [("kafka7", kraft)]
    with closing(AskedView(nodes, "nothing", 1, settings)) as view:
        view.connect(30)
        assert view.controller() == "kafka7"
        assert view.live_brokers() == ("kafka7",)
        assert view.look().partitions[0].leader is None


def test_a_wrong_password_is_refused(kraft, client):
    with pytest.raises(ClusterError, match=r"connection failed: .*: SCRAM-SHA-512: "):
        discovered([kraft], client_security.read(client, {"WORD": "wrong"}))


def test_a_run_needs_no_zookeeper(kraft, client, tmp_path):
    sets = (
        f'backend.external.bootstrap=["{kraft}"]',
        f"backend.external.client={client}",
        "cluster.brokers=1",
        "topic.replication_factor=1",
        "topic.leader=controller",
        "workload.rounds=200",
        "topic.config.min.insync.replicas=1",
    )
    done = subprocess.run(
        [
            *COMMAND,
            "run",
            "baseline",
            "--backend",
            "external",
            "--results",
            str(tmp_path),
            *(word for each in sets for word in ("--set", each)),
        ],
        capture_output=True,
        text=True,
        timeout=bound_s(300),
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "WORD": PASSWORD},
    )
    run = Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=newest(tmp_path))

    assert (run.code, run.report["verdict"]) == (0, "valid"), run.out + run.err
    assert "controller kafka7" in run.out
    assert "is removed" in run.out
