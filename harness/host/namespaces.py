"""Starts a run of the local backend in private namespaces.

    command --(setpriv, unshare)--> inner harness, pid 1 of its own pid namespace

The inner harness has user, network, mount and pid namespaces of its own, so it needs no root, and
the kernel removes every node, link, mount and rule with it, even after SIGKILL: `setpriv` kills
unshare when the command dies, `--kill-child` kills the inner harness when unshare dies, and a pid
namespace dies with its pid 1. unshare ignores TERM and INT, so the command forwards them to the
inner harness. That starts with INT blocked, because an INT while Python still imports would be a
traceback; `harness.run.interrupts.unblock_signals` lets it in.

Source: unshare(1), setpriv(1), pid_namespaces(7).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.host import system_packages

ASK_EVERY_S = 0.1
Meanwhile = Callable[[], None]
UNSHARE = (
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--pid",
    "--mount-proc",
    "--fork",
    "--kill-child",
)


def _nothing() -> None:
    return


def run_enclosed(
    argv: Sequence[str], *, own_session: bool = True, meanwhile: Meanwhile = _nothing
) -> int:
    """Run `argv` in private namespaces and return its exit code; forwards INT and TERM.

    A death by signal N is returned as 128 + N. Without a session of its own it shares the terminal,
    as a shell needs. `meanwhile` is called repeatedly until it ends. Raises HostError for a missing
    program.
    """
    system_packages.require(system_packages.PROGRAMS)
    return _run([*UNSHARE, *argv], inner_pid, meanwhile, own_session=own_session)


def run_beside(argv: Sequence[str], *, meanwhile: Meanwhile = _nothing) -> int:
    """Run `argv` in this host's own namespaces, for a cluster that runs elsewhere.

    When this process dies, `argv` gets TERM, and has time to heal.
    """
    beside = [*system_packages.dying_along("TERM"), *argv]
    return _run(beside, lambda pid: pid, meanwhile, own_session=True)


def _run(
    argv: Sequence[str],
    inner: Callable[[int], int | None],
    meanwhile: Meanwhile,
    *,
    own_session: bool,
) -> int:
    # Ordinary users of some systems lack the folders of ip and iptables in their PATH.
    environment = {**os.environ, "PATH": system_packages.search_path()}
    asked: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: asked.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    open_to = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        process = subprocess.Popen(argv, start_new_session=own_session, env=environment)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, open_to)
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(ASK_EVERY_S)
                return 128 - code if code < 0 else code
            meanwhile()
            # Repeatedly: a pid 1 without a handler never sees the first signal. With a handler it
            # obeys the first and ignores the rest.
            pid = inner(process.pid) if asked else None
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):  # it ended since it was looked for
                    os.kill(pid, asked[-1])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if process.poll() is None:
            process.kill()
            process.wait()


def living(folder: Path) -> list[int]:
    """Pids of the inner harness that carries out the run in `folder`, seen from outside."""
    words = (b"-P", b"-m", b"harness.run", os.fsencode(folder))
    pids = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or is not ours to look at
            if tuple(entry.read_bytes().split(b"\0")[1:5]) == words:
                pids.append(int(entry.parent.name))
    return sorted(pids)


def inner_pid(unshare_pid: int) -> int | None:
    """The pid, seen from outside, of the process that unshare started; None when it has ended."""
    return next(iter(children_of(unshare_pid)), None)


def children_of(pid: int) -> list[int]:
    """The processes whose parent it is, however many threads it has; none when it has ended."""
    pids: list[int] = []
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            pids += map(int, file.read_text().split())
    return pids
