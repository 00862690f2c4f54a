"""slow-disk, fail-disk: a running node's writes to its segments take long, or fail.

    slow-disk   each write and sync of a segment waits before the kernel does it; `delay_ms`
                (100 by default). Undone by `speed-disk`
    fail-disk   each write and sync of a segment fails; `error` is EIO (default), ENOSPC, EROFS.
                Undone by `mend-disk`: the node, which halts at the first error, is started again

A controller's segments are those of the metadata log, which it writes twice a second at least.
strace is attached to all threads of the process and changes the calls on the paths of its segments;
when a segment is rolled, strace is attached again. Its output is the evidence: the calls that it
changed, and how long each slow one took. While it is attached, every system call of the node costs
some 20 microseconds more.

Source: strace(1), --inject and --trace-path.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field

from harness.cluster.capabilities import Disks, Preparable, Processes, Restarts, Syscalls
from harness.cluster.nodes import ClusterError
from harness.model.effects import Effects
from harness.nemesis.faults.processes.revive import disks, gone, note_pids, revive, revived
from harness.nemesis.faults.processes.signals import ENDED, processes
from harness.nemesis.options import Options
from harness.nemesis.target import Setting, Target
from harness.nemesis.verb import KAFKAS, Injection, Verb

CALLS = "write,pwrite64,fsync,fdatasync"
LONGEST_MS = 60_000
ALMOST = 0.9  # of the delay: strace begins to count a little later than to wait (49.93 of 50 ms)
TOOK_S = re.compile(r"\(DELAYED\) <([\d.]+)>")  # strace -T: how long the call took, wait included


class SlowDiskOptions(Options):
    """How slow the disk is."""

    delay_ms: Annotated[
        float,
        Field(
            gt=0,
            le=LONGEST_MS,
            description="how long each write or sync waits, in ms, "
            f"above 0 and at most {LONGEST_MS:,}",
        ),
    ] = 100.0


class FailDiskOptions(Options):
    """How writes fail."""

    error: Literal["EIO", "ENOSPC", "EROFS"] = Field(
        "EIO", description="the error that the node gets"
    )


def _slow(injection: Injection) -> None:
    delay_us = round(SlowDiskOptions.of(injection.options).delay_ms * 1000)
    _tamper(injection, f"delay_enter={delay_us}")


def _fail(injection: Injection) -> None:
    _tamper(injection, f"error={FailDiskOptions.of(injection.options).error}")


def _tamper(injection: Injection, how: str) -> None:
    note_pids(injection)
    injection.memo |= {"how": how, "segments": _segments(injection), "earlier": ""}
    _attach(injection)


def _attach(injection: Injection) -> None:
    paths = [word for log in injection.memo["segments"] for word in ("-P", str(log))]
    change = f"inject={CALLS}:{injection.memo['how']}"
    options = ["-T", "-e", f"trace={CALLS}", "-e", change, *paths]
    _syscalls(injection).tamper(injection.node, options)


def _segments(injection: Injection) -> list[Path]:
    return sorted(disks(injection).data_folder(injection.node).glob("*/*.log"))


def _follow(injection: Injection) -> None:
    """Attach to the same process again when its segments have changed."""
    now, memo = _segments(injection), injection.memo
    met = memo["pids"][injection.node.name]
    if now == memo["segments"] or processes(injection).state(injection.node).pid != met:
        return
    _leave_alone(injection)
    memo |= {"segments": now, "earlier": _seen(injection)}
    with suppress(ClusterError):  # it ended meanwhile, as it should when its writes fail
        _attach(injection)


def _seen(injection: Injection) -> str:
    return str(injection.memo["earlier"]) + _syscalls(injection).tampered(injection.node)


def _slowed(injection: Injection) -> str | None:
    _follow(injection)
    delay_ms = SlowDiskOptions.of(injection.options).delay_ms
    took_ms = [float(seconds) * 1000 for seconds in TOOK_S.findall(_seen(injection))]
    if not took_ms or min(took_ms) < ALMOST * delay_ms:
        return None
    return (
        f"{len(took_ms)} writes of {injection.node.name} to its segments waited {delay_ms:g} ms: "
        f"they took {min(took_ms):.0f} to {max(took_ms):.0f} ms each"
    )


def _failed(injection: Injection) -> str | None:
    _follow(injection)
    count = _seen(injection).count("(INJECTED)")
    ended = gone(injection, injection.node)
    if not count or ended is None:
        return None
    error = FailDiskOptions.of(injection.options).error
    return f"{count} writes of {injection.node.name} to its segments failed with {error}; {ended}"


def _leave_alone(injection: Injection) -> None:
    _syscalls(injection).leave_alone(injection.node)


def _mend(injection: Injection) -> None:
    _leave_alone(injection)
    revive(injection)


def _undisturbed(injection: Injection) -> str | None:
    pid = processes(injection).state(injection.node).pid
    if _syscalls(injection).is_tampered(injection.node):
        return None
    return (
        f"strace is detached from process {pid} of {injection.node.name}; "
        f"{_seen(injection).count('(DELAYED)')} writes were delayed in all"
    )


def _syscalls(injection: Injection) -> Syscalls:
    return cast(Syscalls, injection.cluster)


SLOW_DISK = Verb(
    name="slow-disk",
    undo="speed-disk",
    done="slowed by slow disk writes",
    effects=Effects(leadership="where-it-hits"),
    options=SlowDiskOptions,
    needs=(Processes, Disks, Syscalls, Preparable),
    holds="process",
    hits=KAFKAS,
    prepares="tampering",
    inject=_slow,
    proof_in_force=_slowed,
    during=_follow,
    heal=_leave_alone,
    healed=_undisturbed,
    host={"strace": ""},
)


def _last_one_writes_nothing(setting: Setting, target: Target, _: Options) -> str | None:
    apart = setting.controllers > 1 and not setting.combined
    if target.name != "quorum-all" or not apart:
        return None
    return (
        f"{target.name}: the last controller is without a majority once the others have ended, and "
        "writes nothing that could fail: use quorum-majority"
    )


FAIL_DISK = Verb(
    name="fail-disk",
    undo="mend-disk",
    done="hit by disk write errors",
    effects=ENDED,
    options=FailDiskOptions,
    needs=(Restarts, Disks, Syscalls, Preparable),
    holds="process",
    hits=KAFKAS,
    prepares="tampering",
    inject=_fail,
    proof_in_force=_failed,
    heal=_mend,
    healed=revived,
    impossible=_last_one_writes_nothing,
    host={"strace": ""},
)
