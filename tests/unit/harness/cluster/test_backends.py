"""What a backend says of its cluster before anything starts, and the cluster that it then makes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster import backends, capabilities
from harness.cluster.backends import BACKENDS
from harness.cluster.capabilities import CAPABILITIES, Clients, Foreign, Processes, Secured
from harness.cluster.docker import backend as docker
from harness.cluster.kubernetes import api, manifests
from harness.cluster.local import backend as local
from harness.cluster.nodes import Node
from harness.cluster.view import discovery
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario, ScenarioError
from harness.scenario.file import read_scenario
from harness.scenario.prepare import Request, prepare

KAFKAS = tuple(
    Node(name=f"kafka{i}", role="broker", id=i, address="a", port=9092) for i in (1, 2, 3)
)
THERE: dict[str, Any] = {
    "cluster.server": {},
    "cluster.zoo": {},
}  # a cluster that is there is configured already
ATTACH = {
    **THERE,
    "backend.kubernetes.attach.namespace": "kafka",
    "backend.kubernetes.attach.bootstrap": ["10.0.0.1:31094"],
    "backend.kubernetes.attach.image": "sidecar:1",
    "backend.kubernetes.attach.selectors.brokers": "strimzi.io/name=my-cluster-kafka",
}
EXTERNAL = {**THERE, "backend.external.bootstrap": ["h:9092"]}
CLUSTERS = [
    ("local", {}),
    ("docker", {}),
    ("docker", {"cluster.kafka": "4.4"}),
    ("kubernetes", {}),
    ("kubernetes", {"cluster.kafka": "4.4"}),
    ("kubernetes", ATTACH),
    ("kubernetes", {**ATTACH, "backend.kubernetes.attach.image": ""}),
    ("external", EXTERNAL),
]
Nothing = SimpleNamespace


@pytest.fixture
def nothing_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Engines, API servers and brokers that answer what a cluster's making asks of them."""
    pytest.importorskip("docker")
    found = Nothing(version="3.9.2", zookeeper_version="3.8", path="java")
    monkeypatch.setattr(local, "private_tmpfs", lambda: tmp_path)
    monkeypatch.setattr(local, "find_kafka", lambda *_: found)
    monkeypatch.setattr(local, "find_java", lambda: found)
    monkeypatch.setattr(docker, "connect", lambda: Nothing(version=lambda: {"Version": "1"}))
    monkeypatch.setattr(api, "Api", Server)
    monkeypatch.setattr(api, "configuration", lambda _: None)
    monkeypatch.setattr(api, "minikube_profile", lambda _: None)
    monkeypatch.setattr(manifests, "rendered", lambda _: [])
    monkeypatch.setattr(discovery, "discovered", lambda *_: KAFKAS)


class Server:
    """Of an API server only what is asked before anything is made."""

    def __init__(self, _: object, namespace: str) -> None:
        self.namespace = namespace

    def version(self) -> str:
        return "v1"

    def namespace_labels(self) -> dict[str, str]:
        return {}


def made(name: str, scenario: Scenario, tmp_path: Path) -> Any:
    """The cluster that the backend makes, not started."""
    folder = RunFolder(path=tmp_path / "s" / "1")
    folder.path.mkdir(parents=True)
    record = RunRecord(scenario=scenario, seed=1, backend=name)
    folder.write(record)
    return backends.build(folder, record)


