"""Real clusters: the command itself is run, and whatever it leaves behind fails the test."""

from __future__ import annotations

import contextlib
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.commands import COMMAND, MARK, Ran, newest, results
from tests.support.host_pace import bound_s, slowness
from tests.support.left_behind import assert_nothing_left, traces


def living() -> list[psutil.Process]:
    """Every process that descends from a command of this test, wherever it hangs now."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == os.environ[MARK] and process.pid != os.getpid():
                found.append(process)
    return found


@pytest.fixture(scope="session", autouse=True)
def _pace() -> None:
    """Measured while nothing else runs."""
    slowness()


@pytest.fixture(autouse=True)
def _no_trace_is_left() -> Iterator[None]:
    before = traces()
    yield
    assert_nothing_left(sorted((traces() - before).elements()))


@pytest.fixture(autouse=True)
def _no_process_is_left(
    monkeypatch: pytest.MonkeyPatch,
    _no_trace_is_left: None,  # looked for when no process is left to take it away
) -> Iterator[None]:
    monkeypatch.setenv(MARK, uuid.uuid4().hex)
    yield
    _, alive = psutil.wait_procs(living(), timeout=bound_s(10))
    assert_nothing_left(alive)


@pytest.fixture
def harness(tmp_path: Path) -> Callable[..., Ran]:
    """Runs `kafka-harness ARGUMENTS` to its end; `run` gets a results folder of the test's own."""

    def call(*arguments: str, timeout: float = 300) -> Ran:
        done = subprocess.run(
            [*COMMAND, *arguments, *results(arguments, tmp_path)],
            capture_output=True,
            text=True,
            timeout=bound_s(timeout),
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=newest(tmp_path))

    return call
