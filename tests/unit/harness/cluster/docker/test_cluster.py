"""How a cluster in containers comes up: which file, who is waited for, who sees its clients."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.docker import cluster as docker
from harness.cluster.docker import compose
from harness.cluster.docker.backend import docker_nodes
from harness.cluster.docker.cluster import DockerCluster
from harness.cluster.exec import shell
from harness.cluster.node_settings import KRAFT_STARTED, STARTED, ClusterSettings
from harness.cluster.nodes import Node
from harness.model.scenario import ClusterPart
from harness.release import COMPOSE_FILE, KRAFT_COMPOSE_FILE


class Engine:
    """Containers that run, each with an address and a port; brokers have logged `said`."""

    project = "p"

    def __init__(self, said: str) -> None:
        self.said, self.asked = said, list[str]()

    def published(self, _: str, port: int) -> int:
        return 40000 + port

    def address(self, holder: str) -> str:
        return f"address of {holder}"

    def pid(self, _: str) -> int:
        return 7

    def log(self, name: str) -> bytes:
        self.asked.append(name)
        return self.said.encode()

    def exec_stream(self, *_: Any) -> Any:
        return None

    def run(self, holder: str, _: Sequence[str]) -> str:
        self.asked.append(holder)
        return "0 0 172.18.0.2:9093 172.18.0.1:5000\n"


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What compose was asked for, and which nodes were asked whether they are up."""
    asked: list[Any] = []
    monkeypatch.setattr(compose, "up", lambda _, files, given, *__: asked.append((files, given)))
    beats = SimpleNamespace(start=lambda: None, check=lambda: None)
    monkeypatch.setattr(docker, "Heartbeat", lambda _: beats)
    monkeypatch.setattr(shell, "open_all", lambda _: None)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: nullcontext())

    def up_now(node: Node) -> bool:
        asked.append(node.name)
        return True

    monkeypatch.setattr(docker, "keeper_serves", up_now)
    return asked


@pytest.mark.parametrize(
    ("wanted", "file", "keepers"),
    [
        (ClusterPart(), COMPOSE_FILE, ["zk1", "zk2", "zk3"]),
        (
            ClusterPart(kafka="4.4.0", metadata="kraft"),
            KRAFT_COMPOSE_FILE,
            ["controller1", "controller2", "controller3"],
        ),
    ],
)
def test_who_keeps_the_metadata_comes_up_first_and_sees_the_clients(
    up: list[Any], tmp_path: Path, wanted: ClusterPart, file: Path, keepers: list[str]
) -> None:
    (tmp_path / "logs").mkdir()
    engine: Any = Engine(STARTED if wanted.has_zookeeper else KRAFT_STARTED)
    made = DockerCluster(
        nodes=docker_nodes(wanted, "127.0.0.1"),
        engine=engine,
        logs=tmp_path / "logs",
        run_id="s/1",
        images={"HARNESS_KAFKA_IMAGE": "mine:1"},
        settings=ClusterSettings(metadata=wanted.metadata or "zookeeper"),
    )
    made.start()

    holders, every, *asked = up
    for files, given in (holders, every):
        assert files == (file, tmp_path / "compose.json")
        assert given["HARNESS_KAFKA_IMAGE"] == "mine:1"
    assert asked == keepers
    assert engine.asked == [f"net-{keepers[0]}", "kafka1", "kafka2", "kafka3"]
    assert made.client_address == "172.18.0.1"
    assert made.nodes[0].dial == ("127.0.0.1", 40000 + made.nodes[0].port)
