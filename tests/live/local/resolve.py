"""Run beside a cluster by `kafka-harness up`: resolves every target, prints what it means as JSON.

Prints also where the brokers themselves wrote a group and a transactional id down: which partition
of the internal topic, by its log's size, and who leads each of them. Then every ZooKeeper member
is killed, and targets are resolved once more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random

from confluent_kafka import Consumer, Producer

from harness.clients.defaults import transactional_id
from harness.cluster.admin.admin import Admin
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import brokers
from harness.cluster.view.coordinators import TOPICS
from harness.cluster.view.state import BLIND
from harness.cluster.view.zookeeper import ZooKeeperView, ensemble_leader
from harness.nemesis.targets import TARGETS, NoTarget, Roles, resolve
from harness.waiting import wait_until

NODES = local_nodes(3, 3)
# As a scenario's first producer has it.
ITS_OWN = str(transactional_id({"transactional.id": "the-transactions"}, 0))
NAMES = {"group": "the/group", "transaction": ITS_OWN}
SERVERS = {"bootstrap.servers": ",".join(node.endpoint for node in brokers(NODES))}


def written_to() -> dict[str, list[int]]:
    """Join a group, begin a transaction; which internal partitions the brokers wrote that to."""
    member = Consumer({**SERVERS, "group.id": NAMES["group"], "session.timeout.ms": 6000})
    member.subscribe(["t"])
    wait_until(lambda: member.poll(0.1) or member.assignment(), timeout_s=60, what="the group")
    writer = Producer({**SERVERS, "transactional.id": NAMES["transaction"]})
    writer.init_transactions(60)
    return {kind: _not_empty(topic) for kind, topic in TOPICS.items()}


def _not_empty(topic: str) -> list[int]:
    logs = Path("/run/kafka-harness").glob(f"kafka*/{topic}-*/*.log")
    return sorted({int(log.parent.name.rpartition("-")[2]) for log in logs if log.stat().st_size})


def roles(view: ZooKeeperView) -> Roles:
    return Roles(
        nodes=NODES,
        view=view.look_or_last(),
        random=Random(1),
        ensemble_leader=partial(ensemble_leader, NODES),
        coordinator=lambda kind: view.coordinator(kind, NAMES[kind]),
    )


def meant(view: ZooKeeperView) -> dict[str, object]:
    found: dict[str, object] = {}
    now = roles(view)  # once: a look at a ZooKeeper that is dead takes a second
    for target in TARGETS:
        try:
            found[target] = [node.name for node in resolve(target, now)]
        except NoTarget:
            found[target] = None
    return found


def main() -> None:
    Admin(NODES).topics.create("t", [[2, 3, 1]], {})
    view = ZooKeeperView(NODES, "t", 1)
    view.connect(30)
    wait_until(lambda: view.recovered(3), timeout_s=60, what="the ISR", ignoring=BLIND)
    told: dict[str, object] = {"written": written_to()}
    told["targets"], told["view"] = meant(view), view.look().as_record()
    told["leaders"] = {
        kind: [view._partition(topic, n).leader for n in range(len(view.assignment_of(topic)))]
        for kind, topic in TOPICS.items()
    }
    java = subprocess.run(
        ["pgrep", "-f", "QuorumPeerMain"], capture_output=True, text=True, check=True
    )
    for pid in java.stdout.split():  # in this cluster's own pid namespace
        os.kill(int(pid), signal.SIGKILL)
    wait_until(lambda: not view.look_or_last().known, timeout_s=30, what="blindness")
    told["blind"], told["known"] = meant(view), view.look_or_last().known
    sys.stdout.write(f"TOLD {json.dumps(told)}\n")
    sys.stdout.flush()
    os._exit(0)  # clients of a cluster that is going away would wait


if __name__ == "__main__":
    main()
