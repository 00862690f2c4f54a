"""What this host has of cores, memory and disk, beside what a run takes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from harness.setup.host_finding import HostFinding

GIB = 1024**3


def resources() -> list[HostFinding]:
    """Cores, memory and disk: too little of one makes runs slow, or ends them."""
    cores = len(os.sched_getaffinity(0))
    memory = _memory_available()
    disk = shutil.disk_usage(Path.cwd()).free
    return [
        _enough("cores", cores, 2, "", "an overloaded host causes gaps that are not Kafka's"),
        _enough("free memory", memory / GIB, 2, " GiB", "six nodes take 1 GiB, the check another"),
        _enough("free disk", disk / GIB, 2, " GiB", "histories and logs are kept with each run"),
    ]


def _enough(name: str, have: float, want: float, unit: str, why: str) -> HostFinding:
    if have >= want:
        return HostFinding(name=name, status="ok", detail=f"{have:.3g}{unit}")
    return HostFinding(
        name=name,
        status="warning",
        detail=f"{have:.3g}{unit}, and {why}",
        remedy=f"provide at least {want:g}{unit}",
    )


def _memory_available() -> int:
    """Bytes that are available by the kernel and by this process's cgroup."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) * 1024 for line in lines if "MemAvailable" in line)
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
    except (OSError, ValueError):  # no limit, or another kind of cgroup
        return available
    return min(available, limit - used)
