"""The cluster's manifests: rendered by kustomize, then adapted to one run; pure but for that.

What people change (images, storage, node names, sizes) they change in an overlay of k8s/base or,
with KRaft, of k8s/kraft. The harness changes only what differs from run to run: the namespace, the
labels by which everything of ours is found again, how many nodes there are, and the nodes'
settings; where nobody named manifests of his own, also the release of the harness's own image.
"""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cluster import node_settings as node_config
from harness.cluster.nodes import (
    CONTROLLER_PORT,
    ClusterError,
    Node,
    Role,
    brokers,
    controllers,
    to_come,
    zookeepers,
)
from harness.model.sections.cluster import ClusterPart
from harness.model.sections.image_names import OURS
from harness.model.sections.kafka_releases import NEWEST
from harness.release import MANIFESTS

Manifest = dict[str, Any]

PEER_PORT, WORKER_PORT = 9092, 9094
# Where a node listens for its peers, by its role.
PORTS: Mapping[Role, int] = {
    "zookeeper": 2181,
    "controller": CONTROLLER_PORT,
    "broker": PEER_PORT,
}
DATA: Mapping[Role, str] = {
    "zookeeper": "/data/zookeeper",
    "controller": "/data/controller",
    "broker": "/data/kafka",
}
CLAIMS = "volumeClaimTemplates"
SETTINGS = "settings"  # the ConfigMap that every node reads


def rendered(source: Path) -> list[Manifest]:
    """The manifests of a kustomization's folder, or of a file that was rendered before.

    Raises ClusterError.
    """
    import yaml  # noqa: PLC0415  comes with the extra `kubernetes`

    if source.is_file():
        text = source.read_text()
    elif source.is_dir():
        text = _kustomize(source)
    else:
        raise ClusterError(f"backend.kubernetes.manifests: there is no {source}")
    return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def kustomize() -> list[str]:
    """The command that renders a folder here. Raises ClusterError when there is none."""
    for command in (["kubectl", "kustomize"], ["kustomize", "build"]):
        if shutil.which(command[0]):
            return command
    raise ClusterError(
        "neither kubectl nor kustomize is on the PATH: install one, or name manifests that were "
        "rendered elsewhere (backend.kubernetes.manifests=FILE)"
    )


