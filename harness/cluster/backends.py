"""The backends: name -> how to make its cluster. Adding a backend is one file and one line here."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster.capabilities import Cluster, Foreign, client_settings
from harness.cluster.docker import backend as docker
from harness.cluster.docker import compose
from harness.cluster.docker.backend import DockerCluster, docker_nodes
from harness.cluster.docker.engine import Engine, connect
from harness.cluster.external import backend as external
from harness.cluster.external.backend import ExternalCluster
from harness.cluster.kubernetes import access, manifests, minikube
from harness.cluster.kubernetes.attach import rules
from harness.cluster.kubernetes.attach.backend import AttachedCluster
from harness.cluster.kubernetes.backend import KubernetesCluster
from harness.cluster.local.backend import LocalCluster, local_nodes, private_tmpfs
from harness.cluster.nodes import ClusterError, zookeepers
from harness.cluster.ownership import LABEL, Orphan, guard
from harness.cluster.view.state import ClusterView
from harness.cluster.view.zookeeper import ZooKeeperView
from harness.distribution.kafka_home import find
from harness.host.java import find_java
from harness.model.run_folder import RunFolder

AFTERWARDS_S = 60.0  # what a run may need beyond its time limit, to end in order
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def build(folder: RunFolder, record: Mapping[str, Any]) -> Cluster:
    """The cluster of a prepared run, not yet started."""
    return BACKENDS[record["backend"]].make(folder, record)


def view_of(cluster: Cluster, topic: str, partitions: int) -> ClusterView:
    """ZooKeeper's view where the ensemble is ours to ask, else what the cluster's brokers say."""
    if zookeepers(cluster.nodes) and not isinstance(cluster, Foreign):
        return ZooKeeperView(cluster.nodes, topic, partitions)
    from harness.cluster.view.brokers import AskedView  # noqa: PLC0415  see harness.cluster.link

    return AskedView(cluster.nodes, topic, partitions, client_settings(cluster))


def _local(folder: RunFolder, record: Mapping[str, Any]) -> Cluster:
    scenario = record["scenario"]
    home_folder = record["kafka_home"]
    home, java = find(Path(home_folder) if home_folder else None), find_java()
    return LocalCluster(
        nodes=local_nodes(scenario["cluster"]["zookeepers"], scenario["cluster"]["brokers"]),
        home=home,
        java=java,
        scratch=private_tmpfs(),
        logs=folder.logs,
        keep_data_in=folder.path / "data" if record["keep"] else None,
        server=_server(scenario),
        zoo=scenario["cluster"]["zoo"],
        versions={
            "kafka": home.version,
            "zookeeper": home.zookeeper_version,
            "java": java.version,
        },
    )


def _kubernetes(folder: RunFolder, record: Mapping[str, Any]) -> Cluster:
    if access.attaches(record["scenario"]):
        return _attached(folder, record)
    from harness.cluster.kubernetes.api import (  # noqa: PLC0415
        Api,
        configuration,
        minikube_profile,
    )

    scenario, name = record["scenario"], access.namespace_of(folder.run_id)
    wanted = scenario["backend"]["kubernetes"]
    context, namespace = wanted["context"], wanted["namespace"] or name
    api = Api(configuration(context), namespace)
    version = api.version()
    if wanted["namespace"]:
        ours = LABEL in (api.namespace_labels() or {})
        guard(namespace, ours=ours, named=namespace, allowed=record["allow"])
    folder.update(cluster={"namespace": namespace, "context": context})
    sizes, rendered = scenario["cluster"], manifests.rendered(access.manifests_of(scenario))
    if profile := minikube_profile(context):
        minikube.bring(profile, manifests.images(rendered).values())
    return KubernetesCluster(
        nodes=manifests.pod_nodes(sizes["zookeepers"], sizes["brokers"]),
        api=api,
        manifests=rendered,
        logs=folder.logs,
        labels={LABEL: name},
        own=not wanted["namespace"],
        server=_server(scenario),
        zoo=scenario["cluster"]["zoo"],
        versions={"kubernetes": version, **manifests.images(rendered)},
    )


def _attached(folder: RunFolder, record: Mapping[str, Any]) -> Cluster:
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    scenario, plan = record["scenario"], record["plan"]
    wanted = scenario["backend"]["kubernetes"]
    part, context = wanted["attach"], wanted["context"]
    api = Api(configuration(context), part["namespace"])
    version, labels = api.version(), api.namespace_labels()
    if labels is None:
        raise ClusterError(f"there is no namespace {part['namespace']}")
    if plan:
        name = part["namespace"]
        guard(name, ours=LABEL in labels, named=name, allowed=record["allow"])
    folder.update(cluster={"namespace": part["namespace"], "context": context})
    settings = external.settings_of(part["client"])
    return AttachedCluster(
        nodes=external.brokers_of(scenario, part["bootstrap"], settings),
        api=api,
        selectors=part["selectors"],
        run_id=folder.run_id,
        image=part["image"],
        container=part["container"],
        hands=rules.hands_for(plan),
        named=rules.named(plan),
        limit_s=record["time_limit_s"] + AFTERWARDS_S,
        client_settings=settings,
        versions={"kubernetes": version},
    )


def _server(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The brokers' settings: the scenario's, and what lets a follower serve reads (KIP-392) where
    the workload asks for it.

    With the default fetch wait a follower learns of a new watermark up to half a second late.
    """
    own = {"replica.selector.class": RACK_AWARE, "replica.fetch.wait.max.ms": 10}
    wanted = scenario["workload"]["read_via"] == "follower"
    return {**(own if wanted else {}), **scenario["cluster"]["server"]}


