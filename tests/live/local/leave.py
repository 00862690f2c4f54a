"""Leaves one thing after the other, as a host would see it, and prints what `traces` sees of each.

    leave.py ours        by the harness's own functions
    leave.py somebodys   much the same by other names

For private namespaces, where this is root and alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from harness.cluster.capabilities import Links
from harness.cluster.local import launch_modes
from harness.cluster.local.backend import local_nodes
from harness.cluster.local.network import make_network, run
from harness.cluster.local.node_files import FOLDER, NodeFiles, private_tmpfs
from harness.cluster.node_settings import ClusterSettings
from harness.nemesis.faults.disks.storage import ASIDE
from harness.nemesis.faults.network import iptables
from tests.support.left_behind import traces

ZK, KAFKA = local_nodes(1, 1)


class Here:
    """A node whose network is this one."""

    def in_network_of(self, _: Any, argv: Sequence[str]) -> str:
        return run(argv)


def own_disk() -> None:
    files = NodeFiles(scratch=FOLDER, nodes=(ZK, KAFKA), settings=ClusterSettings())
    files.make(KAFKA, frozenset({launch_modes.OWN_DISK}))


def frozen_disk() -> None:
    run(["mount", "--bind", f"{FOLDER}/{KAFKA.name}", ASIDE])
    run(["mount", "--move", ASIDE, f"{FOLDER}/{KAFKA.name}"])


def chain(made: iptables.Chain) -> None:
    links = cast(Links, Here())
    iptables.fill(links, KAFKA, made, [["-s", ZK.address, "-j", "DROP"]])
    iptables.hang(links, KAFKA, made)


def shell(command: str) -> Callable[[], object]:
    return lambda: run(["sh", "-ec", command])


OURS: dict[str, Callable[[], object]] = {
    "a run's tmpfs": private_tmpfs,
    "a network": lambda: make_network((ZK, KAFKA)),
    "shared memory": launch_modes.mount_shared_memory,
    "a disk": own_disk,
    "a frozen disk": frozen_disk,
    "a disk on its way": shell(f"mount --bind {FOLDER}/{KAFKA.name} {ASIDE}"),
    "a cut": lambda: chain(iptables.Chain(fault=0)),
    "a cut of answers": lambda: chain(iptables.Chain(fault=1, hook="OUTPUT")),
    "a delay": lambda: chain(iptables.Chain(fault=2, table="mangle")),
}
SOMEBODYS: dict[str, Callable[[], object]] = {
    "mounts": shell("mount -t tmpfs tmpfs /srv; mkdir -p /srv/run; mount --bind /srv /srv/run"),
    "links": shell("ip link add docker0 type bridge; ip link add v-1 type veth peer name veth1"),
    "a namespace": shell("ip netns add lab"),
    "rules": shell("iptables -w -N DOCKER; iptables -w -I INPUT -s 10.77.0.11 -j DROP"),
}


def main() -> None:
    if sys.argv[1] == "somebodys":
        private_tmpfs()  # namespaces have names in /run, which is the host's
    told = {}
    for what, leave in {"ours": OURS, "somebodys": SOMEBODYS}[sys.argv[1]].items():
        before = traces()
        leave()
        told[what] = sorted((traces() - before).elements())
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
