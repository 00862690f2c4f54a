"""A shell that is kept open beside a node, and runs one command after the other.

Entering a container costs the engine a twentieth of a second, and a quarter where six are entered
at once on two processors: too long for a cut that must hit all nodes at nearly the same moment. In
an open shell a command costs what the command costs. What it prints comes back whole, its errors
apart: the shell writes them behind a mark that no command can know.
"""

from __future__ import annotations

import secrets
import shlex
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

from harness.cluster.nodes import ClusterError
from harness.waiting import WaitTimeout, wait_until

SHELL = ("sh", "-c", "exec 3>&1; exec sh")  # 3: past what captures a command's errors
LIMIT_S = 30.0
ENOUGH = 100_000  # characters that a shell has printed, after which a new one replaces it
QUICK = frozenset({"iptables", "sh", "tc"})  # programs that take no time of their own
LOOK_EVERY_S = 0.002


class ShellConnection(Protocol):
    """A harness.cluster.exec.sidecar.Connection to a shell, which knows when it is over."""

    def send(self, line: str) -> None:
        """Give it a line. Raises OSError when it is broken."""

    def output(self) -> str:
        """All that it has printed so far; never waits."""

    def over(self) -> bool:
        """Whether it has ended, as far as `output` has seen."""

    def close(self) -> None:
        """Close its input, which ends it."""


class OpenShell:
    """Commands beside one node, one at a time, in the shell that `connect` opens when needed."""

    def __init__(self, node: str, connect: Callable[[], ShellConnection]) -> None:
        self._node, self._connect = node, connect
        self._connection: ShellConnection | None = None
        self._lock = threading.Lock()

    def run(self, argv: Sequence[str]) -> str:
        """What the command printed. Raises ClusterError when it fails, or the shell does: then
        nobody knows how far it came, and the next command gets a new shell."""
        with self._lock:
            try:
                code, out, err = self._run(argv)
            except (OSError, WaitTimeout) as error:
                self._drop()
                raise ClusterError(f"{self._node}: {argv[0]}: {error}") from None
        if code != 0:
            lines = (err or out).strip().splitlines() or [f"exit {code}"]
            raise ClusterError(f"{self._node}: {argv[0]}: {lines[-1]}")
        return out

    def close(self) -> None:
        """End the shell, if there is one; safe to call twice."""
        with self._lock:
            self._drop()

    def _run(self, argv: Sequence[str]) -> tuple[int, str, str]:
        shell = self._connection = self._connection or self._connect()
        before, mark = len(shell.output()), secrets.token_hex(8)
        shell.send(
            f"errors=$({{ {shlex.join(argv)}; }} 2>&1 >&3 3>&- </dev/null); code=$?; "
            f"printf '%s %s\\n%s\\n%s\\n' {mark} $code \"$errors\" {mark}"
        )

        def parts_printed() -> list[str] | None:
            parts = shell.output()[before:].split(mark)
            if len(parts) < 3 and shell.over():
                raise OSError("its shell has ended")
            return parts if parts[2:] == ["\n"] else None

        parts = wait_until(
            parts_printed, timeout_s=LIMIT_S, what="the command to end", every_s=LOOK_EVERY_S
        )
        assert parts is not None
        code, _, err = parts[1].strip(" ").partition("\n")
        if len(shell.output()) > ENOUGH:
            self._drop()
        return int(code), parts[0], err

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
            self._connection = None


def open_all(shells: Collection[OpenShell]) -> None:
    """Open every shell now, before a fault is in a hurry."""
    with ThreadPoolExecutor(len(shells)) as threads:
        list(threads.map(lambda each: each.run(["true"]), shells))