def _docker(folder: RunFolder, record: Mapping[str, Any]) -> Cluster:
    scenario = record["scenario"]
    engine = Engine(connect(), compose.project_of(folder.run_id, secrets.token_hex(2)))
    folder.update(cluster={"project": engine.project})
    image = str(scenario["backend"]["docker"]["image"])
    return DockerCluster(
        nodes=docker_nodes(
            scenario["cluster"]["zookeepers"], scenario["cluster"]["brokers"], engine.host
        ),
        engine=engine,
        logs=folder.logs,
        run_id=folder.run_id,
        image=image,
        server=_server(scenario),
        zoo=scenario["cluster"]["zoo"],
        keep_data_in=folder.path / "data" if record["keep"] else None,
        versions={"docker": engine.version, **compose.images(image)},
    )


def _external(_: RunFolder, record: Mapping[str, Any]) -> Cluster:
    scenario = record["scenario"]
    if record["plan"]:
        name = external.name_of(scenario)
        guard(name, ours=False, named=name, allowed=record["allow"])
    wanted = scenario["backend"]["external"]
    settings = external.settings_of(wanted["client"])
    nodes = external.brokers_of(scenario, wanted["bootstrap"], settings)
    return ExternalCluster(nodes=nodes, client_settings=settings)


def _nothing(_: Mapping[str, Any]) -> str | None:
    """The local backend takes every scenario; what the host lacks is found when it is prepared.
    An external cluster is asked by its run, first of all."""
    return None


def _nothing_left(_: Orphan) -> list[str]:
    return [
        "nothing to heal: the cluster of a local run ends with its harness, and its nodes, "
        "links and rules with it"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """How to make a cluster there, and of which class it is: that tells its capabilities.

    An `enclosed` one lives in the private namespaces of its run and ends with them. One that is not
    may outlive its harness: `heal` then undoes what is left in force, by names and labels, and says
    what it did. `refuses` tells, from a scenario's dump and before anything starts, why it cannot
    be run there; `absent`, from settings alone (`backend.X.KEY`), why there is none to be had here.
    """

    make: Callable[[RunFolder, Mapping[str, Any]], Cluster]
    kind: type
    enclosed: bool
    refuses: Callable[[Mapping[str, Any]], str | None]
    heal: Callable[[Orphan], list[str]]
    absent: Callable[[Mapping[str, Any]], str | None] = _nothing

    def lacks(self, capabilities: Iterable[type]) -> list[str]:
        """Which of these capabilities it does not have, by name."""
        return sorted(c.__name__ for c in capabilities if not issubclass(self.kind, c))


BACKENDS: dict[str, Backend] = {
    "local": Backend(
        make=_local, kind=LocalCluster, enclosed=True, refuses=_nothing, heal=_nothing_left
    ),
    "docker": Backend(
        make=_docker,
        kind=DockerCluster,
        enclosed=False,
        refuses=docker.refuses,
        heal=docker.heal,
        absent=docker.absent,
    ),
    "kubernetes": Backend(
        make=_kubernetes,
        kind=KubernetesCluster,
        enclosed=False,
        refuses=access.refuses,
        heal=access.heal,
        absent=access.absent,
    ),
    "external": Backend(
        make=_external,
        kind=ExternalCluster,
        enclosed=False,
        refuses=external.refuses,
        heal=external.heal,
    ),
}


def absent(backend: str, settings: Mapping[str, Any]) -> str | None:
    """Why a backend is not to be had here, if it is not: asked before a campaign or a benchmark,
    where one whose engine does not answer would fail run after run."""
    if backend not in BACKENDS:
        return "there is no such backend"
    try:
        return BACKENDS[backend].absent(settings)
    except ClusterError as error:
        return str(error)
