"""heal of a run whose folder may be anybody's: only what is the run's own is touched."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.docker import backend as docker
from harness.cluster.docker import compose
from harness.cluster.external.cluster import heal_topic
from harness.cluster.kubernetes import api as kubernetes_api
from harness.cluster.kubernetes import leftovers
from harness.cluster.kubernetes.location import namespace_of
from harness.cluster.nodes import ClusterError
from harness.cluster.ownership import LABEL, Orphan
from harness.model.runs.run_record import RunRecord
from tests.support.recorded_runs import run_record

RUN_ID = "study-1/20261121T021500Z-42"
OTHER_ID = "study-1/20261121T031500Z-43"
BOOTSTRAP = "kafka-a:9092"
TOPIC = "harness-20261121T021500Z-42-0a1f"


def of_run(record: RunRecord, *, down: bool = True, allowed: Collection[str] = ()) -> Orphan:
    return Orphan(record=record, name=None, down=down, allowed=frozenset(allowed))


# Docker


class Project:
    """A project of six containers that all run, with the mark of a run; `removed` once it is."""

    def __init__(self, mark: str | None) -> None:
        marks = {} if mark is None else {compose.RUN_LABEL: mark}
        self.labels = {LABEL: "node", **marks}
        self.removed, self.undone = False, 0

    def services(self) -> dict[str, SimpleNamespace]:
        return {name: SimpleNamespace(labels=self.labels) for name in ("net-kafka1", "kafka1")}

    def is_ours(self) -> bool:
        return True

    def pid(self, _: str) -> int:
        return 7

    def run(self, *_: object) -> str:
        self.undone += 1
        return "removed chain HARNESS-1 of table filter"

    def remove(self) -> None:
        self.removed = True


def docker_heals(monkeypatch: pytest.MonkeyPatch, project: Project, orphan: Orphan) -> list[str]:
    monkeypatch.setattr(docker, "without_sdk", lambda: None)
    monkeypatch.setattr(docker, "connect", lambda: None)
    monkeypatch.setattr(docker, "Engine", lambda *_: project)
    return docker.heal(orphan)


def docker_record(project: str, run_id: str = RUN_ID) -> RunRecord:
    return run_record(backend="docker", run_id=run_id, cluster={"project": project})


def test_a_run_s_own_project_is_healed_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    project, record = Project(RUN_ID), docker_record(compose.project_of(RUN_ID, "0a1f"))

    said = docker_heals(monkeypatch, project, of_run(record))

    assert "kafka1: removed chain HARNESS-1 of table filter" in said
    assert project.removed


@pytest.mark.parametrize(
    ("project", "mark"),
    [
        ("payments", RUN_ID),
        ("kafka-harness-", RUN_ID),
        (compose.project_of(RUN_ID, "0a1f; x"), RUN_ID),
        (compose.project_of(OTHER_ID, "0a1f"), OTHER_ID),
        (compose.project_of(RUN_ID, "0a1f"), OTHER_ID),
        (compose.project_of(RUN_ID, "0a1f"), None),
    ],
)
def test_a_project_that_is_not_the_run_s_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, project: str, mark: str | None
) -> None:
    containers = Project(mark)

    with pytest.raises(ClusterError, match=r"not this run's: .*heal --cluster"):
        docker_heals(monkeypatch, containers, of_run(docker_record(project)))
    assert not containers.removed
    assert containers.undone == 0


def test_a_project_that_the_command_line_names_needs_no_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = Project(OTHER_ID)

    docker_heals(monkeypatch, project, Orphan(record=None, name="kafka-harness-x", down=True))

    assert project.removed


def test_a_run_without_a_run_s_id_owns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    record = docker_record(compose.project_of("a/b", "0a1f"), "a/b")

    with pytest.raises(ClusterError, match=r"run\.json: run_id 'a/b' is not a run's"):
        docker_heals(monkeypatch, Project("a/b"), of_run(record))


# Kubernetes


class Namespace:
    """The API of one namespace with our label in which a pod of each of two runs is."""

    made: list[Namespace]

    def __init__(self, context: str, namespace: str) -> None:
        self.context, self.namespace = context, namespace
        self.healed: list[str] = []
        self.removed = False
        Namespace.made.append(self)

    def namespace_labels(self) -> dict[str, str] | None:
        return None if self.removed else {LABEL: self.namespace}

    def pods(self, selector: str) -> dict[str, Any]:
        every = {"own-0": namespace_of(RUN_ID), "other-0": namespace_of(OTHER_ID)}
        _, _, value = selector.partition("=")
        return {pod: None for pod, of in every.items() if value in ("", of)}

    def run_in(self, pod: str, _: str, argv: list[str]) -> str:
        self.healed.append(pod)
        return "resumed process 7" if "undo" in argv else ""

    def machines(self) -> list[Any]:
        return []

    def delete_all(self, _: str) -> None:
        self.removed = True

    def delete_namespace(self) -> None:
        self.removed = True


@pytest.fixture
def namespaces(monkeypatch: pytest.MonkeyPatch) -> list[Namespace]:
    Namespace.made = []
    monkeypatch.setattr(kubernetes_api, "Api", Namespace)
    monkeypatch.setattr(kubernetes_api, "configuration", lambda context: context)
    return Namespace.made


def pods_record(namespace: str, standing: str = "") -> RunRecord:
    given = run_record().scenario.model_dump(mode="json")
    given["backend"]["kubernetes"]["namespace"] = standing
    cluster = {"namespace": namespace, "context": "prod"}
    return run_record(backend="kubernetes", run_id=RUN_ID, cluster=cluster, scenario=given)


def test_a_run_s_own_namespace_is_healed_and_removed(namespaces: list[Namespace]) -> None:
    name = namespace_of(RUN_ID)

    said = leftovers.heal(of_run(pods_record(name)))

    assert said == ["own-0: resumed process 7", f"namespace {name} is removed"]
    assert {*namespaces[0].healed} == {"own-0"}


@pytest.mark.parametrize("name", ["default", "kube-system", namespace_of(OTHER_ID)])
def test_a_namespace_that_is_not_the_run_s_is_not_even_asked_for(
    namespaces: list[Namespace], name: str
) -> None:
    with pytest.raises(ClusterError, match="not this run's"):
        leftovers.heal(of_run(pods_record(name)))
    assert namespaces == []


def test_in_a_namespace_that_stays_only_the_run_s_pods_are_healed(
    namespaces: list[Namespace],
) -> None:
    record = pods_record("shared", standing="shared")

    assert leftovers.heal(of_run(record, down=False))[:-1] == ["own-0: resumed process 7"]
    with pytest.raises(ClusterError, match="was not created by a run and is kept"):
        leftovers.heal(of_run(record))
    assert not any(each.removed for each in namespaces)


def test_every_pod_of_ours_is_healed_where_the_command_line_names_the_namespace(
    namespaces: list[Namespace],
) -> None:
    leftovers.heal(Orphan(record=None, name="shared", down=False))

    assert {*namespaces[0].healed} == {"own-0", "other-0"}


# A cluster that is somebody's


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked of the cluster's admin: where, topic and group."""
    asked: list[Any] = []

    def admin(where: Any, settings: Any) -> Any:
        def remove(topic: str, group: str | None) -> list[str]:
            asked.append((tuple(where), dict(settings), topic, group))
            return [f"topic {topic} is removed"]

        return SimpleNamespace(topics=SimpleNamespace(remove=remove))

    monkeypatch.setattr("harness.cluster.external.cluster.Admin", admin)
    monkeypatch.setattr("harness.cluster.view.discovery.discovered", lambda where, _: where)
    return asked


