"""The sidecar script beside a node whose cluster outlives the harness, and the keepalive that keeps
its timer from undoing faults.

A `Connection` is one attached `watch` of sidecar.sh. `Keepalive` sends a line to each every two
seconds; when the harness dies the lines stop, and each sidecar undoes what was done to its node. A
sidecar that missed them while the harness lived (a host that stood still) reports it: the faults
were not in force all the time, and `check` raises.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Protocol

from harness.cluster.nodes import ClusterError
from harness.waiting import Every

SCRIPT = (files(__package__) / "sidecar.sh").read_text()
KEEPALIVE_EVERY_S = 2.0
LIMIT_S = 10


def command(*words: str) -> list[str]:
    """What is executed in a sidecar: the script is sent along, so that its version always fits."""
    return ["sh", "-c", SCRIPT, "sidecar", *words]


def there(argv: Sequence[str]) -> list[str]:
    """A command as a sidecar runs it: sys.executable becomes the container's python3."""
    return ["python3" if word == sys.executable else word for word in argv]


class Connection(Protocol):
    """An attached `watch LIMIT_S` in one sidecar."""

    def send(self, line: str) -> None:
        """Give it a line. Raises OSError when the connection is broken."""

    def output(self) -> str:
        """All that it has printed so far; never waits."""

    def close(self) -> None:
        """Close the connection."""


class Keepalive:
    """Sends keepalive lines to all connections (by the node's name) from `start` to `stop`."""

    def __init__(self, connections: Mapping[str, Connection]) -> None:
        self._connections = connections
        self._failure: str | None = None
        self._timer = Every(KEEPALIVE_EVERY_S, self._send_all, name="keepalive")

    def start(self) -> None:
        """Begin to send; returns at once."""
        self._timer.start()

    def stop(self) -> None:
        """End every watch, with nothing to undo; safe to call twice."""
        self._timer.close(KEEPALIVE_EVERY_S)
        for connection in self._connections.values():
            try:
                connection.send("end")
            except OSError:
                continue  # its container is gone
            finally:
                connection.close()

    def check(self) -> None:
        """Raise ClusterError when a sidecar has undone faults, or can no longer be reached."""
        if self._failure:
            raise ClusterError(self._failure)

    def _send_all(self) -> None:
        for name, connection in self._connections.items():
            self._failure = self._failure or _failure_of(name, connection)


def _failure_of(name: str, connection: Connection) -> str | None:
    """Why a sidecar's timer cannot be relied on after this line; None when it can."""
    try:
        connection.send("alive")
    except OSError as error:
        return f"the sidecar of {name} can no longer be reached: {error}"
    acted = [line for line in connection.output().splitlines() if line.startswith("acted")]
    if not acted:
        return None
    return (
        f"the sidecar of {name} received no keepalive for {LIMIT_S} s and undid faults while the "
        f"harness was running ({acted[0].removeprefix('acted').strip()})"
    )
