"""A program of the user's that can be ended whole: with what it has started, however that hides.

    argv = contained(["java", "-jar", "app.jar"], log)    started as any other command
    everything = descendants(pid)                         what it is made of now

Where the host allows it the program is in a pid namespace of its own, whose pid 1 is a shell that
waits for it: once that shell is gone the kernel ends all others there, also those that called
setsid or whose parent is gone. Elsewhere only what still descends from the shell can be found. The
program has a process group and a session of its own. Its output goes to `log`, not into a pipe that
somebody would have to read.

Source: pid_namespaces(7), unshare(1).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from harness.host import machine, system_packages
from harness.host.namespaces import children_of

_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
_AS_USER = (*_NAMESPACE, "--user", "--map-current-user")
_SHELL = 'exec >>"$1" 2>&1 </dev/null; shift; setsid "$@" & wait $!'
_LISTENS = "0A"  # in /proc/net/tcp


@cache
def namespace_words() -> tuple[str, ...]:
    """The words that put a command into a pid namespace of its own; none where it cannot be."""
    if system_packages.program("unshare") is None:
        return ()
    for words in (_NAMESPACE, _AS_USER):
        tried = subprocess.run([*words, "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return words
    return ()


def contained(argv: Sequence[str], log: Path) -> list[str]:
    """The command that runs this one so."""
    return [*namespace_words(), "sh", "-c", _SHELL, "sh", str(log), *argv]


class Contained:
    """A process that `contained` has made a command of."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @property
    def shell(self) -> int | None:
        """The pid of the shell that waits for the program; None: there is none now."""
        if self.process.poll() is not None:
            return None
        if not namespace_words():
            return self.process.pid
        return next(iter(children_of(self.process.pid)), None)

    @property
    def pid(self) -> int | None:
        """The program's own; None where it has ended or is not there yet."""
        return None if self.shell is None else next(iter(children_of(self.shell)), None)

    def stopped(self) -> bool | None:
        """Whether a signal has stopped it; None where it has ended."""
        pid = self.pid
        return None if pid is None else machine.is_stopped(pid)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program and all that it has started; SIGKILL ends the shell too."""
        shell = self.shell
        if shell is None:
            return
        for pid in [*descendants(shell), *([shell] if number == signal.SIGKILL else [])]:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def listens(self, port: int) -> bool:
        """Whether anything in the program's network listens at that port."""
        lines = []
        with suppress(OSError):
            for name in ("tcp", "tcp6"):
                lines += Path(f"/proc/{self.pid}/net/{name}").read_text().splitlines()[1:]
        places = (line.split() for line in lines)
        return any(w[3] == _LISTENS and int(w[1].rpartition(":")[2], 16) == port for w in places)


def descendants(pid: int) -> list[int]:
    """The processes that it has started, and theirs."""
    found = list(children_of(pid))
    for child in found:
        found += children_of(child)
    return found
