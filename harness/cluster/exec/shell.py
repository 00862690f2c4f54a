"""An open shell beside a node, which runs one command after the other.

Entering a container takes the engine a twentieth of a second, and a quarter where six are entered
at once on two processors: too long for a cut that must begin everywhere at nearly the same moment.
A command in an open shell has no such cost. Its output comes back whole, its errors apart: the
shell writes them behind a mark that no command can know.
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
ENOUGH = 100_000  # characters that a shell has said, after which another takes its place
QUICK = frozenset({"iptables", "sh", "tc"})  # programs that take next to no time
LOOK_EVERY_S = 0.002


class Line(Protocol):
    """A running shell's ends: an ExecStream (sidecar.py) that knows when it is over."""

    def send(self, line: str) -> None:
        """Give it a line. Raises OSError when it is broken."""

    def said(self) -> str:
        """All that it has printed so far; never waits."""

    def over(self) -> bool:
        """Whether it has ended, as far as `said` has seen."""

    def close(self) -> None:
        """Let go of it: its input ends, and so does it."""


class OpenShell:
    """Commands in one place, one at a time, by the shell that `reach` opens when it is needed."""

    def __init__(self, node: str, reach: Callable[[], Line]) -> None:
        self._node, self._reach = node, reach
        self._line: Line | None = None
        self._lock = threading.Lock()

    def run(self, argv: Sequence[str]) -> str:
        """What the command printed. Raises ClusterError when it fails, or the shell does: then
        nobody knows how far it came, and the next command has a new shell."""
        with self._lock:
            try:
                code, out, err = self._asked(argv)
            except (OSError, WaitTimeout) as error:
                self._drop()
                raise ClusterError(f"{self._node}: {argv[0]}: {error}") from None
        if code != 0:
            said = (err or out).strip().splitlines() or [f"exit {code}"]
            raise ClusterError(f"{self._node}: {argv[0]}: {said[-1]}")
        return out

    def close(self) -> None:
        """End the shell, if there is one; safe to call twice."""
        with self._lock:
            self._drop()

    def _asked(self, argv: Sequence[str]) -> tuple[int, str, str]:
        line = self._line = self._line or self._reach()
        before, mark = len(line.said()), secrets.token_hex(8)
        line.send(
            f"said=$({{ {shlex.join(argv)}; }} 2>&1 >&3 3>&- </dev/null); code=$?; "
            f"printf '%s %s\\n%s\\n%s\\n' {mark} $code \"$said\" {mark}"
        )

        def answer() -> list[str] | None:
            parts = line.said()[before:].split(mark)
            if len(parts) < 3 and line.over():
                raise OSError("the shell in the container has ended")
            return parts if parts[2:] == ["\n"] else None

        what = "the command to end"
        parts = wait_until(answer, timeout_s=LIMIT_S, what=what, every_s=LOOK_EVERY_S)
        assert parts is not None
        code, _, err = parts[1].strip(" ").partition("\n")
        if len(line.said()) > ENOUGH:
            self._drop()
        return int(code), parts[0], err

    def _drop(self) -> None:
        if self._line is not None:
            with suppress(OSError):
                self._line.close()
            self._line = None


def open_all(shells: Collection[OpenShell]) -> None:
    """Open every shell now, before a fault needs it."""
    with ThreadPoolExecutor(len(shells)) as threads:
        list(threads.map(lambda shell: shell.run(["true"]), shells))
