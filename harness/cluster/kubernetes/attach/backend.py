"""A Kafka in pods that somebody else made and goes on using, such as one of Strimzi's.

    [backend.kubernetes.attach]
    namespace = "kafka"
    bootstrap = ["192.168.49.2:31094"]      # any of its brokers, as workers on this host reach it
    client = "client.properties"            # TLS and SASL: harness.cluster.client_security
    image = "kafka-harness/kafka:3.9.2"     # of the containers that faults need (guests.py)
    [backend.kubernetes.attach.selectors]
    brokers = "strimzi.io/cluster=my-cluster,strimzi.io/name=my-cluster-kafka"
    zookeepers = "strimzi.io/cluster=my-cluster,strimzi.io/name=my-cluster-zookeeper"

Brokers are those that its metadata name, dialled where they say; the number at the end of a pod's
name is its broker's id. ZooKeepers, zk<number>, are known as other ends of cuts only: who leads the
brokers tell. The run's topic and group are its own and removed (harness.run.topic). Faults need
`--allow NAMESPACE`; the namespace, its pods and their specs stay, but for the containers put in.

A broker cannot be killed or stopped there: the kubelet begins its container again at once. Nothing
may restart unordered (a liveness probe during a fault): the run would be unknown, as in own pods.
"""

from __future__ import annotations

import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cluster.capabilities import Cluster, NodeState
from harness.cluster.exec import sidecar
from harness.cluster.exec.host_processes import Here
from harness.cluster.external.backend import KEEPS_ALL
from harness.cluster.kubernetes.attach import ephemeral_containers
from harness.cluster.kubernetes.attach.ephemeral_containers import LINKS, PROCESS
from harness.cluster.kubernetes.attach.rules import ends_of, is_node, numbered, placed
from harness.cluster.kubernetes.pods import Pod, PodWatch, must_last
from harness.cluster.kubernetes.sidecars import NO_PROCESS, Holders
from harness.cluster.nodes import ClusterError, Node, brokers
from harness.waiting import WaitTimeout, wait_until

if TYPE_CHECKING:  # the class can be known without the extra `kubernetes`
    from harness.cluster.kubernetes.api import Api

ZOOKEEPER_PORT = 2181
READY_LIMIT_S = 60.0
HELD, SEEN_LIMIT_S = 5, 20.0  # connections that are held to be told among others


