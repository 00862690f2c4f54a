"""Waits until a node is up while a cluster starts, on every backend."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.cluster.nodes import ClusterError, Node
from harness.cluster.view.zookeeper import serves
from harness.waiting import WaitTimeout, wait_until

_SAYS = re.compile(r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error): (.+)")


def await_up(
    node: Node,
    up: Callable[[], bool],
    *,
    limit_s: float,
    last_lines: Callable[[], str],
    every_s: float = 0.3,
) -> None:
    """Return once the node is `up`, which raises ClusterError where it never will be.

    Raises ClusterError with the cause that the node's log names, and its last lines.
    """
    try:
        wait_until(up, timeout_s=limit_s, what=f"{node.name} to come up", every_s=every_s)
    except (WaitTimeout, ClusterError) as error:
        log = last_lines()
        cause = cause_in(log)
        raise ClusterError(f"{error}{f': {cause}' if cause else ''}", log=log) from None


def keeper_serves(node: Node) -> bool:
    """Whether a node that keeps the metadata serves: as a member of its ensemble, or a controller
    that says which requests it understands."""
    if node.role != "controller":
        return serves(node)
    # Takes a tenth of a second to import, and few runs need it.
    from harness.cluster.view.quorum import answers  # noqa: PLC0415

    return answers(node)


def cause_in(log: str) -> str | None:
    """What the last exception in a node's log says; None where there is none.

    Caused by: java.lang.IllegalArgumentException: requirement failed: a is b  =>  a is b
    """
    causes = _SAYS.findall(log)
    return str(causes[-1]).removeprefix("requirement failed: ").strip() if causes else None
