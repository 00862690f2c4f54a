"""The Kubernetes backend: a cluster of the run's own, or one in somebody's pods (attach/).

The client of Kubernetes is imported when it is needed: without the extra `kubernetes` everything
else works.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from harness.cluster.backend import EVERY_NODE, Backend
from harness.cluster.capabilities import (
    Cluster,
    Links,
    Machines,
    Operated,
    Pods,
    Preparable,
    Processes,
    Restarts,
)
from harness.cluster.container_limits import not_in_containers
from harness.cluster.external.cluster import brokers_of
from harness.cluster.external.cluster import settings_of as client_settings_of
from harness.cluster.kubernetes import location, manifests, minikube
from harness.cluster.kubernetes.attach import rules
from harness.cluster.kubernetes.attach.cluster import AttachedCluster, AttachedWithSidecars
from harness.cluster.kubernetes.leftovers import heal
from harness.cluster.kubernetes.own.cluster import KubernetesCluster
from harness.cluster.node_settings import settings_of
from harness.cluster.nodes import ClusterError, Role, in_racks
from harness.cluster.ownership import LABEL, guard
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import ClusterRecord, RunRecord
from harness.model.scenario import Scenario

AFTERWARDS_S = 60.0  # what a run may need beyond its time limit, to end in order


def make(folder: RunFolder, record: RunRecord) -> Cluster:
    """The cluster of a run; where it is goes on record before anything starts."""
    if location.attaches(record.scenario):
        return _attached(folder, record)
    return _own(folder, record)


def _own(folder: RunFolder, record: RunRecord) -> Cluster:
    from harness.cluster.kubernetes.api import (  # noqa: PLC0415
        Api,
        configuration,
        minikube_profile,
    )

    sizes, wanted = record.scenario.cluster, record.scenario.backend.kubernetes
    name = location.namespace_of(folder.run_id)
    api = Api(configuration(wanted.context), wanted.namespace or name)
    version = api.version()
    if wanted.namespace:
        ours = LABEL in (api.namespace_labels() or {})
        guard(wanted.namespace, ours=ours, named=wanted.namespace, allowed=record.allow)
    folder.update(cluster=ClusterRecord(namespace=api.namespace, context=wanted.context))
    rendered = _rendered(location.manifests_of(record.scenario), _release_of(record.scenario))
    if profile := minikube_profile(wanted.context):
        minikube.bring(profile, manifests.images(rendered).values())
    return KubernetesCluster(
        nodes=in_racks(manifests.pod_nodes(sizes), sizes.racks),
        api=api,
        manifests=rendered,
        logs=folder.logs,
        labels={LABEL: name},
        own=not wanted.namespace,
        settings=settings_of(record.scenario),
        versions={"kubernetes": version, **manifests.images(rendered)},
    )


def _attached(folder: RunFolder, record: RunRecord) -> Cluster:
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    wanted = record.scenario.backend.kubernetes
    part, context = wanted.attach, wanted.context
    api = Api(configuration(context), part.namespace)
    version, labels = api.version(), api.namespace_labels()
    if labels is None:
        raise ClusterError(f"there is no namespace {part.namespace}")
    if record.hits_nodes:
        name = part.namespace
        guard(name, ours=LABEL in labels, named=name, allowed=record.allow)
    folder.update(cluster=ClusterRecord(namespace=part.namespace, context=context))
    settings = client_settings_of(part.client)
    attached = AttachedWithSidecars if part.image else AttachedCluster
    return attached(
        nodes=brokers_of(record.scenario, part.bootstrap, settings),
        api=api,
        selectors=part.selectors,
        run_id=folder.run_id,
        image=part.image,
        container=part.container,
        limit_s=record.time_limit_s + AFTERWARDS_S,
        client_settings=settings,
        versions={"kubernetes": version},
    )


def capabilities(scenario: Scenario) -> frozenset[type]:
    """What a sidecar in each pod can do; in pods that are not ours less."""
    if location.attaches(scenario):
        return rules.capabilities(scenario)
    return frozenset({Processes, Restarts, Links, Pods, Machines, Preparable, Operated})


def hits(scenario: Scenario) -> frozenset[Role]:
    """ZooKeepers in somebody's pods are known as other ends of cuts only."""
    return EVERY_NODE - {"zookeeper"} if location.attaches(scenario) else EVERY_NODE


def because(scenario: Scenario, capability: type) -> str:
    """Why its cluster lacks a capability, where there is more to say."""
    return rules.because(scenario, capability) if location.attaches(scenario) else ""


def refuses(scenario: Scenario) -> str | None:
    """Why a scenario cannot be run there, before anything starts."""
    if location.attaches(scenario):
        return rules.refuses(scenario)
    if why := not_in_containers(scenario.cluster):
        return why
    source = location.manifests_of(scenario)
    if not source.exists():
        return f"backend.kubernetes.manifests: there is no {source}"
    return None


def image(scenario: Scenario) -> str:
    """What its brokers are made of; in somebody's pods nobody knows. Raises ClusterError."""
    if location.attaches(scenario):
        return ""
    if why := location.without_client():
        raise ClusterError(why)
    return _image_in(location.manifests_of(scenario), _release_of(scenario))


@cache
def _image_in(source: Path, release: str | None) -> str:
    """Rendered once for all runs of a command."""
    return manifests.images(_rendered(source, release)).get("kafka", "")


def _rendered(source: Path, release: str | None) -> list[manifests.Manifest]:
    """What the cluster is made of; `release` is that of the harness's own image there."""
    rendered = manifests.rendered(source)
    return rendered if release is None else manifests.of_release(rendered, release)


def _release_of(scenario: Scenario) -> str | None:
    """The release of our image; None where manifests of somebody's name one."""
    return None if scenario.backend.kubernetes.manifests else scenario.cluster.release


def containers(record: RunRecord) -> list[str]:
    """The uids of the run's pods, in both ways in which control groups spell them."""
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    where = record.cluster or ClusterRecord()
    pods = Api(configuration(where.context or ""), where.namespace or "").pods(LABEL).values()
    return [uid for pod in pods for uid in (pod.uid, pod.uid.replace("-", "_"))]


KUBERNETES = Backend(
    make=make,
    capabilities=capabilities,
    enclosed=False,
    heal=heal,
    hits=hits,
    because=because,
    refuses=refuses,
    absent=location.absent,
    image=image,
    containers=containers,
)