@dataclass(kw_only=True)
class AttachedCluster(Cluster):
    """A cluster that is there: Cluster, Secured, Foreign, Links, Pods, Preparable, and Processes as
    far as pauses go.

    `nodes` are the brokers as they are dialled. `hands` are the kinds of containers to put into
    pods, `named` the words by which faults name other ends; a container of the run ends after
    `limit_s` in any case.
    """

    nodes: tuple[Node, ...]
    api: Api
    selectors: Mapping[str, str]  # brokers, zookeepers
    run_id: str
    image: str
    container: str
    hands: Collection[str]
    named: Collection[str]
    limit_s: float
    client_settings: Mapping[str, str] = field(repr=False)
    client_address: str = ""
    topic_config: Mapping[str, Any] = field(default_factory=lambda: dict(KEEPS_ALL))
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._prefix = ephemeral_containers.of_run(self.run_id)
        self._here = Here()
        self._holders: dict[str, Holders] = {}
        self._pods: dict[str, str] = {}  # node's name -> pod's
        self._uids: dict[str, str] = {}  # of successors that links reach
        self._watch: PodWatch | None = None
        self._put = False  # whether containers of ours may be there
        self._closed = False

    # Preparable

    def prepare(self, ways: frozenset[str]) -> None:
        """Pods may only be deleted where their nodes' data outlive them."""
        must_last(ways)
        for pod in self.api.pods(self.selectors["brokers"]).values():
            if lost := [volume for volume in pod.volatile if volume.startswith("data")]:
                raise ClusterError(
                    f"deleting pod {pod.name} would take its broker's data along: "
                    f"its volume {lost[0]} is an emptyDir"
                )

    # Cluster

    def start(self) -> None:
        """Find every node's pod, and get the hands in that the faults need."""
        pods = self._find()
        if busy := ephemeral_containers.at_work({pod.name: pod for pod in pods.values()}):
            raise ClusterError(
                f"another run has its hand in pod {busy}: wait for its end or, if it was "
                "killed, heal it: kafka-harness heal --backend kubernetes --cluster "
                f"{self.api.namespace}"
            )
        self._put = True
        ephemeral_containers.put_into(
            self.api, {pod.name: self._containers(n, pod, self.hands) for n, pod in pods.items()}
        )
        for kind in self.hands:
            places = {n: p for n, p in self._pods.items() if kind == LINKS or _is_broker(n)}
            self._holders[kind] = Holders(self.api, f"{self._prefix}{kind}", places)
            self._holders[kind].open()
        self.client_address = self._here.source_towards(brokers(self.nodes)[0].dial)
        if {"clients", "everyone"} & set(self.named):
            self._see_clients(pods)
        self._watch = PodWatch(pods, self._look, self._adopt)
        self._watch.start()

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker beside the harness; its stderr goes to `log`."""
        return self._here.spawn(argv, log=log)

    def close(self) -> None:
        """Take our hands out; all else stays. Raises ClusterError when something had happened that
        was not ordered, or a container of ours cannot be told to end."""
        if self._closed:
            return
        self._closed = True
        if self._watch is not None:
            self._watch.stop()
        for each in self._holders.values():
            each.close()
        self._here.close()
        if self._put:
            ephemeral_containers.end(self.api, self._prefix)
        self._check()

    # Processes

    def signal(self, node: Node, number: signal.Signals) -> None:
        """STOP and CONT, from the container that shares the node's processes."""
        self._check()
        if number not in (signal.SIGSTOP, signal.SIGCONT):
            raise ClusterError(f"{number.name} would end the container of {node.name}")
        self._holders[PROCESS].signal(node.name, number)

    def start_node(self, node: Node) -> None:
        """Nobody but the kubelet starts a node there."""
        raise ClusterError(f"{node.name} is started by Kubernetes only")

    def state(self, node: Node) -> NodeState:
        """The node's JVM, where a fault has to do with it."""
        self._check()
        holders = self._holders.get(PROCESS)
        return holders.state(node.name) if holders else NO_PROCESS

    def exited_early(self, _: Node) -> str | None:
        """What ends there Kubernetes starts, or the watch over pods tells."""
        return None

    # Links

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        """In our container in the node's pod; what clients do is done here."""
        self._check()
        if node.role == "client":
            return self._here.run(argv)
        return self._holders[LINKS].run(node.name, argv)

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
        """Whoever made the pod makes another."""
        self._check()
        assert self._watch is not None
        for each in self._holders.values():
            each.let_go(node.name)
        self._watch.expect(node.name)
        self.api.delete_pod(self._pods[node.name], force=force)

    # Parts

    def _find(self) -> dict[str, Pod]:
        """Every node's pod, by the node's name; nodes have their pods' addresses from now on."""
        found = self.api.pods(self.selectors["brokers"])
        self._pods = placed(brokers(self.nodes), found)
        if self.selectors["zookeepers"]:
            ends = self.api.pods(self.selectors["zookeepers"])
            zoo = {f"zk{numbered(name)}": name for name in sorted(ends)}
            self.nodes = (*(_zookeeper(name, pod) for name, pod in zoo.items()), *self.nodes)
            self._pods |= zoo
        if unknown := sorted(n for n in self.named if is_node(n) and n not in self._pods):
            raise ClusterError(f"there is no {unknown[0]}, only {', '.join(self._pods)}")
        wait_until(
            self._all_ready, timeout_s=READY_LIMIT_S, what="every pod to be ready", every_s=0.5
        )
        pods = self._look()
        self.nodes = tuple(_located(node, pods[node.name]) for node in self.nodes)
        return pods

    def _all_ready(self) -> bool:
        pods = self._look()
        return pods.keys() == self._pods.keys() and all(
            pod.ready and pod.ip and pod.host_ip for pod in pods.values()
        )

    def _look(self) -> dict[str, Pod]:
        """Every node's pod now, those left out that are about to go."""
        found = dict[str, Pod]()
        for selector in filter(None, self.selectors.values()):
            found |= self.api.pods(selector)
        return {
            node: found[pod]
            for node, pod in self._pods.items()
            if pod in found and not found[pod].leaving
        }

    def _containers(self, node: str, pod: Pod, kinds: Collection[str]) -> list[Mapping[str, Any]]:
        """What of these kinds is to be put into a node's pod."""
        if self.container and self.container not in pod.containers and _is_broker(node):
            raise ClusterError(
                f"pod {pod.name} has no container {self.container}, only "
                f"{', '.join(pod.containers)}"
            )
        command = sidecar.command("stay", f"{self.limit_s:.0f}")
        targets = {LINKS: None, PROCESS: self.container or pod.containers[0]}
        return [
            ephemeral_containers.manifest(
                f"{self._prefix}{kind}", self.image, command, targets[kind]
            )
            for kind in sorted(kinds)
            if kind == LINKS or _is_broker(node)
        ]

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
        if PROCESS in self.hands and not pod.ready:
            return False
        self._put_in(PROCESS, name, pod)
        return True

    def _put_in(self, kind: str, name: str, pod: Pod) -> None:
        """Have a hand of that kind in a broker's new pod, if faults need it."""
        if kind in self.hands:
            ephemeral_containers.put_into(self.api, {pod.name: self._containers(name, pod, [kind])})
            self._holders[kind].adopt(name)

    def _see_clients(self, pods: Mapping[str, Pod]) -> None:
        """Ask the pods by which address and at which port workers come to them."""
        ends = {node.name: self._end_of(node) for node in brokers(self.nodes)}
        addresses = {address for address, _ in ends.values()}
        machines = {pod.host_ip for pod in pods.values()}
        if len(addresses) > 1 or addresses & machines:
            raise ClusterError(
                f"workers come to the pods as {', '.join(sorted(addresses))}, which others do too "
                "(a machine's address, as of the kubelet's probes): let the listener keep their "
                "own (externalTrafficPolicy: Local), or leave clients out of the faults"
            )
        (self.client_address,) = addresses
        self.nodes = tuple(
            replace(n, port=ends[n.name][1]) if n.name in ends else n for n in self.nodes
        )

    def _end_of(self, node: Node) -> tuple[str, int]:
        """This host's address and the node's port, as the node's pod has them of a connection."""
        show = ["ss", "-tnH", "state", "established"]

        def ends() -> Counter[tuple[str, int]]:
            return ends_of(self._holders[LINKS].run(node.name, show))

        def more() -> tuple[str, int] | None:
            return next((end for end, count in (ends() - before).items() if count >= HELD), None)

        before = ends()
        with ExitStack() as held:
            for _ in range(HELD):
                held.enter_context(socket.create_connection(node.dial, timeout=10))
            try:
                found = wait_until(
                    more,
                    timeout_s=SEEN_LIMIT_S,
                    what=f"the pod of {node.name} to see this host's connections",
                    every_s=0.2,
                )
            except WaitTimeout as error:
                raise ClusterError(str(error)) from None
        assert found is not None
        return found

    def _check(self) -> None:
        """Raise ClusterError when faults in force may have gone without our doing."""
        for each in self._holders.values():
            each.check()
        if self._watch is not None:
            self._watch.check()


def _is_broker(name: str) -> bool:
    return not name.startswith("zk")


def _zookeeper(name: str, pod: str) -> Node:
    return Node(name=name, role="zookeeper", id=numbered(pod), address="", port=ZOOKEEPER_PORT)


def _located(node: Node, pod: Pod) -> Node:
    assert pod.ip
    if node.role == "broker":
        return replace(node, address=pod.ip, dialled=node.dial)
    return replace(node, address=pod.ip, dialled=(pod.ip, node.port))
