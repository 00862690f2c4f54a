"""A Kafka cluster in pods, driven by the API server.

What is done to a node is done in its pod's sidecar, which sees its processes and its network:

    rules      iptables there; they go with the pod
    signals    sent from there. Before one that ends the JVM the order `held` is written into the
               folder that both containers have: k8s/base/node.sh then leaves the JVM down until it
               is told to start, and the kubelet has nothing to restart

A pod that was replaced, or a container that the kubelet has restarted, is noticed (pods.py).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cluster import node_settings as node_config
from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.exec.host_processes import Here
from harness.cluster.kubernetes import manifests
from harness.cluster.kubernetes.pods import Pod, PodWatch, must_last
from harness.cluster.kubernetes.sidecars import NO_PROCESS, Holders
from harness.cluster.nodes import ClusterError, Node, brokers, zookeepers
from harness.cluster.ownership import LABEL
from harness.cluster.view.zookeeper import serves
from harness.waiting import WaitTimeout, wait_until

if TYPE_CHECKING:  # the class can be known without the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

POD_LIMIT_S = 120.0
START_LIMIT_S = 120.0
END_LIMIT_S = 90.0
ORDERS = "/run/kafka-harness"
HOLDER, NODE = "holder", "node"  # the containers of a pod
ENDING = (signal.SIGKILL, signal.SIGTERM)
PATIENCE = 3  # restarts of a container that is coming up, after which it never will


@dataclass(kw_only=True)
class KubernetesCluster(Cluster):
    """Nodes in pods of one namespace; implements Cluster, Processes, Links, Pods,
    Machines and Preparable."""

    nodes: tuple[Node, ...]
    api: Api
    manifests: Sequence[manifests.Manifest]
    logs: Path
    labels: Mapping[str, str]  # of everything of this run, and of nothing else
    own: bool = True  # whether the namespace is made for the run, and goes with it
    server: node_config.Settings = field(default_factory=dict)
    zoo: node_config.Settings = field(default_factory=dict)
    client_address: str = ""  # known once the nodes are
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._inside = "KUBERNETES_SERVICE_HOST" in os.environ
        self._ports: dict[str, int] = {}
        self._watch: PodWatch | None = None
        self._holders = Holders(
            self.api, HOLDER, {node.name: manifests.pod_name(node) for node in self.nodes}
        )
        self._here = Here()
        self._made = False  # whether there may be anything to remove
        self._closed = False

    # Preparable

    def prepare(self, ways: frozenset[str]) -> None:
        """Pods may only be deleted where their nodes' data outlive them."""
        if must_last(ways) and not manifests.keeps_data(self.manifests):
            raise ClusterError(
                "a deleted pod would take its node's data along, which these manifests keep on an "
                "emptyDir: take the component k8s/claims, or leave the fault out"
            )

    # Cluster

    def start(self) -> None:
        """Make the namespace and all in it; wait until every broker takes connections."""
        self._apply()
        wait_until(
            self._placed, timeout_s=POD_LIMIT_S, what="every pod to have an address", every_s=0.2
        )
        pods = self._look()
        self.nodes = tuple(self._located(node, pods[node.name]) for node in self.nodes)
        self.client_address = self._here.source_towards(self.nodes[0].dial)
        for member in zookeepers(self.nodes):
            self._await_up(member, partial(serves, member))
        for broker in brokers(self.nodes):
            self._await_up(broker, partial(self._started, broker))
        self._holders.open()
        self._watch = PodWatch(self._look(), self._look, self._adopt)
        self._watch.start()

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker beside the harness; its stderr goes to `log`."""
        return self._here.spawn(argv, log=log)

    def close(self) -> None:
        """Keep the nodes' logs, then have the namespace removed and wait until it is.

        Raises ClusterError at the end when something had happened that was not ordered.
        """
        if self._closed:
            return
        self._closed = True
        if self._watch is not None:
            self._watch.stop()
        self._holders.close()
        for node in self.nodes:
            self._keep_log(node)
        if self._made and self.own:
            remove(self.api)
        elif self._made:
            remove_from(self.api, self._selector)
        self._here.close()
        self._check()

    # Processes

    def signal(self, node: Node, number: signal.Signals) -> None:
        """From the sidecar; one that ends the JVM holds the node down until it is started."""
        self._check()
        if number in ENDING:
            self._holders.order(node.name, f"rm -f {ORDERS}/started; : >{ORDERS}/held")
        self._holders.signal(node.name, number)

    def start_node(self, node: Node) -> None:
        """Give the order; returns at once."""
        self._holders.order(node.name, f": >{ORDERS}/started; rm -f {ORDERS}/ended {ORDERS}/held")

    def state(self, node: Node) -> NodeState:
        """The node's JVM as its sidecar sees it; none while there is no pod."""
        try:
            return self._holders.state(node.name)
        except ClusterError:
            if node.name in self._look():
                raise
            return NO_PROCESS

    def exited_early(self, node: Node) -> str | None:
        """The last log lines of a JVM that has ended by itself; None while it runs."""
        if not self._holders.order(
            node.name, f"[ ! -e {ORDERS}/held ] || cat {ORDERS}/ended || :"
        ).strip():
            return None
        return self.api.log(manifests.pod_name(node), NODE, tail=12) or "no log"

    # Links

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """In the node's sidecar; what clients do is done here."""
        self._check()
        if node.role == "client":
            return self._here.run(argv)
        return self._holders.run(node.name, argv)

    def has_rules(self, node: Node) -> bool:
        """Clients live in this host's network, which is not ours to change."""
        return node.role != "client"

    # Pods

    def pod(self, node: Node) -> str | None:
        """The uid of the node's pod; None while there is none that stays, or no hand in it."""
        self._check()
        assert self._watch is not None
        return self._watch.uid(node.name)

    def delete_pod(self, node: Node, *, force: bool) -> None:
        """What the old pod's container has said is kept first: it goes with it."""
        self._keep_log(node)
        self._let_go(node)
        self.api.delete_pod(manifests.pod_name(node), force=force)

    # Machines

    def machine(self, node: Node) -> str | None:
        """The machine that the node's pod is on."""
        found = self._look().get(node.name)
        return found.machine if found else None

    def cordon(self, machine: str) -> None:
        """In the name of the run's namespace, by which heal finds it."""
        self._check()
        self.api.cordon(machine)

    def uncordon(self, machine: str) -> None:
        """If it was this run."""
        self.api.uncordon(machine)

    def cordoned(self, machine: str) -> bool:
        """Whether it takes no pods now."""
        return self.api.cordoned(machine)

    def evict(self, node: Node) -> bool:
        """As `delete_pod`, if no disruption budget forbids it now."""
        self._let_go(node)
        allowed = self.api.evict_pod(manifests.pod_name(node))
        if allowed:
            self._keep_log(node)  # the container has its grace time to end
        else:
            assert self._watch is not None
            self._watch.expect(node.name, ordered=False)
            self._holders.hold_on(node.name)
        return allowed

    # Parts

    def _apply(self) -> None:
        """Services first: they give the node ports that the brokers must tell their clients."""
        made = manifests.of_run(
            self.manifests,
            namespace=self.api.namespace,
            labels=self.labels,
            counts=manifests.counts(self.nodes),
        )
        later = [m for m in made if m["kind"] == "StatefulSet" or _is_settings(m)]
        first = [m for m in made if m not in later and (self.own or m["kind"] != "Namespace")]
        for manifest in sorted(first, key=_namespace_first):
            self.api.create(manifest)
            self._made = True  # not before: a namespace that was there is somebody's
        self._ports = self._node_ports()
        data = manifests.settings(
            self.nodes,
            self.api.namespace,
            server=self.server,
            zoo=self.zoo,
            worker_ports={} if self._inside else self._ports,
        )
        for manifest in sorted(later, key=lambda m: not _is_settings(m)):
            self.api.create({**manifest, "data": data} if _is_settings(manifest) else manifest)

    def _node_ports(self) -> dict[str, int]:
        found = self.api.node_ports(self._selector)
        return {
            node.name: found[manifests.pod_name(node)]
            for node in self.nodes
            if manifests.pod_name(node) in found
        }

    def _look(self) -> dict[str, Pod]:
        """Every node's pod now, those left out that are about to go."""
        found = self.api.pods(self._selector)
        return {
            node.name: pod
            for node in self.nodes
            if (pod := found.get(manifests.pod_name(node))) and not pod.leaving
        }

    @property
    def _selector(self) -> str:
        return ",".join(f"{key}={value}" for key, value in self.labels.items())

    def _placed(self) -> bool:
        pods = self._look()
        for name, pod in pods.items():
            if pod.trouble:
                raise ClusterError(f"{name} did not start: {pod.trouble}")
        return len(pods) == len(self.nodes) and all(p.ip and p.host_ip for p in pods.values())

    def _adopt(self, name: str, pod: Pod) -> bool:
        """Go on with the pod that has come in the place of one that we have had deleted."""
        self._holders.adopt(name)  # its holder listens, before anybody is told of it
        self.nodes = tuple(self._located(n, pod) if n.name == name else n for n in self.nodes)
        return True

    def _let_go(self, node: Node) -> None:
        """Its pod is about to go by our order."""
        self._check()
        assert self._watch is not None
        self._holders.let_go(node.name)
        self._watch.expect(node.name)

    def _check(self) -> None:
        """Raise ClusterError when faults in force may have gone without our doing."""
        self._holders.check()
        if self._watch is not None:
            self._watch.check()

    def _located(self, node: Node, pod: Pod) -> Node:
        """Where it is now: the address of its pod, its port for workers, and where they dial it."""
        assert pod.ip
        assert pod.host_ip
        if self._inside:
            dialled = (manifests.peer_name(node, self.api.namespace), node.port)
            return replace(node, address=pod.ip, dialled=dialled)
        port = manifests.WORKER_PORT if node.role == "broker" else node.port
        dialled = (pod.host_ip, self._ports[node.name])
        return replace(node, address=pod.ip, port=port, dialled=dialled)

    def _await_up(self, node: Node, up: Callable[[], bool]) -> None:
        def settled() -> bool:
            if up():
                return True
            pod = self._look().get(node.name)
            if pod and pod.trouble and pod.restarts >= PATIENCE:
                raise ClusterError(f"{node.name} did not start: {pod.trouble}")
            return False

        try:
            wait_until(
                settled, timeout_s=START_LIMIT_S, what=f"{node.name} to come up", every_s=0.3
            )
        except (WaitTimeout, ClusterError) as error:
            said = self.api.log(manifests.pod_name(node), NODE, tail=12)
            raise ClusterError(f"{error}; its last log lines:\n{said}") from None

    def _started(self, broker: Node) -> bool:
        said = self.api.log(manifests.pod_name(broker), NODE)
        return node_config.STARTED in said and _accepts(broker)

    def _keep_log(self, node: Node) -> None:
        said = self.api.log(manifests.pod_name(node), NODE)
        with (self.logs / f"{node.name}.log").open("a") as file:
            file.write(said)


def remove(api: Api) -> None:
    """Have the namespace removed, what is ours in it first, and wait until it is."""
    api.delete_all(LABEL)
    api.delete_namespace()
    wait_until(
        lambda: api.namespace_labels() is None,
        timeout_s=END_LIMIT_S,
        what=f"namespace {api.namespace} to be gone",
        every_s=0.2,
    )


def remove_from(api: Api, selector: str) -> None:
    """Have what is labelled so removed from a namespace that stays, and wait until it is."""
    api.delete_all(selector)
    wait_until(
        lambda: not api.pods(selector),
        timeout_s=END_LIMIT_S,
        what=f"the pods in {api.namespace} to be gone",
        every_s=0.2,
    )


def _is_settings(manifest: manifests.Manifest) -> bool:
    return bool(
        manifest["kind"] == "ConfigMap" and manifest["metadata"]["name"] == manifests.SETTINGS
    )


def _namespace_first(manifest: manifests.Manifest) -> bool:
    return bool(manifest["kind"] != "Namespace")


def _accepts(broker: Node) -> bool:
    """Whether workers can connect; it is registered before."""
    try:
        socket.create_connection(broker.dial, timeout=1).close()
    except OSError:
        return False
    return True
