"""The Kubernetes backend without a cluster: manifests, settings, what pods do."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.kubernetes import location, manifests
from harness.cluster.kubernetes.api import Api
from harness.cluster.kubernetes.backend import KUBERNETES
from harness.cluster.kubernetes.own.machines import CORDONED, CordonedMachines
from harness.cluster.kubernetes.pod_watch import Pod, PodWatch
from harness.cluster.node_settings import ClusterSettings
from harness.cluster.nodes import ClusterError, Node
from harness.model.scenario import ClusterPart, Scenario
from harness.release import MANIFESTS
from tests.support.needs import needs

NODES = manifests.pod_nodes(ClusterPart())
KRAFT = ClusterPart(kafka="4.4.0", metadata="kraft")


# Machines


class Core:
    """Of the client only what a cordon needs: a machine that somebody may have cordoned."""

    def __init__(self, *, unschedulable: bool = False, by: str | None = None) -> None:
        self.machine = SimpleNamespace(
            metadata=SimpleNamespace(name="m1", annotations={CORDONED: by} if by else None),
            spec=SimpleNamespace(unschedulable=unschedulable or None),
        )
        self.patches: list[Any] = []

    def read_node(self, _: str, **__: Any) -> Any:
        return self.machine

    def list_node(self, **_: Any) -> Any:
        return SimpleNamespace(items=[self.machine])

    def patch_node(self, name: str, patch: Any, **_: Any) -> None:
        self.patches.append((name, patch))


def machines_of(core: Core, monkeypatch: pytest.MonkeyPatch) -> CordonedMachines:
    monkeypatch.setattr(Api, "_core", core)
    return CordonedMachines(Api(None, "mine"))


def test_a_machine_that_somebody_has_cordoned_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = Core(unschedulable=True)
    machines = machines_of(core, monkeypatch)

    with pytest.raises(ClusterError, match="Kubernetes node m1 is already cordoned"):
        machines.cordon("m1")
    machines.uncordon("m1")

    assert [] == core.patches


def test_a_cordon_bears_the_run_s_name_and_goes_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, ours = Core(), Core(unschedulable=True, by="mine")

    machines_of(fresh, monkeypatch).cordon("m1")
    machines_of(ours, monkeypatch).uncordon("m1")

    (_, put), (_, taken) = *fresh.patches, *ours.patches
    assert (True, "mine") == (
        put["spec"]["unschedulable"],
        put["metadata"]["annotations"][CORDONED],
    )
    assert (None, None) == (
        taken["spec"]["unschedulable"],
        taken["metadata"]["annotations"][CORDONED],
    )


# Manifests


def service(name: str) -> dict[str, Any]:
    return {"kind": "Service", "metadata": {"name": name, "namespace": "base"}}


def stateful(name: str, volume: dict[str, Any] | None = None) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"volumes": [volume] if volume else []}}
    return {"kind": "StatefulSet", "metadata": {"name": name}, "spec": {"template": template}}


def test_manifests_of_a_run_are_in_its_namespace_and_bear_its_label_down_to_the_pods() -> None:
    given = [
        {"kind": "Namespace", "metadata": {"name": "base"}},
        service("kafka-1"),
        stateful("kafka"),
    ]

    space, broker, brokers = manifests.of_run(
        given, namespace="mine", labels={"kafka-harness": "mine"}, counts={"kafka": 1}
    )

    assert "mine" == space["metadata"]["name"] == broker["metadata"]["namespace"]
    assert {"a": "b", "kafka-harness": "mine"} == (
        brokers["spec"]["template"]["metadata"]["labels"]
    )
    assert {"kafka-harness": "mine"} == broker["metadata"]["labels"]
    assert 1 == brokers["spec"]["replicas"]


def test_volume_claims_bear_the_label_of_their_run() -> None:
    """In a namespace that stays they are removed by it."""
    claiming = stateful("kafka")
    claiming["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]

    (made,) = manifests.of_run(
        [claiming], namespace="n", labels={"kafka-harness": "x"}, counts={"kafka": 0}
    )

    assert {"kafka-harness": "x"} == made["spec"]["volumeClaimTemplates"][0]["metadata"]["labels"]


def test_a_node_without_a_service_of_its_own_is_refused() -> None:
    with pytest.raises(ClusterError, match="no Service for kafka-2"):
        manifests.of_run(
            [service("kafka-1"), stateful("kafka")], namespace="n", labels={}, counts={"kafka": 2}
        )


def test_data_on_an_emptydir_go_with_the_pod() -> None:
    kept = stateful("kafka", {"name": "data", "hostPath": {"path": "/data"}})
    gone = stateful("kafka", {"name": "data", "emptyDir": {}})

    assert manifests.keeps_data([kept])
    assert not manifests.keeps_data([kept, gone])


def test_the_nodes_images_are_what_a_run_says_that_it_ran_on() -> None:
    brokers, members = stateful("kafka"), stateful("zk")
    brokers["spec"]["template"]["spec"]["containers"] = [
        {"name": "holder", "image": "no:1"},
        {"name": "node", "image": "k:3.9"},
    ]
    members["spec"]["template"]["spec"]["containers"] = [{"name": "node", "image": "z:3.8"}]

    assert {"kafka": "k:3.9", "zookeeper": "z:3.8"} == manifests.images([brokers, members])


def test_brokers_tell_workers_of_their_machine_and_peers_of_their_name() -> None:
    given = ClusterSettings(server={"min.insync.replicas": 2})
    files = manifests.settings(NODES, "mine", given, {"kafka2": 30123})

    assert (
        "advertised.listeners=PEERS://kafka-2.kafka.mine.svc:9092,WORKERS://HOST_IP:30123\n"
        in files["kafka-2.properties"]
    )
    assert "WORKERS://HOST_IP" not in files["kafka-1.properties"]
    assert "min.insync.replicas=2\n" in files["kafka-2.properties"]
    assert "server.3=zk-3.zk.mine.svc:2888:3888\n" in files["zk-1.properties"]


@pytest.mark.parametrize("where", ["base", "kraft"])
def test_what_stands_alone_has_the_settings_that_a_plain_run_has(where: str) -> None:
    """Written by `python -m harness.cluster.kubernetes.manifests`."""
    wanted = manifests.standing_alone(manifests.STANDING_ALONE[where])
    folder = MANIFESTS / where / "settings"

    assert wanted == {file.name: file.read_text() for file in folder.iterdir()}


# KRaft


def test_controllers_are_known_by_name_and_brokers_find_them() -> None:
    given = ClusterSettings(
        metadata="kraft",
        controller={"min.insync.replicas": 2},
        features={"kraft.version": 0, "eligible.leader.replicas.version": 1},
    )
    files = manifests.settings(manifests.pod_nodes(KRAFT), "mine", given, {"kafka2": 30123})
    controller, broker = files["controller-1.properties"], files["kafka-2.properties"]
    voters = ",".join(f"10{i}@controller-{i}.controller.mine.svc:9093" for i in (1, 2, 3))

    assert f"controller.quorum.voters={voters}\n" in controller
    assert f"controller.quorum.voters={voters}\n" in broker
    assert "process.roles=controller\nnode.id=101\nlisteners=CONTROLLER://:9093\n" in controller
    assert "log.dirs=/data/controller\n" in controller
    assert "min.insync.replicas=2\n" in controller
    assert "min.insync.replicas" not in broker
    assert "listeners=PEERS://:9092,WORKERS://:9094\n" in broker
    protocols = "CONTROLLER:PLAINTEXT,PEERS:PLAINTEXT,WORKERS:PLAINTEXT"
    assert f"listener.security.protocol.map={protocols}\n" in broker
    assert files["features"] == "kraft.version=0\neligible.leader.replicas.version=1\n"


def test_zookeeper_s_nodes_have_no_features() -> None:
    assert "features" not in manifests.settings(NODES, "mine", ClusterSettings(), {})


def test_manifests_of_the_other_way_to_keep_metadata_are_refused() -> None:
    counts = manifests.counts(manifests.pod_nodes(KRAFT))
    assert counts == {"controller": 3, "kafka": 3}

    with pytest.raises(ClusterError, match=r"a StatefulSet zk, .*name an overlay of k8s/kraft"):
        manifests.of_run([stateful("zk")], namespace="n", labels={}, counts=counts)


def made_of(image: str) -> dict[str, Any]:
    brokers = stateful("kafka")
    brokers["spec"]["template"]["spec"]["containers"] = [{"name": "node", "image": image}]
    return brokers


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("kafka-harness/kafka:3.9.2", "kafka-harness/kafka:4.4.0"),
        ("kafka-harness/kafka", "kafka-harness/kafka:4.4.0"),
        ("example.org/kafka-harness/kafka:3.9.2", "example.org/kafka-harness/kafka:3.9.2"),
    ],
)
def test_our_own_image_is_that_of_the_release(image: str, told: str) -> None:
    assert manifests.images(manifests.of_release([made_of(image)], "4.4.0")) == {"kafka": told}


@pytest.mark.parametrize(
    ("where", "cluster"), [("minikube", ClusterPart()), ("minikube-kraft", KRAFT)]
)
def test_what_comes_with_the_harness_is_made_a_run_s(where: str, cluster: ClusterPart) -> None:
    """As kustomize renders it: the nodes of such a cluster, a Service each, and no others."""
    needs("kustomize")
    nodes = manifests.pod_nodes(cluster)
    rendered = manifests.rendered(MANIFESTS / where)
    made = manifests.of_run(
        rendered, namespace="mine", labels={"a": "b"}, counts=manifests.counts(nodes)
    )
    found = {(each["kind"], each["metadata"]["name"]): each for each in made}
    sets = {name for kind, name in found if kind == "StatefulSet"}

    assert sets == {*manifests.counts(nodes)}
    assert {name for kind, name in found if kind == "PodDisruptionBudget"} == sets
    assert {name for kind, name in found if kind == "Service"} == {
        *sets,
        *(manifests.pod_name(node) for node in nodes),
    }
    assert manifests.keeps_data(made)
    settings = found["ConfigMap", manifests.SETTINGS]["data"]
    assert settings.keys() == manifests.standing_alone(cluster).keys()


def wanted(**cluster: Any) -> Scenario:
    return Scenario.model_validate(
        {"title": "t", "workload": {"kind": "stream"}, "cluster": cluster}
    )


def test_the_manifests_are_those_of_the_way_to_keep_metadata() -> None:
    assert location.manifests_of(wanted()) == MANIFESTS / "minikube"
    assert location.manifests_of(wanted(kafka="4.4.0")) == MANIFESTS / "minikube-kraft"


def test_what_pods_cannot_be_is_refused_before_anything_starts() -> None:
    combined = wanted(kafka="4.4.0", metadata="kraft-combined")

    assert "kraft-combined" in (KUBERNETES.refuses(combined) or "")
    assert KUBERNETES.refuses(wanted(kafka="4.4.0", metadata="kraft")) is None


def test_a_namespace_is_a_name_that_kubernetes_takes() -> None:
    assert "kafka-harness-study-1-20261121t172215z-7" == location.namespace_of(
        "study-1/20261121T172215Z-7"
    )
    assert 63 >= len(location.namespace_of("x" * 80))


# Pods


FIRST = Pod(
    name="kafka-1",
    uid="a",
    ip="10.0.0.1",
    host_ip="10.1.0.1",
    leaving=False,
    ready=True,
    restarts=0,
    trouble=None,
)
SECOND = replace(FIRST, uid="b", ip="10.0.0.2", ready=False)


class Watched:
    """A watch over one node, whose pod the test sets."""

    def __init__(self, first: Pod = FIRST) -> None:
        self.now: dict[str, Pod] = {"kafka1": first}
        self.adopted: list[str] = []
        self.takes = True
        self.watch = PodWatch(self.now.copy(), lambda: self.now, self.adopt)

    def adopt(self, _: str, pod: Pod) -> bool:
        self.adopted.append(pod.uid)
        return self.takes

    def sees(self, *pods: Pod | None) -> None:
        for pod in pods:
            self.now = {"kafka1": pod} if pod else {}
            self.watch.look_once()
        self.watch.check()


def test_a_pod_that_was_ordered_away_is_followed_by_another() -> None:
    """It may restart its containers until it is ready, and not afterwards."""
    watched = Watched()
    watched.watch.expect("kafka1")
    starting = replace(SECOND, restarts=1)
    watched.sees(
        FIRST, None, replace(SECOND, ip=None), SECOND, starting, replace(starting, ready=True)
    )

    assert ["b"] == watched.adopted
    with pytest.raises(ClusterError, match="restarted"):
        watched.sees(replace(starting, ready=True, restarts=2))


@pytest.mark.parametrize("seen", [None, SECOND, replace(FIRST, restarts=1)])
def test_what_nobody_ordered_is_told_for_ever(seen: Pod | None) -> None:
    watched = Watched()

    with pytest.raises(ClusterError, match="not by this run"):
        watched.sees(seen)
    with pytest.raises(ClusterError, match="not by this run"):
        watched.sees(FIRST)


def test_a_successor_counts_when_it_is_gone_on_with() -> None:
    watched = Watched()
    watched.watch.expect("kafka1")
    watched.takes = False
    watched.sees(None, SECOND, replace(SECOND, restarts=1))
    assert watched.watch.uid("kafka1") is None

    watched.takes = True
    watched.sees(replace(SECOND, restarts=1, ready=True))
    assert "b" == watched.watch.uid("kafka1")
    assert ["b", "b", "b"] == watched.adopted


def test_an_order_outlives_the_old_pod_s_becoming_ready() -> None:
    """The watch may have begun before the pod was ready; an order may come before the last one's
    pod was seen so."""
    watched = Watched(replace(FIRST, ready=False))
    watched.watch.expect("kafka1")
    watched.sees(FIRST, None, SECOND)
    watched.watch.expect("kafka1")
    watched.sees(replace(SECOND, ready=True), None, replace(SECOND, uid="c"))

    assert ["b", "c"] == watched.adopted


def test_readiness_that_comes_and_goes_means_nothing() -> None:
    watched = Watched()

    watched.sees(replace(FIRST, ready=False), FIRST)

    assert [] == watched.adopted


def test_nodes_in_pods_have_the_names_of_other_backends() -> None:
    assert ["zk1", "zk2", "zk3", "kafka1", "kafka2", "kafka3"] == [n.name for n in NODES]
    assert "kafka-3" == manifests.pod_name(
        Node(name="kafka3", role="broker", id=3, address="", port=9092)
    )
