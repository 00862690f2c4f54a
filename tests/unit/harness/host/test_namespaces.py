"""A run whose cluster lives elsewhere is a plain child: it is told when to end, and has its say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.host import namespaces
from harness.waiting import wait_until
from tests.support.needs import needs

INNER = """
import signal, sys, time
from pathlib import Path
from harness.run.interrupts import unblock_signals
def end(*_):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # told again and again: once is enough
    Path(sys.argv[1]).write_text("healed")
    sys.exit(7)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, end)
unblock_signals()
Path(sys.argv[1]).write_text("begun")
while True:
    time.sleep(0.1)
"""
OUTER = """
import sys
from harness.host.namespaces import run_beside
sys.exit(run_beside([sys.executable, "-c", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_the_command_ends_the_run_heals(tmp_path: Path, number: signal.Signals) -> None:
    """Also when it is killed: the kernel tells the run."""
    if number == signal.SIGKILL:  # setpriv asks the kernel for that
        needs("namespaces")
    said = tmp_path / "said"
    command = subprocess.Popen([sys.executable, "-c", OUTER, INNER, str(said)])
    wait_until(lambda: said.exists() and said.read_text(), timeout_s=60, what="the run to begin")
    command.send_signal(number)
    code = command.wait(timeout=60)

    wait_until(lambda: said.read_text() == "healed", timeout_s=60, what="the run to heal")
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 7)


INTERRUPTED_SOON = """
import os, signal, sys
os.kill(os.getpid(), signal.SIGINT)
sys.exit(3 if signal.SIGINT in signal.sigpending() else 4)
"""


def test_the_exit_code_is_the_run_s_own_and_ctrl_c_waits_until_it_is_heeded() -> None:
    done = subprocess.run([sys.executable, "-c", OUTER, INTERRUPTED_SOON], check=False)

    assert done.returncode == 3


UNTIL_IT_IS_THERE = 'until [ -e "$0" ]; do sleep 0.05; done; exit 7'


def test_a_run_that_ended_while_it_was_looked_for_is_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be over between the look for its pid and the signal; its own exit code counts."""
    needs("namespaces")
    over = subprocess.Popen(["true"])
    over.wait()
    looked = tmp_path / "looked"

    def look(_: int) -> int:
        looked.touch()
        return over.pid

    monkeypatch.setattr(namespaces, "inner_pid", look)

    def ask() -> None:
        if not looked.exists():
            os.kill(os.getpid(), signal.SIGTERM)

    code = namespaces.run_enclosed(["sh", "-c", UNTIL_IT_IS_THERE, str(looked)], meanwhile=ask)

    assert code == 7
