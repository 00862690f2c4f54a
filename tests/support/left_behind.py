"""What a run left behind: who finds something raises LeftBehind, and CI tries that never again.

What it could leave on this host is told by the names that the harness gives:

    mount    where a run mounts: private_tmpfs, shared memory, ASIDE; below its FOLDER; a node's
             network namespace
    link     br0, v-kafka1
    netns    kafka1, zk1, clients
    rule     with a chain of ours, in either table

Another program's mounts, links and rules come and go meanwhile, and are none of ours.
Cannot see: a queue of tc, and what is within a namespace that lives on; a process keeps it alive.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.cluster.local.network import CLIENTS
from harness.cluster.local.node_files import FOLDER
from harness.nemesis.faults.disks.storage import ASIDE
from harness.nemesis.faults.network.iptables import PREFIX

NODE = rf"(?:zk\d+|kafka\d+|{CLIENTS})"
LINK = re.compile(rf"br0|v-{NODE}")
PLACE = re.compile(rf"/run|/proc|/dev/shm|{ASIDE}|{FOLDER}(?:/.*)?|/run/netns/{NODE}")


class LeftBehind(AssertionError):
    """A process, rule, link, mount, container, pod or file that a run should have taken away."""


def assert_nothing_left(found: Iterable[object]) -> None:
    """Raises LeftBehind, a line for each that was found."""
    if lines := [str(each) for each in found]:
        raise LeftBehind("\n".join(lines))


def traces() -> Counter[str]:
    """Each trace of ours, and how often it is there: a second mount can look as the first."""
    return Counter([*_mounts(), *_links(), *_namespaces(), *_rules()])


def _mounts() -> Iterator[str]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if PLACE.fullmatch(line.split()[1]):
            yield f"mount {line}"


def _links() -> Iterator[str]:
    for line in _lines(["ip", "-o", "link"]):
        name = line.split()[1].rstrip(":").partition("@")[0]
        if LINK.fullmatch(name):
            yield f"link {name}"


def _namespaces() -> Iterator[str]:
    for line in _lines(["ip", "netns"]):
        if re.fullmatch(NODE, line.split()[0]):
            yield f"netns {line.split()[0]}"


def _rules() -> Iterator[str]:
    for table in ("filter", "mangle"):
        for line in _lines(["iptables", "-w", "-t", table, "-S"]):
            if PREFIX in line:
                yield f"rule {table} {line}"


def _lines(argv: Sequence[str]) -> list[str]:
    """What it prints; nothing where an ordinary user may not ask, nor have made any."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()
