"""The address from which workers come to brokers' pods, and the port at which: found in the pods.

A service or another machine may be between, so this host's own address may be unknown there. So
some connections are held to each broker; the address with that many more in its pod is ours.
"""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack

from harness.cluster.nodes import ClusterError, Node
from harness.waiting import WaitTimeout, wait_until

HELD, SEEN_LIMIT_S = 5, 20.0  # connections that are held, to be recognized among others
SHOW = ("ss", "-tnH", "state", "established")

Run = Callable[[Node, Sequence[str]], str]  # a command in a node's pod, and what it printed
End = tuple[str, int]  # this host's address, the node's port


def seen_by(kafkas: Sequence[Node], machines: Collection[str], run: Run) -> dict[str, End]:
    """What each broker's pod sees of a worker's connection, by the broker's name.

    Raises ClusterError where that address is not the workers' alone, such as one of `machines`.
    """
    ends = {node.name: _end_of(node, run) for node in kafkas}
    addresses = {address for address, _ in ends.values()}
    if len(addresses) > 1 or addresses & set(machines):
        raise ClusterError(
            f"the pods see the workers as {', '.join(sorted(addresses))}, an address shared with "
            "other traffic such as kubelet probes: preserve client addresses "
            "(externalTrafficPolicy: Local), or leave clients out of the faults"
        )
    return ends


def _end_of(node: Node, run: Run) -> End:
    def ends() -> Counter[End]:
        return ends_of(run(node, SHOW))

    def more() -> End | None:
        return next((end for end, count in (ends() - before).items() if count >= HELD), None)

    before = ends()
    with ExitStack() as held:
        for _ in range(HELD):
            held.enter_context(socket.create_connection(node.dial, timeout=10))
        try:
            address = wait_until(
                more,
                timeout_s=SEEN_LIMIT_S,
                what=f"the pod of {node.name} to see this host's connections",
                every_s=0.2,
            )
        except WaitTimeout as error:
            raise ClusterError(str(error)) from None
    assert address is not None
    return address


def ends_of(listing: str) -> Counter[End]:
    """How many connections there are by the other end's address and the own port (ss -tnH)."""
    own, other = r"\S*[\d.a-f]\]?:(\d+)", r"\[?(?:::ffff:)?([\d.]+|[\da-f:]+)\]?:\d+"
    pairs = re.findall(rf"{own}\s+{other}\s*$", listing, re.MULTILINE)
    return Counter((address, int(port)) for port, address in pairs)
