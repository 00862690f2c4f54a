"""The parts of `make test`: lint, and pytest processes with a JUnit file each.

The parts without a cluster run side by side, and after them those on clusters, one after the
other: a failover beside other tests is as slow as these are. The Kubernetes lab is built meanwhile.
Only the store's runs beside another one: it fails over nothing, and measures no time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

HOUSE = ("tests/rules", "tests/unit", "tests/baseline")
JVM = "jvm or browser"
PYTEST = (sys.executable, "-m", "pytest")
# Ends what hangs where nothing else does: all that a live test awaits has a bound of its own, which
# may be five times as long on a slow host (tests.support.host_pace).
LIVE = (*PYTEST, "--timeout=3600")
# xdist replaces a worker that a timeout ends, so the test that took too long is named. By signal,
# a test in pure computation would end pytest itself.
REPLACED = ("--timeout-method=thread", "--dist=loadfile", "-p", "scripts.test_parts.replaced")


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some of the tests."""

    name: str
    paths: tuple[str, ...] = ()  # none: no tests, a program
    program: tuple[str, ...] = PYTEST  # with its options
    live: bool = False  # on real clusters: a busy host can fail one
    beside: str = ""  # of those the one that it may run at the same time as


def _without_cluster(name: str, marks: str) -> Part:
    """One worker: a second would import every test again and start a JVM of its own, in which what
    tests share is made again."""
    return Part(name=name, paths=HOUSE, program=(*PYTEST, "-m", marks, "-n1", *REPLACED))


PODS = Part(name="pods", paths=("tests/live/kubernetes",), program=LIVE, live=True)
PARTS = (
    Part(name="lint", program=("make", "lint")),
    _without_cluster("unit", f"not ({JVM})"),
    _without_cluster("stories", "stories"),
    _without_cluster("checker", f"({JVM}) and not stories"),
    Part(name="local", paths=("tests/live/local",), program=LIVE, live=True),
    Part(name="external", paths=("tests/live/external",), program=LIVE, live=True),
    Part(name="docker", paths=("tests/live/docker",), program=LIVE, live=True),
    PODS,
    Part(name="store", paths=("tests/live/remote",), program=LIVE, live=True, beside=PODS.name),
)
LAB = Part(name="lab", program=(sys.executable, "-B", "tests/support/labs/kubernetes_lab.py"))


def phases(parts: Sequence[Part]) -> list[list[Part]]:
    """The parts in the order in which they run; those of one phase run at the same time."""
    names = {part.name for part in parts}
    first = [part for part in parts if not part.live]
    alone = [part for part in parts if part.live and part.beside not in names]
    after = [[one, *(part for part in parts if part.beside == one.name)] for one in alone]
    return [phase for phase in (first, *after) if phase]
