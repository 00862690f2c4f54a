"""The local backend's network: made once inside the run's own network namespace, by ip(8).

    br0 10.77.0.1 (the harness)   zk1..  10.77.0.11..   kafka1.. 10.77.0.21..   clients 10.77.0.101

The bridge has no uplink and no namespace has a default route.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.cluster.capabilities import CannotPrepare
from harness.cluster.nodes import ClusterError, Node
from harness.host import system_packages

CLIENT_ADDRESS = "10.77.0.101"
NETEM = "netem"  # the way in which nodes are started where the kernel must have it
CLIENTS = "clients"  # the network namespace of the workers


def try_netem() -> None:
    """Raises CannotPrepare on a kernel without netem."""
    netem = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    try:
        run(netem)
    except ClusterError:
        raise CannotPrepare(
            NETEM,
            "this host's kernel has no netem (module sch_netem): load it, or use another host or "
            "fault",
        ) from None
    run(["tc", "qdisc", "del", "dev", "lo", "root"])


def make_network(nodes: Sequence[Node]) -> None:
    """A bridge, and for every node and for the clients a namespace with one veth to it."""
    hosts = [(node.name, node.address) for node in nodes] + [(CLIENTS, CLIENT_ADDRESS)]
    for name, _ in hosts:
        run(["ip", "netns", "add", name])
    lines = ["link set lo up", "link add br0 type bridge", "link set br0 up"]
    lines += ["address add 10.77.0.1/24 dev br0"]
    for name, _ in hosts:
        lines += [f"link add v-{name} type veth peer name eth0 netns {name}"]
        lines += [f"link set v-{name} master br0 up"]
    _ip_batch(lines)
    for name, address in hosts:
        setup = ["link set lo up", f"address add {address}/24 dev eth0", "link set eth0 up"]
        _ip_batch(setup, name)


def _ip_batch(lines: Sequence[str], namespace: str | None = None) -> None:
    where = ["-n", namespace] if namespace else []
    run(["ip", *where, "-batch", "-"], "\n".join(lines))


def run(argv: Sequence[str], text: str | None = None) -> str:
    """Run a command and return what it printed. Raises ClusterError with what it complained of."""
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ClusterError(system_packages.if_a_program(error) or str(error)) from None
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(argv)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def start_in(namespace: str, argv: Sequence[str], log: Path) -> subprocess.Popen[str]:
    """Start a program there: its stdin and stdout are pipes, its stderr goes to `log`."""
    with log.open("a") as stderr:
        return subprocess.Popen(
            ["ip", "netns", "exec", namespace, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )


def start_beside(node: Node, argv: Sequence[str]) -> subprocess.Popen[str]:
    """Start a program in the node's network namespace: its input is empty, its stdout, errors
    included, a pipe. It ends with the run's pid namespace."""
    return subprocess.Popen(
        ["ip", "netns", "exec", node.name, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
