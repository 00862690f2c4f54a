"""The cluster's manifests: rendered by kustomize, then made those of one run; pure but for that.

What people change (images, storage, node names, sizes) they change in an overlay of k8s/base. The
harness changes only what differs from run to run: the namespace, the labels by which everything of
ours is found again, how many nodes there are, and the nodes' settings.
"""

from __future__ import annotations

import copy
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cluster import node_settings as node_config
from harness.cluster.nodes import ClusterError, Node, brokers, zookeepers
from harness.release import MANIFESTS

Manifest = dict[str, Any]

PEER_PORT, WORKER_PORT, ZOOKEEPER_PORT = 9092, 9094, 2181
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
    return [each for each in yaml.safe_load_all(text) if each]


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
    each StatefulSet has. Raises ClusterError when they have fewer Services than that."""
    made = []
    for manifest in copy.deepcopy(list(manifests)):
        meta = manifest["metadata"]
        if manifest["kind"] == "Namespace":
            meta["name"] = namespace
        else:
            meta["namespace"] = namespace
        meta["labels"] = {**meta.get("labels", {}), **labels}
        if manifest["kind"] == "StatefulSet":
            manifest["spec"]["replicas"] = counts[meta["name"]]
            parts = [manifest["spec"]["template"], *manifest["spec"].get(CLAIMS, ())]
            for inner in (part["metadata"] for part in parts):
                inner["labels"] = {**inner.get("labels", {}), **labels}
        made.append(manifest)
    there = {m["metadata"]["name"] for m in made if m["kind"] == "Service"}
    wanted = {f"{name}-{i}" for name, count in counts.items() for i in range(1, count + 1)}
    if missing := sorted(wanted - there):
        raise ClusterError(
            f"the manifests have no Service for {', '.join(missing)}: add one for each"
        )
    return made


def images(manifests: Iterable[Manifest]) -> dict[str, str]:
    """What the nodes are made of: `kafka` and `zookeeper` -> image."""
    kinds = {"kafka": "kafka", "zk": "zookeeper"}
    return {
        kinds[manifest["metadata"]["name"]]: container["image"]
        for manifest in manifests
        if manifest["kind"] == "StatefulSet" and manifest["metadata"]["name"] in kinds
        for container in manifest["spec"]["template"]["spec"]["containers"]
        if container["name"] == "node"
    }


def keeps_data(manifests: Iterable[Manifest]) -> bool:
    """Whether a node's data outlive its pod: not on an emptyDir."""
    return not any(
        volume["name"] == "data" and "emptyDir" in volume
        for manifest in manifests
        if manifest["kind"] == "StatefulSet"
        for volume in manifest["spec"]["template"]["spec"].get("volumes", [])
    )


def pod_nodes(zookeeper_count: int, broker_count: int) -> tuple[Node, ...]:
    """The nodes of a cluster in pods, ZooKeepers first; nobody knows their addresses yet."""
    kinds = (
        ("zookeeper", "zk", zookeeper_count, ZOOKEEPER_PORT),
        ("broker", "kafka", broker_count, PEER_PORT),
    )
    return tuple(
        Node(name=f"{name}{i}", role=role, id=i, address="", port=port)  # type: ignore[arg-type]
        for role, name, count, port in kinds
        for i in range(1, count + 1)
    )


def pod_name(node: Node) -> str:
    """kafka-1 of kafka1: as the StatefulSet calls it."""
    return f"{'kafka' if node.role == 'broker' else 'zk'}-{node.id}"


def peer_name(node: Node, namespace: str) -> str:
    """By which the other nodes find it, wherever its pod is."""
    service = "kafka" if node.role == "broker" else "zk"
    return f"{pod_name(node)}.{service}.{namespace}.svc"


def settings(
    nodes: Sequence[Node],
    namespace: str,
    *,
    server: node_config.Settings,
    zoo: node_config.Settings,
    worker_ports: Mapping[str, int],
) -> dict[str, str]:
    """The files that the nodes read: one of properties each, and log4j's.

    Workers outside come by their machine's address and the node port of each broker (by name);
    without one a broker is known to its peers and to clients in the cluster only.
    """
    files = {"log4j.properties": node_config.LOG4J}
    # Inside the cluster nodes are known by name: addresses belong to pods, which come and go.
    named = [_named(node, namespace) for node in nodes]
    for node, inside in zip(nodes, named, strict=True):
        if node.role == "zookeeper":
            own = {"quorumListenOnAllIPs": True, **zoo}
            properties = node_config.zoo_cfg(inside, named, "/data/zookeeper", own)
        else:
            properties = node_config.server_properties(inside, named, "/data/kafka", server)
            properties |= _listeners(inside, worker_ports.get(node.name))
        files[f"{pod_name(node)}.properties"] = node_config.render(properties)
    return files


def _named(node: Node, namespace: str) -> Node:
    port = PEER_PORT if node.role == "broker" else ZOOKEEPER_PORT
    return replace(node, address=peer_name(node, namespace), port=port, dialled=None)


def _listeners(inside: Node, worker_port: int | None) -> dict[str, str]:
    """HOST_IP stands for the machine's address, which node.sh fills in."""
    listeners, advertised = [f"PEERS://:{PEER_PORT}"], [f"PEERS://{inside.endpoint}"]
    if worker_port is not None:
        listeners.append(f"WORKERS://:{WORKER_PORT}")
        advertised.append(f"WORKERS://HOST_IP:{worker_port}")
    return {
        "listeners": ",".join(listeners),
        "advertised.listeners": ",".join(advertised),
        "listener.security.protocol.map": "PEERS:PLAINTEXT,WORKERS:PLAINTEXT",
        "inter.broker.listener.name": "PEERS",
    }


def counts(nodes: Sequence[Node]) -> dict[str, int]:
    """How many nodes each StatefulSet has."""
    return {"zk": len(zookeepers(nodes)), "kafka": len(brokers(nodes))}


def standing_alone() -> dict[str, str]:
    """The settings in k8s/base, for a cluster that nobody but kubectl has made."""
    return settings(pod_nodes(3, 3), "kafka-harness", server={}, zoo={}, worker_ports={})


if __name__ == "__main__":
    folder = MANIFESTS / "base" / "settings"
    folder.mkdir(exist_ok=True)
    for name, text in standing_alone().items():
        (folder / name).write_text(text)
