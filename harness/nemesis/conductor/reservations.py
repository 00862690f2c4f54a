"""What faults have for themselves while they are in force: a node's process, its disk, its clock.

Two faults that hold the same thing wait for each other. A verb says what it holds at each node
(`Verb.holds`), and whether there may be one such fault in the whole cluster (`Verb.alone`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from harness.cluster.nodes import Node
from harness.nemesis.target import NoTarget
from harness.nemesis.verb import Verb


class Reservations:
    """Which step holds what of which node; safe to use from every series' thread."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], int] = {}  # (what, node) -> step
        self._lock = threading.Lock()

    def take(self, step: int, verb: Verb, nodes: Sequence[Node]) -> None:
        """Let the step hold at its nodes what its verb needs. Raises NoTarget when another does."""
        wanted = {(verb.holds, node.name) for node in nodes if verb.holds}
        wanted |= {("assignment", "the topic")} if verb.alone else set()
        with self._lock:
            for what, node in wanted & self._taken.keys():
                raise NoTarget(f"another fault is using the {what} of {node}")
            self._taken |= dict.fromkeys(wanted, step)

    def give_back(self, step: int) -> None:
        """The step holds nothing any more."""
        with self._lock:
            self._taken = {key: each for key, each in self._taken.items() if each != step}
