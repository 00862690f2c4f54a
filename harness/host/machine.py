"""Facts about the host that a reader needs to judge a run: size, kernel, and how starved it was.

A gap of two seconds means one thing on an idle machine and another on one without free CPUs. So the
growth of steal (/proc/stat), pressure (/proc/pressure/cpu, "some") and the cgroup's throttling is
reported.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class HostError(RuntimeError):
    """This machine lacks something that it must have; one sentence with the remedy."""


def describe() -> dict[str, Any]:
    """CPUs, memory and kernel, which do not change during a run."""
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
    }


def is_stopped(pid: int) -> bool | None:
    """Whether a signal has stopped a process (proc(5), /proc/PID/stat); None if it is gone: another
    thread may have reaped it meanwhile."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat[stat.rindex(")") + 2] in ("T", "t")


def cpu_counters() -> dict[str, float]:
    """Counters that only grow: ticks in all, ticks stolen, µs under pressure, µs throttled."""
    ticks = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return {
        "ticks": sum(ticks),
        "steal": ticks[7],
        "pressure_us": _total(Path("/proc/pressure/cpu"), "total="),
        "throttled_us": _total(Path("/sys/fs/cgroup/cpu.stat"), "throttled_usec "),
    }


def starvation(
    before: Mapping[str, float], after: Mapping[str, float], seconds: float
) -> dict[str, float]:
    """How starved the host was between two readings, `seconds` apart."""
    grown = {key: after[key] - before[key] for key in after}
    return {
        "steal_percent": round(100 * grown["steal"] / max(1, grown["ticks"]), 1),
        "pressure_some_percent": round(grown["pressure_us"] / max(1e-9, seconds) / 1e4, 1),
        "cgroup_throttled_s": round(grown["throttled_us"] / 1e6, 2),
    }


def _total(path: Path, mark: str) -> float:
    """The number after `mark` on the first line that has it; 0 where the kernel does not say."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0.0
    match = next((line for line in lines if mark in line), None)
    return float(match.split(mark)[1].split()[0]) if match else 0.0
