"""The ways in which a local node is started so that a fault can be done to it later.

    sync-trace  under strace's seccomp filter, which stops the node at its file calls only and
                writes them down: what was synced is known at a power loss
    own-disk    its data on a tmpfs of its own with a limit, so that it alone can be full
    fake-time   libfaketime preloaded, its offset read from a file; wall clock only
    tampering   as always; but strace will be attached to it while it runs
    netem       as always; but the kernel must have it

One process has one tracer at most, so the ways in TRACED exclude each other.

Sources: strace(1), libfaketime's README, ptrace(2).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.cluster.capabilities import CannotPrepare
from harness.cluster.local.network import run
from harness.host import system_packages

SYNC_TRACE, OWN_DISK, FAKE_TIME, TAMPERING = "sync-trace", "own-disk", "fake-time", "tampering"
TRACED = frozenset({SYNC_TRACE, TAMPERING})
DISK_BYTES = 256 * 1024 * 1024
# Whatever changes a file's length, its name, or what of it is on disk. Index files are written
# through memory maps, which no system call shows; power loss drops them.
FILE_CALLS = "write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat"


def check(ways: frozenset[str]) -> None:
    """Raises CannotPrepare on a way that this host cannot have."""
    for way in sorted(ways & TRACED):
        _try_strace(way)
    if FAKE_TIME in ways:
        _library()


def mount_shared_memory() -> None:
    """Hide /dev/shm: libfaketime keeps a semaphore and a page there for each process, killed ones
    too."""
    run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"])  # noqa: S108


def traced(trace: Path) -> tuple[str, ...]:
    """The words before a node's command that have its file calls appended to `trace`.

    The tracer is a grandchild in a session of its own: the node's process stays the child that the
    harness started, and signals reach it alone. The line that says how it ended is the last one.
    """
    return (
        "strace",
        "-DDD",
        "-f",
        "--seccomp-bpf",
        "-A",
        "-o",
        str(trace),
        "-y",
        "-s",
        "0",
        "--quiet=attach,personality,path-resolution",
        "-e",
        "signal=kill",
        "-e",
        f"trace={FILE_CALLS}",
    )


def environment(ways: frozenset[str], clock: Path) -> Mapping[str, str]:
    """What a node's environment has on top; `clock` holds the offset of its wall clock.

    The monotonic clock must be left alone in both ways, else the JVM's waits return at once and it
    spins.
    """
    if FAKE_TIME not in ways:
        return {}
    return {
        "LD_PRELOAD": str(_library()),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }


def _try_strace(way: str) -> None:
    probe = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true"]
    if _runs(probe):
        return
    why = "cannot trace here" if system_packages.program("strace") else "is not installed"
    remedy = system_packages.install_command(["strace"])
    raise CannotPrepare(way, f"the launch mode {way} needs strace, which {why}: {remedy}")


def _library() -> Path:
    library = system_packages.libfaketime()
    if library is None:
        remedy = system_packages.install_command(["libfaketime"])
        raise CannotPrepare(
            FAKE_TIME,
            f"the launch mode {FAKE_TIME} needs libfaketime, which is not installed: {remedy}",
        )
    return library


def _runs(argv: Sequence[str]) -> bool:
    try:
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
