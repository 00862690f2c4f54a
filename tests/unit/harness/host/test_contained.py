"""A contained program: ended whole, however what it has started hides."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.host import contained
from harness.host.contained import Contained
from harness.host.namespaces import children_of
from harness.waiting import wait_until

HIDDEN = "setsid sleep 1000 & echo ready; exec sleep 1000"  # a child in a session of its own


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Contained]]:
    """Starts a command of a shell's; it is ended with the test."""
    begun: list[Contained] = []

    def begin(script: str) -> Contained:
        argv = contained.contained(["sh", "-c", script], tmp_path / "log")
        made = Contained(subprocess.Popen(argv, start_new_session=True, text=True))
        begun.append(made)
        return made

    yield begin
    for each in begun:
        each.send(signal.SIGKILL)
        each.process.wait()


def everything(program: Contained) -> list[int]:
    """The program's own processes, once there are two."""
    pids: list[int] = []

    def two() -> bool:
        shell = program.shell
        pids[:] = contained.descendants(shell) if shell else []
        return len(pids) > 1

    wait_until(two, timeout_s=20, what="its processes")
    return pids


def gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_kill_ends_what_hides_in_a_session_of_its_own(start, tmp_path: Path) -> None:
    program = start(HIDDEN)
    pids = everything(program)

    program.send(signal.SIGKILL)

    program.process.wait(timeout=20)
    wait_until(lambda: gone(pids), timeout_s=20, what="all to be gone")
    assert (program.pid, program.shell) == (None, None)


@pytest.mark.skipif(not contained.namespace_words(), reason="no pid namespace can be had here")
def test_a_program_that_ends_takes_what_it_left_behind_along(start) -> None:
    program = start("setsid sleep 1000 & exec sleep 0.5")
    pids = everything(program)

    program.process.wait(timeout=20)

    wait_until(lambda: gone(pids), timeout_s=20, what="all to be gone")


@pytest.mark.skipif(not contained.namespace_words(), reason="no pid namespace can be had here")
def test_it_ends_with_whoever_started_it_even_by_sigkill(tmp_path: Path) -> None:
    argv = contained.contained(["sh", "-c", HIDDEN], tmp_path / "log")
    dying = ["setpriv", "--pdeathsig", "KILL", *argv]
    script = f"import subprocess as s, time; s.Popen({dying!r}); time.sleep(1000)"
    parent = subprocess.Popen([sys.executable, "-c", script])
    pids: list[int] = []

    def begun() -> bool:
        pids[:] = contained.descendants(parent.pid)
        return len(pids) > 3  # unshare, the shell, the program and its child

    wait_until(begun, timeout_s=20, what="the program")
    parent.kill()
    parent.wait()

    wait_until(lambda: gone(pids), timeout_s=20, what="all to be gone")


def test_signals_reach_the_program_and_its_exit_code_comes_back(start, tmp_path: Path) -> None:
    program = start('trap "exit 7" TERM; echo up; while :; do sleep 0.05; done')
    wait_until(lambda: "up" in _log(tmp_path), timeout_s=20, what="the program")

    program.send(signal.SIGSTOP)
    wait_until(program.stopped, timeout_s=20, what="it to stop")
    program.send(signal.SIGCONT)
    program.send(signal.SIGTERM)

    assert program.process.wait(timeout=20) == 7


def test_output_goes_to_its_log_and_a_port_is_seen_when_it_listens(start, tmp_path: Path) -> None:
    code = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
        "print(s.getsockname()[1], flush=True); time.sleep(1000)"
    )
    program = start(f'exec {sys.executable} -c "{code}"')
    wait_until(lambda: _log(tmp_path).strip(), timeout_s=20, what="its port")

    assert program.listens(int(_log(tmp_path)))
    assert not program.listens(1)


def _log(folder: Path) -> str:
    file = folder / "log"
    return file.read_text() if file.exists() else ""


def test_children_of_nobody() -> None:
    assert children_of(2**22 + 7) == []
    assert os.getpid() not in contained.descendants(os.getpid())
