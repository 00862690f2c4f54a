"""What the cluster thinks of itself, read from ZooKeeper: leader, ISR, controller, live brokers.

One client's metadata can be stale for a minute and more, so where there is a ZooKeeper to be asked
no broker is; harness.cluster.view.brokers is for clusters without. `Watcher` records every change,
and the stretches in which nobody could be asked ("blind"), in the history.

Znodes (Kafka 3.9): /brokers/topics/T/partitions/P/state = {"leader", "isr", "leader_epoch", ...},
/brokers/topics/T = {"partitions": {P: [replicas, the preferred leader first]}}, /controller =
{"brokerid", ...}, /brokers/ids/N. A leader of -1 means that there is none.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from harness.cluster.nodes import ClusterError, Node, brokers, zookeepers
from harness.cluster.view.coordinators import TOPICS, Coordinated, partition_of
from harness.cluster.view.last_known import Memory, recovered
from harness.cluster.view.state import PartitionState, View

logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # its connection losses are our data


class ZooKeeperView:
    """Asks ZooKeeper; one connection for the whole run, re-made by kazoo when it breaks."""

    def __init__(self, nodes: Sequence[Node], topic: str, partitions: int) -> None:
        self._names = {node.id: node.name for node in brokers(nodes)}
        self.topic = topic
        self.partitions, self.follows_added = partitions, False
        self._client = KazooClient(
            hosts=",".join(node.endpoint for node in zookeepers(nodes)),
            timeout=4.0,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.2),
            command_retry=KazooRetry(max_tries=0),
        )
        self._memory = Memory()

    def connect(self, timeout_s: float) -> None:
        """Begin the session. Raises ClusterError when no member answers."""
        try:
            self._client.start(timeout=timeout_s)
        except KazooTimeoutError:
            raise ClusterError(f"no ZooKeeper member answered in {timeout_s:g} s") from None

    def close(self) -> None:
        """End the session; safe when ZooKeeper is gone."""
        self._client.stop()
        self._client.close()

    def live_brokers(self) -> tuple[str, ...]:
        """Names of the brokers whose ZooKeeper session is alive."""
        try:
            ids = self._client.get_children_async("/brokers/ids").get(timeout=1.0)
        except NoNodeError:
            return ()
        return tuple(sorted(self._names[int(i)] for i in ids))

    def registration(self, broker: Node) -> int | None:
        """Which registration of the broker this is (its znode's czxid); None when there is none.

        One whose process is gone stays until its session ends. Raises one of BLIND.
        """
        try:
            _, stat = self._client.get_async(f"/brokers/ids/{broker.id}").get(timeout=1.0)
        except NoNodeError:
            return None
        return int(stat.czxid)

    def controller(self) -> str | None:
        """The controller's name; None while there is none."""
        znode = self._znode("/controller")
        return self._names.get(znode["brokerid"]) if znode else None

    def coordinator(self, kind: Coordinated, name: str, *, ask: bool = True) -> str | None:
        """The coordinator of a group.id or transactional.id; the last known one while blind, or
        when nobody is to be asked."""
        asked = partial(self._coordinator, TOPICS[kind], name) if ask else None
        return self._memory.coordinator(kind, name, asked)

    def _coordinator(self, topic: str, name: str) -> str | None:
        assignment = self.assignment_of(topic)
        if not assignment:
            return None
        number = partition_of(name, len(assignment))
        return self._partition(topic, number).leader

    def assignment_of(self, topic: str) -> tuple[tuple[str, ...], ...]:
        """Each partition's assigned replicas, preferred leader first; empty without such a topic.

        Raises one of BLIND.
        """
        znode = self._znode(f"/brokers/topics/{topic}")
        replicas = znode["partitions"] if znode else {}
        return tuple(
            tuple(self._names[i] for i in replicas[number]) for number in sorted(replicas, key=int)
        )

    def look(self) -> View:
        """The view now; raises one of BLIND when ZooKeeper cannot be asked."""
        count = self.partitions
        states = tuple(self._partition(self.topic, number) for number in range(count))
        assignment = self.assignment_of(self.topic)[:count]
        return self._memory.keep(
            View(partitions=states, controller=self.controller(), assignment=assignment)
        )

    def agreed(self) -> tuple[PartitionState, ...]:
        """Every partition's state as it is now or later, never older: whichever member is asked
        first catches up with its leader (ZooKeeper's sync). Raises one of BLIND."""
        self._client.sync_async("/brokers").get(timeout=1.0)
        return tuple(self._partition(self.topic, number) for number in range(self.partitions))

    def look_or_last(self) -> View:
        """The view now, or the last one marked as not known."""
        return self._memory.look_or_last(self.look)

    def recovered(self, replicas: int) -> str | None:
        """The sentence that says so once leaders, ISRs and brokers are all there; else None."""
        return recovered(self, self._names.values(), replicas, "registered")

    def _partition(self, topic: str, number: int) -> PartitionState:
        znode = self._znode(f"/brokers/topics/{topic}/partitions/{number}/state")
        if not znode:
            return PartitionState(leader=None, isr=(), leader_epoch=None)
        return PartitionState(
            leader=self._names.get(znode["leader"]),
            isr=tuple(sorted(self._names[i] for i in znode["isr"])),
            leader_epoch=znode["leader_epoch"],
        )

    def _znode(self, path: str) -> dict[str, Any] | None:
        """A znode's JSON; None when there is no such znode. Raises one of BLIND."""
        # Asynchronous with a deadline of our own: a synchronous get waits for the reconnection.
        try:
            data, _ = self._client.get_async(path).get(timeout=1.0)
        except NoNodeError:
            return None
        return dict(json.loads(data))


def ensemble_leader(nodes: Sequence[Node]) -> str | None:
    """The ZooKeeper member that says it leads (four-letter word `srvr`); None when none does."""
    for node in zookeepers(nodes):
        if "Mode: leader" in four_letter_word(node, "srvr"):
            return node.name
    return None


def serves(member: Node) -> bool:
    """Whether a ZooKeeper member is part of an ensemble that serves."""
    return "Mode:" in four_letter_word(member, "srvr")


def four_letter_word(node: Node, word: str) -> str:
    """One ZooKeeper member's answer to a four-letter word; empty when it does not answer."""
    try:
        with socket.create_connection(node.dial, timeout=1) as connection:
            connection.sendall(word.encode())
            return b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    except OSError:
        return ""
