"""A Kafka cluster in pods, driven by the API server.

What is done to a node is done in its pod's sidecar, which sees its processes and its network:

    rules      iptables there; they go with the pod
    signals    sent from there. Before one that ends the JVM the order `held` is written into the
               folder that both containers have: k8s/base/node.sh then leaves the JVM down until it
               is told to start, and the kubelet has nothing to restart

    objects.py         what the run makes in the API server, and removes
    ../pod_access.py   sidecars and the watch over pods, which come and go
    machines.py        the machines that the pods are on
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

from harness.cluster import node_settings
from harness.cluster.capabilities import Cluster, NodeState, Requirements
from harness.cluster.kubernetes import manifests
from harness.cluster.kubernetes.own.machines import CordonedMachines
from harness.cluster.kubernetes.own.objects import RunObjects
from harness.cluster.kubernetes.pod_access import PodAccess, has_rules
from harness.cluster.kubernetes.pod_watch import LASTING_DATA, Pod
from harness.cluster.kubernetes.sidecar_containers import NO_PROCESS, Sidecars
from harness.cluster.nodes import ClusterError, Node, brokers, quorum
from harness.cluster.startup import await_up, keeper_serves
from harness.waiting import wait_until

if TYPE_CHECKING:  # the class can be known without the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

POD_LIMIT_S = 120.0
START_LIMIT_S = 120.0
ORDERS = "/run/kafka-harness"
HOLDER, NODE = "holder", "node"  # the containers of a pod
ENDING = (signal.SIGKILL, signal.SIGTERM)
PATIENCE = 3  # restarts of a container that is coming up, after which it never will
LAST_LINES = 12


@dataclass(kw_only=True)
class KubernetesCluster(Cluster):
    """Nodes in pods of one namespace: Restarts, Links, Pods, Machines, Preparable, Operated."""

    nodes: tuple[Node, ...]
    api: Api
    manifests: Sequence[manifests.Manifest]
    logs: Path
    labels: Mapping[str, str]  # of everything of this run, and of nothing else
    own: bool = True  # whether the namespace is made for the run, and goes with it
    settings: node_settings.ClusterSettings = field(default_factory=node_settings.ClusterSettings)
    client_address: str = ""  # known once the nodes are
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._inside = "KUBERNETES_SERVICE_HOST" in os.environ
        self._objects = RunObjects(
            api=self.api,
            nodes=self.nodes,
            manifests=self.manifests,
            labels=self.labels,
            own=self.own,
            inside=self._inside,
        )
        self._sidecars = Sidecars(
            self.api, HOLDER, {node.name: manifests.pod_name(node) for node in self.nodes}
        )
        self._pods = PodAccess()
        self._machines = CordonedMachines(self.api)
        self._closed = False

    # Preparable

    def prepare(self, requirements: Requirements) -> None:
        """Pods may only be deleted where their nodes' data outlive them."""
        if LASTING_DATA in requirements.ways and not manifests.keeps_data(self.manifests):
            raise ClusterError(
                "a deleted pod would lose its node's data, which these manifests keep on an "
                "emptyDir: use the component k8s/claims, or leave the fault out"
            )

    # Cluster

    def start(self) -> None:
        """Make the namespace and all in it; wait until every broker takes connections."""
        self._objects.make(self.settings)
        placed = self._objects.all_have_addresses
        wait_until(placed, timeout_s=POD_LIMIT_S, what="every pod to have an address", every_s=0.2)
        pods = self._objects.pods()
        self.nodes = tuple(self._located(node, pods[node.name]) for node in self.nodes)
        self.client_address = self._pods.host.source_towards(self.nodes[0].dial)
        for member in quorum(self.nodes):
            self._await_up(member, partial(keeper_serves, member))
        for broker in brokers(self.nodes):
            self._await_up(broker, partial(self._started, broker))
        self._pods.open(HOLDER, self._sidecars)
        self._pods.watch(self._objects.pods(), self._objects.pods, self._adopt)

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker beside the harness; its stderr goes to `log`."""
        return self._pods.host.spawn(argv, log=log)

    def close(self) -> None:
        """Keep the nodes' logs, then have the namespace removed and wait until it is.

        Raises ClusterError at the end when something had happened that was not ordered.
        """
        if self._closed:
            return
        self._closed = True
        self._pods.close()
        for node in self.nodes:
            self._keep_log(node)
        self._objects.remove()
        self._pods.check()

    # Processes, Restarts

    def signal(self, node: Node, number: signal.Signals) -> None:
        """From the sidecar; one that ends the JVM holds the node down until it is started."""
        self._pods.check()
        if number in ENDING:
            self._sidecars.order(node.name, f"rm -f {ORDERS}/started; : >{ORDERS}/held")
        self._sidecars.signal(node.name, number)

    def start_node(self, node: Node) -> None:
        """Give the order; returns at once."""
        self._sidecars.order(node.name, f": >{ORDERS}/started; rm -f {ORDERS}/ended {ORDERS}/held")

    def state(self, node: Node) -> NodeState:
        """The node's JVM as its sidecar sees it; none while there is no pod."""
        try:
            return self._sidecars.state(node.name)
        except ClusterError:
            if node.name in self._objects.pods():
                raise
            return NO_PROCESS

    def exited_early(self, node: Node) -> str | None:
        """The last log lines of a JVM that has ended by itself; None while it runs."""
        ended = f"[ ! -e {ORDERS}/held ] || cat {ORDERS}/ended || :"
        if not self._sidecars.order(node.name, ended).strip():
            return None
        return self._last_lines(node) or "no log"

    # Links

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """In the node's sidecar; what clients do is done here."""
        return self._pods.run(HOLDER, node, argv)

    has_rules = staticmethod(has_rules)

    # Pods

    def pod(self, node: Node) -> str | None:
        """The uid of the node's pod; None while there is none that stays, or no sidecar in it."""
        return self._pods.uid(node)

    def delete_pod(self, node: Node, *, force: bool) -> None:
        """What the old pod's container has said is kept first: it goes with it."""
        self._keep_log(node)
        self._pods.let_go(node)
        self.api.delete_pod(manifests.pod_name(node), force=force)

    # Machines

    def machine(self, node: Node) -> str | None:
        """The machine that the node's pod is on."""
        pod = self._objects.pods().get(node.name)
        return pod.machine if pod else None

    def cordon(self, machine: str) -> None:
        """In the name of the run's namespace, by which heal finds it."""
        self._pods.check()
        self._machines.cordon(machine)

    def uncordon(self, machine: str) -> None:
        """If it was this run."""
        self._machines.uncordon(machine)

    def cordoned(self, machine: str) -> bool:
        """Whether it takes no pods now."""
        return self._machines.cordoned(machine)

    def evict(self, node: Node) -> bool:
        """As `delete_pod`, if no disruption budget forbids it now."""
        self._pods.let_go(node)
        allowed = self.api.evict_pod(manifests.pod_name(node))
        if allowed:
            self._keep_log(node)  # the container has its grace time to end
        else:
            self._pods.keep(node)
        return allowed

    # Parts

    def _adopt(self, name: str, pod: Pod) -> bool:
        """Go on with the pod that has come in the place of one that we have had deleted."""
        self._pods.adopt(HOLDER, name)  # its sidecar listens, before anybody is told of it
        self.nodes = tuple(self._located(n, pod) if n.name == name else n for n in self.nodes)
        return True

    def _located(self, node: Node, pod: Pod) -> Node:
        """Where it is now: the address of its pod, its port for workers, and where they dial it."""
        assert pod.ip
        assert pod.host_ip
        if self._inside:
            dialled = (manifests.peer_name(node, self.api.namespace), node.port)
            return replace(node, address=pod.ip, dialled=dialled)
        port = manifests.WORKER_PORT if node.role == "broker" else node.port
        dialled = (pod.host_ip, self._objects.ports[node.name])
        return replace(node, address=pod.ip, port=port, dialled=dialled)

    def _await_up(self, node: Node, serves_now: Callable[[], bool]) -> None:
        def up() -> bool:
            if serves_now():
                return True
            pod = self._objects.pods().get(node.name)
            if pod and pod.trouble and pod.restarts >= PATIENCE:
                raise ClusterError(f"{node.name} did not start: {pod.trouble}")
            return False

        await_up(node, up, limit_s=START_LIMIT_S, last_lines=partial(self._last_lines, node))

    def _started(self, broker: Node) -> bool:
        log = self.api.log(manifests.pod_name(broker), NODE)
        started = any(words in log for words in node_settings.UP[broker.role])
        return started and _accepts(broker)

    def _last_lines(self, node: Node) -> str:
        return self.api.log(manifests.pod_name(node), NODE, tail=LAST_LINES)

    def _keep_log(self, node: Node) -> None:
        log = self.api.log(manifests.pod_name(node), NODE)
        with (self.logs / f"{node.name}.log").open("a") as file:
            file.write(log)


def _accepts(broker: Node) -> bool:
    """Whether workers can connect; it is registered before."""
    try:
        socket.create_connection(broker.dial, timeout=1).close()
    except OSError:
        return False
    return True