def somebodys(topic: str = TOPIC, group: str | None = f"{RUN_ID}/group", client: str = "") -> Any:
    given = run_record().scenario.model_dump(mode="json")
    given["backend"]["external"] |= {"bootstrap": [BOOTSTRAP], "client": client}
    cluster = {"topic": topic, "group": group}
    return run_record(backend="external", run_id=RUN_ID, cluster=cluster, scenario=given)


def test_the_run_s_own_topic_and_group_are_removed_where_that_is_allowed(
    removed: list[Any],
) -> None:
    record = somebodys()

    heal_topic(of_run(record, allowed=[BOOTSTRAP]), record.scenario.backend.external)

    assert removed == [((BOOTSTRAP,), {}, TOPIC, f"{RUN_ID}/group")]


@pytest.mark.parametrize(
    ("record", "allowed", "told"),
    [
        (somebodys(topic="payments"), [BOOTSTRAP], "topic payments, which is not this run's"),
        (somebodys(topic=f"{TOPIC}.x"), [BOOTSTRAP], "not this run's"),
        (somebodys(group="billing"), [BOOTSTRAP], "group billing, which is not this run's"),
        (somebodys(), [], f"add --allow {BOOTSTRAP}"),
        (somebodys(client="/etc/secret"), [BOOTSTRAP], "add --allow /etc/secret"),
    ],
)
def test_nothing_else_is_removed_reached_or_opened(
    removed: list[Any], record: RunRecord, allowed: list[str], told: str
) -> None:
    with pytest.raises(ClusterError, match=told):
        heal_topic(of_run(record, allowed=allowed), record.scenario.backend.external)
    assert removed == []


def test_without_down_nothing_is_reached(removed: list[Any]) -> None:
    record = somebodys()

    heal_topic(of_run(record, down=False), record.scenario.backend.external)

    assert removed == []
