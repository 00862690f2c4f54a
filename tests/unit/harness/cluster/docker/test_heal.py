"""What is down in a project whose harness was killed is started again, until it stays."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.cluster import node_settings
from harness.cluster.docker import backend as docker
from harness.cluster.docker import compose
from harness.cluster.ownership import LABEL, Orphan

BOUND, STARTED = "binding to port 2181", node_settings.STARTED
KRAFT = node_settings.KRAFT_STARTED
LOGS = {"first": [BOUND], "second": [BOUND, STARTED], "third": [STARTED]}


class Project:
    """An engine with nodes that are down; each start has the next of their logs."""

    def __init__(self, roles: dict[str, str], logs: dict[str, list[str]]) -> None:
        self.roles, self.logs = roles, {name: list(log) for name, log in logs.items()}
        self.said: dict[str, str] = {}

    def services(self) -> dict[str, SimpleNamespace]:
        named = {name: {compose.ROLE_LABEL: role} for name, role in self.roles.items()}
        return {
            name: SimpleNamespace(labels={LABEL: "node", **named.get(name, {})})
            for name in self.logs
        }

    def is_ours(self) -> bool:
        return True

    def pid(self, name: str) -> int | None:
        lives = {"broker": (STARTED, KRAFT), "controller": (KRAFT,)}
        said = self.said.get(name)
        return 7 if said in lives.get(self.roles.get(name, ""), (BOUND, STARTED)) else None

    def start(self, name: str) -> None:
        self.said[name] = self.logs[name].pop(0)

    def log(self, name: str, *, since_start: bool) -> bytes:
        return self.said[name].encode() if since_start else b""


class Quorum(Project):
    """One of controllers, which come up once most of them run."""

    def log(self, name: str, *, since_start: bool) -> bytes:
        return super().log(name, since_start=since_start) if len(self.said) > 1 else b""


def healed(
    monkeypatch: pytest.MonkeyPatch, roles: dict[str, str], project: Project | None = None
) -> list[str]:
    project = project or Project(roles, LOGS)
    monkeypatch.setattr(docker, "without_sdk", lambda: None)
    monkeypatch.setattr(docker, "connect", lambda: None)
    monkeypatch.setattr(docker, "Engine", lambda *_: project)
    return docker.heal(Orphan(record=None, name="study-1", down=False))


def test_a_node_is_up_by_what_its_role_logs_whatever_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    roles = {"first": "zookeeper", "second": "broker", "third": "broker"}

    assert healed(monkeypatch, roles) == [
        "first: started again, at once",
        "second: started again, 2 times until it stayed",
        "third: started again, at once",
    ]


def test_containers_of_an_older_harness_do_not_say_their_role_and_may_log_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert healed(monkeypatch, {})[:2] == [
        "first: started again, at once",
        "second: started again, at once",
    ]


def test_controllers_that_are_down_are_all_started_before_one_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(docker, "START_LIMIT_S", 2)
    roles = {"controller1": "controller", "controller2": "controller", "kafka1": "broker"}

    assert healed(monkeypatch, {}, Quorum(roles, {name: [KRAFT] for name in roles})) == [
        f"{name}: started again, at once" for name in roles
    ]
