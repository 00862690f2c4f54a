"""A Kafka in pods that somebody else made and goes on using, such as one of Strimzi's.

    [backend.kubernetes.attach]
    namespace = "kafka"
    bootstrap = ["192.168.49.2:31094"]      # any of its brokers, as workers on this host reach it
    client = "client.properties"            # TLS and SASL: harness.cluster.client_security
    image = "kafka-harness/kafka:3.9.2"     # of the containers that faults need
    [backend.kubernetes.attach.selectors]
    brokers = "strimzi.io/cluster=my-cluster,strimzi.io/broker-role=true"
    controllers = "strimzi.io/cluster=my-cluster,strimzi.io/controller-role=true"

Brokers are those that its metadata name, dialled where they say; the number at the end of a pod's
name is its node's id. Controllers of KRaft, controller<id>, can be hit like brokers; they let
nobody in but their cluster's nodes, so who leads them, and who follows, the brokers tell.
ZooKeepers (selectors.zookeepers), zk<number>, are known as other ends of cuts only. The run's topic
and group are its own and removed (harness.run.topic). Faults need `--allow NAMESPACE`; the
namespace, its pods and their specs stay, but for the containers put in.

Nobody can be killed or stopped there: the kubelet begins a container again at once. Nothing
may restart unordered (a liveness probe during a fault): the run would be unknown, as in own pods.

    pod_selection.py          which pod is whose
    run_containers.py         our containers in them; ephemeral_containers.py: how Kubernetes has it
    client_address.py         as whom workers come to them
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cluster.capabilities import Cluster, NodeState, Requirements
from harness.cluster.external.cluster import KEEPS_ALL
from harness.cluster.kubernetes.attach import ephemeral_containers
from harness.cluster.kubernetes.attach.client_address import seen_by
from harness.cluster.kubernetes.attach.ephemeral_containers import LINKS, PROCESS
from harness.cluster.kubernetes.attach.pod_selection import FoundPods
from harness.cluster.kubernetes.attach.run_containers import (
    RunContainers,
    kinds_for,
    runs_kafka,
)
from harness.cluster.kubernetes.pod_access import PodAccess, has_rules
from harness.cluster.kubernetes.pod_watch import LASTING_DATA, Pod
from harness.cluster.kubernetes.sidecar_containers import NO_PROCESS, Sidecars
from harness.cluster.nodes import ClusterError, Node, brokers
from harness.model.scenario import SelectorsPart

if TYPE_CHECKING:  # the class can be known without the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

NAMING_CLIENTS = frozenset({"clients", "everyone"})  # words for other ends that workers are among


@dataclass(kw_only=True)
class AttachedCluster(Cluster):
    """A cluster that is there: Secured, Foreign, Pods, Preparable.

    `nodes` are the brokers as they are dialled; a container of the run ends after `limit_s` in any
    case.
    """

    nodes: tuple[Node, ...]
    api: Api
    selectors: SelectorsPart
    run_id: str
    image: str
    container: str
    limit_s: float
    client_settings: Mapping[str, str] = field(repr=False)
    client_address: str = ""
    topic_config: Mapping[str, Any] = field(default_factory=lambda: dict(KEEPS_ALL))
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._requirements = Requirements()
        self._kinds: frozenset[str] = frozenset()
        self._found = FoundPods(self.api, self.selectors)
        self._containers = RunContainers(
            api=self.api,
            run_id=self.run_id,
            image=self.image,
            container=self.container,
            limit_s=self.limit_s,
        )
        self._pods = PodAccess()
        self._uids: dict[str, str] = {}  # of successors that links reach
        self._put = False  # whether containers of ours may be there
        self._closed = False

    # Preparable

    def prepare(self, requirements: Requirements) -> None:
        """Pods may only be deleted where their nodes' data outlive them."""
        self._requirements, self._kinds = requirements, kinds_for(requirements)
        if LASTING_DATA in requirements.ways:
            self._found.check_data_outlive_pods()

    # Cluster

    def start(self) -> None:
        """Find every node's pod, and put the containers in that the faults need."""
        self.nodes = self._found.select(self.nodes, self._requirements.ends)
        pods = self._found.look()
        self._refuse_second_run(pods)
        self._put = True
        self._containers.put_into([(node, pods[node.name]) for node in self.nodes], self._kinds)
        for kind in sorted(self._kinds):
            self._pods.open(kind, self._sidecars(kind))
        self.client_address = self._pods.host.source_towards(brokers(self.nodes)[0].dial)
        if NAMING_CLIENTS & self._requirements.ends:
            self._learn_client_address(pods)
        self._pods.watch(pods, self._found.look, self._adopt)

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker beside the harness; its stderr goes to `log`."""
        return self._pods.host.spawn(argv, log=log)

    def close(self) -> None:
        """Take our containers out; all else stays. Raises ClusterError when something had happened
        that was not ordered, or a container of ours cannot be told to end."""
        if self._closed:
            return
        self._closed = True
        self._pods.close()
        if self._put:
            self._containers.end()
        self._pods.check()

    # Pods

    def pod(self, node: Node) -> str | None:
        """The uid of the node's pod; None while there is none that stays, or no container in it."""
        return self._pods.uid(node)

    def delete_pod(self, node: Node, *, force: bool) -> None:
        """Whoever made the pod makes another."""
        self._pods.let_go(node)
        self.api.delete_pod(self._found.names[node.name], force=force)

    # Parts

    def _refuse_second_run(self, pods: Mapping[str, Pod]) -> None:
        if busy := ephemeral_containers.at_work({pod.name: pod for pod in pods.values()}):
            raise ClusterError(
                f"another run has a container in pod {busy}: wait for its end or, if it was "
                "killed, heal it: kafka-harness heal --backend kubernetes --cluster "
                f"{self.api.namespace}"
            )

    def _sidecars(self, kind: str) -> Sidecars:
        pods_by_node = {
            node.name: self._found.names[node.name]
            for node in self.nodes
            if kind == LINKS or runs_kafka(node)
        }
        return Sidecars(self.api, f"{self._containers.prefix}{kind}", pods_by_node)

    def _learn_client_address(self, pods: Mapping[str, Pod]) -> None:
        machines = {pod.host_ip for pod in pods.values() if pod.host_ip}
        ends = seen_by(brokers(self.nodes), machines, partial(self._pods.run, LINKS))
        ((self.client_address, _), *_) = ends.values()
        self.nodes = tuple(
            replace(n, port=ends[n.name][1]) if n.name in ends else n for n in self.nodes
        )

    def _adopt(self, name: str, pod: Pod) -> bool:
        """Go on with the pod that has come in the place of one that we have had deleted.

        Links at once; processes when it is ready: its container may be started again until then,
        and would take ours along.
        """
        if self._uids.get(name) != pod.uid:
            self._put_in(LINKS, name, pod)
            self.nodes = tuple(
                replace(n, address=pod.ip or "") if n.name == name else n for n in self.nodes
            )
            self._uids[name] = pod.uid
        if PROCESS in self._kinds and not pod.ready:
            return False
        self._put_in(PROCESS, name, pod)
        return True

    def _put_in(self, kind: str, name: str, pod: Pod) -> None:
        """Have a container of that kind in a broker's new pod, if faults need it."""
        if kind in self._kinds:
            node = next(node for node in self.nodes if node.name == name)
            self._containers.put_into([(node, pod)], [kind])
            self._pods.adopt(kind, name)


@dataclass(kw_only=True)
class AttachedWithSidecars(AttachedCluster):
    """One with an image to make containers of: Links too, and Processes for pauses."""

    # Processes

    def signal(self, node: Node, number: signal.Signals) -> None:
        """STOP and CONT, from the container that shares the node's processes."""
        self._pods.check()
        sidecars = self._pods.sidecars(PROCESS)
        if sidecars is None or number not in (signal.SIGSTOP, signal.SIGCONT):
            raise ClusterError(f"{number.name} cannot be sent to the container of {node.name}")
        sidecars.signal(node.name, number)

    def state(self, node: Node) -> NodeState:
        """The node's JVM, where a fault has to do with it."""
        self._pods.check()
        sidecars = self._pods.sidecars(PROCESS)
        return sidecars.state(node.name) if sidecars else NO_PROCESS

    def exited_early(self, _: Node) -> str | None:
        """What ends there Kubernetes starts, or the watch over pods tells."""
        return None

    # Links

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """In our container in the node's pod; what clients do is done here."""
        return self._pods.run(LINKS, node, argv)

    has_rules = staticmethod(has_rules)
