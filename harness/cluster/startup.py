"""Waiting until a node is up while a cluster starts, on every backend."""

from __future__ import annotations

from collections.abc import Callable

from harness.cluster.nodes import ClusterError, Node
from harness.waiting import WaitTimeout, wait_until


def await_up(
    node: Node,
    up: Callable[[], bool],
    *,
    limit_s: float,
    last_lines: Callable[[], str],
    every_s: float = 0.3,
) -> None:
    """Return once the node is `up`, which raises ClusterError where it never will be.

    Raises ClusterError with the last lines of the node's log.
    """
    try:
        wait_until(up, timeout_s=limit_s, what=f"{node.name} to come up", every_s=every_s)
    except (WaitTimeout, ClusterError) as error:
        raise ClusterError(f"{error}; its last log lines:\n{last_lines()}") from None
