"""A pytest plugin: each test's JUnit entry says when it ran and for how long a CPU was awaited.

Properties: `begun` and `ended`, seconds since 1970; `waited_s`, of the time between them, what
something on this host waited for a CPU; -1 where the kernel does not tell.
"""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

from harness.host import machine

_begun: dict[str, tuple[float, float]] = {}


def pressure_s() -> float:
    """For how long something has waited for a CPU since this host started; -1: not told."""
    return machine.cpu_counters()["pressure_us"] / 1e6 or -1.0


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Before the first of its fixtures."""
    _begun[item.nodeid] = (time.time(), pressure_s())
    yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """After the last of them has ended: the report of the teardown takes what stands here."""
    try:
        yield
    finally:
        begun, before_s = _begun.pop(item.nodeid)
        now_s = pressure_s()
        waited_s = -1.0 if now_s < 0 else now_s - before_s
        item.user_properties += [("begun", begun), ("ended", time.time()), ("waited_s", waited_s)]