def _kustomize(folder: Path) -> str:
    done = subprocess.run([*kustomize(), str(folder)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{folder}: kustomize refuses it: {done.stderr.strip()}")
    return done.stdout


def of_run(
    manifests: Iterable[Manifest],
    *,
    namespace: str,
    labels: Mapping[str, str],
    counts: Mapping[str, int],
) -> list[Manifest]:
    """The same manifests in the run's own namespace, with its labels; `counts` says how many nodes
    each StatefulSet has. Raises ClusterError when they have fewer Services than that, or nodes
    that the run has not."""
    made = []
    for manifest in copy.deepcopy(list(manifests)):
        meta = manifest["metadata"]
        if manifest["kind"] == "Namespace":
            meta["name"] = namespace
        else:
            meta["namespace"] = namespace
        meta["labels"] = {**meta.get("labels", {}), **labels}
        if manifest["kind"] == "StatefulSet":
            if meta["name"] not in counts:
                raise ClusterError(
                    f"the manifests have a StatefulSet {meta['name']}, and this cluster is of "
                    f"{' and '.join(counts)}: name an overlay of "
                    f"k8s/{'base' if 'zk' in counts else 'kraft'} in backend.kubernetes.manifests"
                )
            manifest["spec"]["replicas"] = counts[meta["name"]]
            parts = [manifest["spec"]["template"], *manifest["spec"].get(CLAIMS, ())]
            for inner in (part["metadata"] for part in parts):
                inner["labels"] = {**inner.get("labels", {}), **labels}
        made.append(manifest)
    services = {m["metadata"]["name"] for m in made if m["kind"] == "Service"}
    wanted = {f"{name}-{i}" for name, count in counts.items() for i in range(1, count + 1)}
    if missing := sorted(wanted - services):
        raise ClusterError(
            f"the manifests have no Service for {', '.join(missing)}: add one for each"
        )
    return made


def images(manifests: Iterable[Manifest]) -> dict[str, str]:
    """What the nodes are made of: `kafka` and `zookeeper` or `controller` -> image."""
    kinds = {"kafka": "kafka", "zk": "zookeeper", "controller": "controller"}
    return {
        kinds[manifest["metadata"]["name"]]: container["image"]
        for manifest in manifests
        if manifest["kind"] == "StatefulSet" and manifest["metadata"]["name"] in kinds
        for container in manifest["spec"]["template"]["spec"]["containers"]
        if container["name"] == "node"
    }


def of_release(manifests: Iterable[Manifest], release: str) -> list[Manifest]:
    """The same manifests with the harness's own image of that release, wherever they have one."""
    made = copy.deepcopy(list(manifests))
    for manifest in (candidate for candidate in made if candidate["kind"] == "StatefulSet"):
        for container in manifest["spec"]["template"]["spec"]["containers"]:
            if re.fullmatch(rf"{OURS}(:.+)?", container["image"]):
                container["image"] = f"{OURS}:{release}"
    return made


def keeps_data(manifests: Iterable[Manifest]) -> bool:
    """Whether a node's data outlive its pod: not on an emptyDir."""
    return not any(
        volume["name"] == "data" and "emptyDir" in volume
        for manifest in manifests
        if manifest["kind"] == "StatefulSet"
        for volume in manifest["spec"]["template"]["spec"].get("volumes", [])
    )


def pod_nodes(wanted: ClusterPart) -> tuple[Node, ...]:
    """The nodes of a cluster in pods; nobody knows their addresses yet."""
    return to_come(wanted, PORTS)


def pod_name(node: Node) -> str:
    """kafka-1 of kafka1: as the StatefulSet calls it."""
    return re.sub(r"(\d+)$", r"-\1", node.name)


def peer_name(node: Node, namespace: str) -> str:
    """By which the other nodes find it, wherever its pod is."""
    service = node.name.rstrip("0123456789")
    return f"{pod_name(node)}.{service}.{namespace}.svc"


def settings(
    nodes: Sequence[Node],
    namespace: str,
    given: node_config.ClusterSettings,
    worker_ports: Mapping[str, int],
) -> dict[str, str]:
    """The files that the nodes read: one of properties each, log4j's, and what KRaft's nodes format
    their disks with.

    Workers outside come by their machine's address and the node port of each broker (by name);
    without one a broker is known to its peers and to clients in the cluster only.
    """
    files = {"log4j.properties": node_config.LOG4J}
    if kraft := given.metadata != "zookeeper":
        levels = given.features.items()
        files["features"] = "".join(f"{name}={level}\n" for name, level in levels)
    given = replace(given, zoo={"quorumListenOnAllIPs": True, **given.zoo})
    # Inside the cluster nodes are known by name: addresses belong to pods, which come and go.
    named = [_named(node, namespace) for node in nodes]
    for node, inside in zip(nodes, named, strict=True):
        properties = node_config.properties_of(inside, named, DATA[node.role], given)
        if node.role == "controller":
            properties["listeners"] = f"CONTROLLER://:{CONTROLLER_PORT}"
        elif node.role == "broker":
            properties |= _listeners(inside, worker_ports.get(node.name), kraft=kraft)
        files[f"{pod_name(node)}.properties"] = node_config.render(properties)
    return files


def _named(node: Node, namespace: str) -> Node:
    address = peer_name(node, namespace)
    return replace(node, address=address, port=PORTS[node.role], dialled=None)


def _listeners(inside: Node, worker_port: int | None, *, kraft: bool) -> dict[str, str]:
    """HOST_IP stands for the machine's address, which node.sh fills in."""
    listeners, advertised = [f"PEERS://:{PEER_PORT}"], [f"PEERS://{inside.endpoint}"]
    if worker_port is not None:
        listeners.append(f"WORKERS://:{WORKER_PORT}")
        advertised.append(f"WORKERS://HOST_IP:{worker_port}")
    return {
        "listeners": ",".join(listeners),
        "advertised.listeners": ",".join(advertised),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT," * kraft
        + "PEERS:PLAINTEXT,WORKERS:PLAINTEXT",
        "inter.broker.listener.name": "PEERS",
    }


def counts(nodes: Sequence[Node]) -> dict[str, int]:
    """How many nodes each StatefulSet has."""
    kept = {"controller": len(of_quorum)} if (of_quorum := controllers(nodes)) else {}
    return {**(kept or {"zk": len(zookeepers(nodes))}), "kafka": len(brokers(nodes))}


# The folders of k8s with settings of their own, for a cluster that nobody but kubectl has made.
STANDING_ALONE = {
    "base": ClusterPart(),
    "kraft": ClusterPart(kafka=NEWEST),
}


def standing_alone(cluster: ClusterPart) -> dict[str, str]:
    """The settings there."""
    given = node_config.ClusterSettings(metadata=cluster.kept_by)
    return settings(pod_nodes(cluster), "kafka-harness", given, {})


if __name__ == "__main__":
    for where, standing in STANDING_ALONE.items():
        folder = MANIFESTS / where / "settings"
        folder.mkdir(exist_ok=True)
        for name, text in standing_alone(standing).items():
            (folder / name).write_text(text)
