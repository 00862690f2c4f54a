"""Faults that do nothing, and healing that is cut off, in vain, or of a node that is gone.

What is broken on purpose, and how: broken.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.host.namespaces import inner_pid
from harness.nemesis.undo_record import UNDO, outstanding
from harness.waiting import wait_until
from tests.support.commands import Ran, below, faults_of, newest
from tests.support.host_pace import bound_s
from tests.support.left_behind import assert_nothing_left

pytestmark = pytest.mark.cluster

HERE = Path(__file__).parent


def broken_command(how: str, scenario: Path, folder: Path, *more: str) -> list[str]:
    """The command of a run with faults that are broken in one way."""
    broken = [sys.executable, str(HERE / "broken.py"), how]
    return [*broken, "run", str(scenario), "--seed", "7", "--results", str(folder), *more]


def broken(how: str, scenario: str, folder: Path, *more: str) -> Ran:
    """Such a run, to its end."""
    done = subprocess.run(
        broken_command(how, HERE / scenario, folder, *more),
        capture_output=True,
        text=True,
        timeout=bound_s(600),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=newest(folder))


# Faults that do nothing


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return broken("idle", "idle.toml", tmp_path_factory.mktemp("idle"), "--no-check")


@pytest.mark.usefixtures("spark")
def test_a_run_whose_faults_do_nothing_is_unknown_and_never_valid(idle):
    assert idle.code == 0, idle.out + idle.err
    assert idle.report["exit_code"] == 2
    assert idle.report["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (0, "waited 1.2 s for cut to take effect"),
        (1, "waited 1.2 s for pause to take effect"),
        (2, "is above its traffic: lower kbit"),
    ],
)
def test_a_fault_that_does_nothing_has_no_evidence_but_a_reason(idle, step, told):
    fault = faults_of(idle)[step]

    assert fault["evidence"] is None
    assert told in fault["error"]
    assert "every ISR has 3 members" in fault["heal_evidence"]


# A node that is gone, and one that stays away


@pytest.fixture(scope="module")
def gone(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return broken("hasty", "gone.toml", tmp_path_factory.mktemp("gone"), "--no-check")


def test_a_link_is_mended_while_its_node_is_down(gone):
    stopped, cut, _ = faults_of(gone)

    assert stopped["ok_ns"] < cut["invoke_ns"] < cut["heal_invoke_ns"] < stopped["heal_invoke_ns"]
    assert "is gone from" in cut["heal_evidence"]
    assert "of kafka2 serves" in stopped["heal_evidence"]


def test_a_node_that_does_not_come_back_in_time_ends_the_run_and_is_named(gone):
    assert gone.code == 255, gone.out + gone.err
    assert "fault injection failed: waited 1.2 s for kafka1 to be back" in gone.out
    assert "Traceback" not in gone.out + gone.err
    assert "kafka1 to be back" in faults_of(gone)[2]["error"]


def test_what_is_left_is_told_afterwards(gone, harness):
    assert gone.folder is not None
    left = [(line["verb"], line["nodes"]) for line in outstanding(gone.folder)]
    healed = harness("heal", str(gone.folder))

    assert left == [("kill", ["kafka1"])]
    assert "fault 2: kill kafka1, may still be in force (undo: start)" in healed.out
    assert outstanding(gone.folder) == []  # told, and over: its nodes ended with the run


# The harness killed between the undo record and the injection


@pytest.fixture
def cutting(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that has recorded its only fault and does not get to inject it."""
    scenario = tmp_path / "cut.toml"
    scenario.write_text(
        'title = "c"\n[cluster.zoo]\ntickTime = 500\n'
        '[workload]\nkind = "stream"\nrate = 100\nduration_s = 3\n'
        '[[faults]]\nverb = "cut"\ntarget = "all"\nat_s = 1\nfor_s = 30\n'
        'options = { from = "everyone" }\n'
    )
    process = subprocess.Popen(
        broken_command("held", scenario, tmp_path, "--no-check"),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


def at_the_record(command: subprocess.Popen[str], folder: Path) -> int:
    """The pid of the inner harness, once it has written what is to be undone."""

    def recorded() -> bool:
        run = newest(folder)
        return command.poll() is not None or (run is not None and bool(outstanding(run)))

    wait_until(recorded, timeout_s=bound_s(240), what=f"{UNDO} to be written")
    assert command.poll() is None, command.communicate()[0]
    inner = inner_pid(below(command.pid, "unshare")[0].pid)
    assert inner is not None
    return inner


def rules_near(pid: int) -> str:
    """The rules in the network namespaces of all nodes below a process."""
    nodes = [each for each in below(pid, "java") if each.name() == "java"]
    assert nodes
    enter = ["nsenter", "--user", "--net", "--preserve-credentials", "--target"]
    return "".join(
        subprocess.run(
            [*enter, str(p.pid), "iptables", "-S"], capture_output=True, text=True, check=True
        ).stdout
        for p in nodes
    )


def test_killed_between_the_record_and_the_injection_nothing_is_left_and_heal_tells_it(
    cutting: subprocess.Popen[str], tmp_path: Path, harness: Any
) -> None:
    inner = at_the_record(cutting, tmp_path)
    rules = rules_near(inner)
    descendants = psutil.Process(cutting.pid).children(recursive=True)
    os.kill(inner, signal.SIGKILL)
    out, _ = cutting.communicate(timeout=bound_s(120))
    _, alive = psutil.wait_procs(descendants, timeout=bound_s(30))

    assert "-j HARNESS-0" not in rules  # recorded, and not in force
    assert cutting.returncode == 255, out
    assert_nothing_left(alive)
    healed = harness("heal", str(newest(tmp_path)))
    assert healed.code == 0
    assert "fault 0: cut kafka1, kafka2, kafka3, may still be in force (undo: mend)" in healed.out
    assert "nothing to heal" in healed.out