@pytest.mark.usefixtures("nothing_starts")
@pytest.mark.parametrize(("name", "settings"), CLUSTERS)
def test_a_cluster_can_do_exactly_what_its_backend_has_said(
    name: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    scenario = read_scenario("baseline", settings)
    cluster = made(name, scenario, tmp_path)

    able = {one.__name__ for one in CAPABILITIES if isinstance(cluster, one)}

    assert {one.__name__ for one in BACKENDS[name].capabilities(scenario)} == able


def test_no_capability_is_left_out() -> None:
    protocols = {
        each
        for each in vars(capabilities).values()
        if isinstance(each, type)
        and each.__module__ == capabilities.__name__
        and getattr(each, "_is_runtime_protocol", False)
    }

    assert protocols == {*CAPABILITIES, Clients}


def test_a_cluster_that_is_somebody_s_has_nothing_for_faults_to_use() -> None:
    assert BACKENDS["external"].capabilities(read_scenario("baseline", EXTERNAL)) == {
        Secured,
        Foreign,
    }


def test_without_an_image_of_ours_nothing_is_done_in_somebody_s_pods() -> None:
    able = BACKENDS["kubernetes"].capabilities
    without = read_scenario("baseline", {**ATTACH, "backend.kubernetes.attach.image": ""})

    assert Processes in able(read_scenario("baseline", ATTACH))
    assert Processes not in able(without)


# What is refused before anything starts


@pytest.mark.parametrize(("backend", "settings"), [("external", EXTERNAL), ("kubernetes", ATTACH)])
def test_a_cluster_that_is_there_has_racks_of_its_own(
    backend: str, settings: dict[str, Any]
) -> None:
    with pytest.raises(ScenarioError, match=r"cluster\.racks: the racks of this cluster are not"):
        prepare(
            Request(
                scenario="baseline",
                seed=1,
                backend=backend,
                settings={**settings, "cluster.racks": 3},
            )
        )


def refusal(backend: str, verb: str, target: str = "leader", **settings: Any) -> str:
    fault = {"verb": verb, "target": target, "at_s": 1, "for_s": 1, **settings.pop("fault", {})}
    given = {"workload.kind": "stream", **settings, "faults": [fault]}
    with pytest.raises(ScenarioError) as refused:
        prepare(Request(scenario="baseline", seed=1, backend=backend, settings=given))
    return str(refused.value)


@pytest.mark.parametrize(
    ("backend", "settings", "verb", "told"),
    [
        ("local", {}, "delete-pod", "delete-pod is not available on the backend local: choose"),
        ("docker", {}, "slow-disk", "slow-disk is not available on the backend docker: choose"),
        (
            "external",
            EXTERNAL,
            "kill",
            "kill is not available on the backend external in a cluster",
        ),
        ("external", EXTERNAL, "kill", "not the harness's own: choose another backend, or one of"),
        ("docker", {"cluster.disk_mib": 9}, "kill", "cluster.disk_mib is not available on the b"),
        (
            "external",
            EXTERNAL,
            "add-partitions",
            "add-partitions is not available on the backend external",
        ),
    ],
)
def test_a_fault_that_needs_more_than_a_cluster_has_is_refused(
    backend: str, settings: dict[str, Any], verb: str, told: str
) -> None:
    assert told in refusal(backend, verb, **settings)


def test_that_metadata_stays_can_be_demanded_where_its_log_is_read() -> None:
    def prepared(metadata: str, backend: str) -> None:
        settings = {"cluster.metadata": metadata, "expect": {"metadata-back": "0"}}
        prepare(Request(scenario="baseline", seed=1, backend=backend, settings=settings))

    prepared("kraft", "local")
    for metadata, backend in (("zookeeper", "local"), ("kraft", "docker")):
        with pytest.raises(ScenarioError, match="metadata-back: is read from the disks of KRaft's"):
            prepared(metadata, backend)


@pytest.mark.parametrize("backend", ["docker", "kubernetes"])
def test_netem_is_refused_where_no_kernel_can_be_tried_beforehand(backend: str) -> None:
    pytest.importorskip("kubernetes")

    told = refusal(backend, "reorder", fault={"options": {"percent": 5}})
    assert f"reorder is not available on the backend {backend}" in told


def test_what_may_be_drawn_at_random_is_refused_too() -> None:
    """Whichever seed: what is drawn is known only with it."""
    drawn = {"faults": [{"verb": "delete-pod", "target": "leader"}], "until_s": 60.0}
    settings = {"workload.kind": "stream", "workload.duration_s": 60.0, "mixed": drawn}
    for seed in range(3):
        with pytest.raises(ScenarioError, match="delete-pod is not available on the backend"):
            prepare(Request(scenario="baseline", seed=seed, settings=settings))


POWER: dict[str, Any] = {"verb": "lose-power", "target": "one"}
SLOW: dict[str, Any] = {"verb": "slow-disk", "target": "one", "options": {"delay_ms": 20}}


def test_faults_that_each_need_the_only_tracer_of_a_node_are_refused_together() -> None:
    faults = [{**each, "at_s": at_s, "for_s": 1} for at_s, each in enumerate([POWER, SLOW])]
    settings = {"workload.kind": "stream", "faults": faults}

    with pytest.raises(ScenarioError, match="lose-power and slow-disk cannot be in one scenario"):
        prepare(Request(scenario="baseline", seed=1, settings=settings))


def test_they_are_refused_where_both_may_be_drawn_and_one_alone_is_not() -> None:
    drawn: dict[str, Any] = {"faults": [POWER, SLOW], "until_s": 60.0}
    settings = {"workload.kind": "stream", "workload.duration_s": 60.0, "mixed": drawn}
    with pytest.raises(ScenarioError, match="lose-power and slow-disk cannot be in one scenario"):
        prepare(Request(scenario="baseline", seed=1, settings=settings))

    alone = {**settings, "mixed": {**drawn, "faults": [POWER]}}

    assert prepare(Request(scenario="baseline", seed=1, settings=alone)).steps


@pytest.mark.parametrize(
    ("backend", "settings", "target"),
    [
        ("external", EXTERNAL, "zk1"),
        ("kubernetes", ATTACH, "zk1"),
    ],
)
def test_a_target_that_nobody_can_reach_there_is_refused(
    backend: str, settings: dict[str, Any], target: str
) -> None:
    pytest.importorskip("kubernetes")

    assert f"{target} cannot be a target on the backend {backend}" in refusal(
        backend, "kill", target, **settings
    )


@pytest.mark.parametrize(
    ("env", "refused"),
    [
        ({}, "topic"),
        ({"FROM": "{topic}"}, "outputs"),
        ({"FROM": "{topic}", "TO": "{outputs}"}, None),
    ],
)
def test_a_program_beside_a_cluster_that_is_there_is_given_the_run_s_topics(
    env: dict[str, str], refused: str | None
) -> None:
    program = {"name": "app", "command": ["{python}"], "env": env}
    outputs = {"topic": "paid", "id": "key", "group": "app"}
    settings = {**EXTERNAL, "workload.kind": "stream", "workload.record": "$value"}
    scenario = read_scenario("baseline", {**settings, "programs": [program], "outputs": outputs})

    why = BACKENDS["external"].refuses(scenario)

    assert (refused is None) == (why is None)
    assert refused is None or f"none of them is given {{{refused}}}" in str(why)


@pytest.mark.parametrize(("backend", "settings"), [("external", EXTERNAL), ("kubernetes", ATTACH)])
def test_what_is_done_to_workers_asks_nothing_of_their_cluster(
    backend: str, settings: dict[str, Any]
) -> None:
    pytest.importorskip("kubernetes")
    fault = {"verb": "kill", "target": "producers", "at_s": 1}
    given = {**settings, "workload.kind": "stream", "faults": [fault]}

    prepared = prepare(Request(scenario="baseline", seed=1, backend=backend, settings=given))

    assert [step.verb for step in prepared.steps] == ["kill"]
    assert not prepared.record.hits_nodes
