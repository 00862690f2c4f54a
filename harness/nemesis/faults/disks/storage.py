"""freeze-disk, fill-disk: the log directory of a broker or controller takes no more writes.

    freeze-disk   read-only: a bind mount of the directory over itself, in the mount namespace of
                  the broker's process. Files that are open stay writable, so acks go on until the
                  broker makes a new file (a checkpoint, a segment)
    fill-disk     full: one file of ours takes what is left of the node's own small tmpfs

Undone by `thaw-disk` and `free-disk`. Kafka takes the directory offline at the first error; as it
is the only one, the broker halts, and leadership moves when its session expires. A controller ends
at the first error of its metadata log. Healing undoes the mount or removes the file, then starts
the node again.

Sources: mount(8) on bind mounts, remount,bind and --move; KIP-112 on log directory failure.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

from harness.cluster.capabilities import Disks, Preparable, Restarts
from harness.cluster.nodes import ClusterError, Node
from harness.nemesis.faults.processes.revive import disks, gone, note_pids, revive, revived
from harness.nemesis.faults.processes.signals import ENDED, processes
from harness.nemesis.options import Options
from harness.nemesis.target import Setting, Target
from harness.nemesis.verb import KAFKAS, Injection, Verb

BALLAST = "kafka-harness.ballast"
PAGE = 4096
ASIDE = "/mnt"  # hier(7): for temporary mounts


def _freeze(injection: Injection) -> None:
    note_pids(injection)
    folder = str(disks(injection).data_folder(injection.node))
    # A mount with a file open for writing cannot become read-only (EBUSY). The broker may open a
    # checkpoint at any moment, so the mount turns read-only where the broker does not look.
    _among_mounts(injection, "mount", "--bind", folder, ASIDE)
    _among_mounts(injection, "mount", "-o", "remount,bind,ro", ASIDE)
    _among_mounts(injection, "mount", "--move", ASIDE, folder)
    injection.memo["frozen"] = True


def _thaw(injection: Injection) -> None:
    """Undo the mount if the process lives; a process that ended took its mounts with it."""
    met = injection.memo["pids"][injection.node.name]
    frozen = injection.memo.get("frozen", False)
    if frozen and processes(injection).state(injection.node).pid == met:
        folder = str(disks(injection).data_folder(injection.node))
        # The process may end in between: then there is nothing to undo.
        with contextlib.suppress(ClusterError):
            _among_mounts(injection, "mount", "-o", "remount,bind,rw", folder)
            _among_mounts(injection, "umount", "--lazy", folder)
    revive(injection)


def _among_mounts(injection: Injection, *argv: str) -> None:
    disks(injection).in_mounts_of(injection.node, argv)


def _fill(injection: Injection) -> None:
    note_pids(injection)
    folder = disks(injection).data_folder(injection.node)
    if not folder.is_mount():
        raise ClusterError(f"{injection.node.name} has no disk of its own to fill")
    injection.memo["bytes"] = fill(folder / BALLAST)


def fill(file: Path) -> int:
    """Let `file` take all that is left of its filesystem; returns its size."""
    taken = 0
    with file.open("wb") as ballast:
        room = os.statvfs(file.parent)
        step = room.f_bavail * room.f_frsize
        while step >= PAGE:
            try:
                os.posix_fallocate(ballast.fileno(), taken, step)
                taken += step
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                step = step // 2 // PAGE * PAGE  # somebody else took some of it meanwhile
    return taken


def _free(injection: Injection) -> None:
    (disks(injection).data_folder(injection.node) / BALLAST).unlink(missing_ok=True)
    revive(injection)


def _halted(complaint: str) -> Callable[[Injection], str | None]:
    """Evidence: the broker reported the error, and its process is gone."""

    def proof_in_force(injection: Injection) -> str | None:
        ended, line = gone(injection, injection.node), _logged(injection, injection.node, complaint)
        if ended is None or line is None:
            return None
        offline = (
            "" if injection.node.role == "controller" else " and took its log directory offline"
        )
        return f"{injection.node.name} reported «{complaint}»{offline}; {ended}"

    return proof_in_force


def _logged(injection: Injection, node: Node, complaint: str) -> str | None:
    return disks(injection).said(node, complaint)


def _notices_nothing(_: Setting, target: Target, __: Options) -> str | None:
    if target.kind != "controller":
        return None
    return (
        f"{target.name}: a controller makes a new file at an election or a snapshot only, and "
        "would not notice: use fill-disk or fail-disk"
    )


FREEZE_DISK = Verb(
    name="freeze-disk",
    undo="thaw-disk",
    done="hit by a read-only disk",
    effects=ENDED,
    needs=(Restarts, Disks),
    holds="process",
    hits=KAFKAS,
    inject=_freeze,
    proof_in_force=_halted("Read-only file system"),
    heal=_thaw,
    healed=revived,
    impossible=_notices_nothing,
    host={"mounts in a node's namespace": ""},
)
FILL_DISK = Verb(
    name="fill-disk",
    undo="free-disk",
    done="hit by a full disk",
    effects=ENDED,
    needs=(Restarts, Disks, Preparable),
    holds="process",
    hits=KAFKAS,
    prepares="own-disk",
    inject=_fill,
    proof_in_force=_halted("No space left on device"),
    heal=_free,
    healed=revived,
    host={"mounts in a node's namespace": ""},
)
