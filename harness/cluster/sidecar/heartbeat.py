"""The sidecar beside a node whose cluster outlives the harness: sidecar.sh, and the heartbeat that
keeps its timer from going off.

An `ExecStream` is one attached `watch` of sidecar.sh. `Heartbeat` sends a beat along every one;
when the harness dies, the beats end, and each sidecar undoes the faults of its node. A sidecar that
missed beats while the harness lived (a host that stood still) says so; then the harness no longer
knows which faults are in force, and `check` raises.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Protocol

from harness.cluster.nodes import ClusterError
from harness.waiting import Every

SCRIPT = (files(__package__) / "sidecar.sh").read_text()
BEAT_EVERY_S = 2.0
LIMIT_S = 10


def command(*words: str) -> list[str]:
    """The command for a sidecar, with the script itself, so that it is never an older one."""
    return ["sh", "-c", SCRIPT, "sidecar", *words]


def in_sidecar(argv: Sequence[str]) -> list[str]:
    """The command with the sidecar's Python in place of sys.executable."""
    return ["python3" if word == sys.executable else word for word in argv]


class ExecStream(Protocol):
    """An attached `watch LIMIT_S` in one sidecar."""

    def send(self, line: str) -> None:
        """Give it a line. Raises OSError when the connection is broken."""

    def said(self) -> str:
        """All that it has said so far; never waits."""

    def close(self) -> None:
        """Let go of the connection."""


class Heartbeat:
    """Beats along streams (node's name -> stream) from `start` to `stop`."""

    def __init__(self, streams: Mapping[str, ExecStream]) -> None:
        self._streams = streams
        self._failure: str | None = None
        self._beats = Every(BEAT_EVERY_S, self._beat, name="heartbeat")

    def start(self) -> None:
        """Begin to beat; returns at once."""
        self._beats.start()

    def stop(self) -> None:
        """Tell every sidecar that this is the end, with nothing to undo; safe to call twice."""
        self._beats.close(BEAT_EVERY_S)
        for stream in self._streams.values():
            try:
                stream.send("end")
            except OSError:
                continue  # its container is gone
            finally:
                stream.close()

    def check(self) -> None:
        """Raise ClusterError when a sidecar has undone faults, or can no longer be told."""
        if self._failure:
            raise ClusterError(self._failure)

    def _beat(self) -> None:
        for name, stream in self._streams.items():
            self._failure = self._failure or _trouble_of(name, stream)


def _trouble_of(name: str, stream: ExecStream) -> str | None:
    """Why a sidecar's timer cannot be relied on after this beat; None when it can."""
    try:
        stream.send("beat")
    except OSError as error:
        return f"the sidecar of {name} cannot be reached any more: {error}"
    acted = [line for line in stream.said().splitlines() if line.startswith("acted")]
    if not acted:
        return None
    return (
        f"the sidecar of {name} received no keepalive for {LIMIT_S} s and undid faults while "
        f"the harness was running ({acted[0].removeprefix('acted').strip()})"
    )
