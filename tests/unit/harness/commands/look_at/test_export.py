"""`export` as a command: what goes to stdout and what to stderr, and how it is interrupted."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness.checkout import ROOT
from tests.support.commands import COMMAND, called
from tests.support.jepsen.histories import read


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A recorded run: its export fills a pipe several times."""
    golden = ROOT / "tests" / "golden" / "leader-stopped"
    return Path(shutil.copytree(golden, tmp_path / golden.name))


def begun(run: Path, form: str, pipesize: int = -1) -> subprocess.Popen[bytes]:
    """An export of which one line was read.

    It minds SIGINT. What a shell without job control starts in the background ignores it, and so
    do all that descend from it: such tests would see an export that goes on to its end."""
    minding = ["env", "--default-signal=INT"]
    argv = [*minding, *COMMAND, "export", "--format", form, str(run)]
    pipe = subprocess.PIPE
    export = subprocess.Popen(argv, stdout=pipe, stderr=pipe, pipesize=pipesize)
    assert export.stdout is not None
    export.stdout.readline()
    return export


def test_the_history_for_jepsen_goes_to_stdout_and_what_it_lacks_to_stderr(tmp_path: Path) -> None:
    golden = ROOT / "tests" / "golden" / "acks-1-leader-killed"
    run = Path(shutil.copytree(golden, tmp_path / "run"))

    said = called("export", "--format", "jepsen", run)

    assert 0 == said.code
    assert 1768 == len(read(said.out.splitlines()))
    assert f"{run}: left out: 450 look-ups\n" == said.err


def test_what_lacks_nothing_says_nothing(run: Path) -> None:
    assert "" == called("export", "--format", "jepsen", run).err


def test_history_is_the_export_for_people(run: Path) -> None:
    said = called("history", run)

    assert said.out.startswith('{"time": "2026-11-21T')
    assert said.out == called("export", run).out
    assert said.out == called("export", "--format", "jsonl", run).out


@pytest.mark.parametrize("form", ["jsonl", "jepsen"])
def test_who_has_read_enough_ends_it_quietly(run: Path, form: str) -> None:
    with begun(run, form) as export:
        assert export.stdout is not None
        assert export.stderr is not None
        export.stdout.close()

        assert b"" == export.stderr.read()
    assert 0 == export.returncode


@pytest.mark.parametrize("form", ["jsonl", "jepsen"])
def test_an_interrupt_ends_it_quietly(run: Path, form: str) -> None:
    """It has filled the small pipe and waits: nothing else ends it."""
    with begun(run, form, pipesize=4096) as export:
        export.send_signal(signal.SIGINT)
        _, said = export.communicate(timeout=120)

    assert (130, b"") == (export.returncode, said)


def test_a_format_that_there_is_not_is_one_sentence(run: Path) -> None:
    said = called("export", "--format", "edn", run)

    assert 254 == said.code
    assert 1 == said.err.count("\n")
    assert "'jepsen'" in said.err


def test_a_run_that_there_is_not_is_one_sentence(tmp_path: Path) -> None:
    said = called("export", "--format", "jepsen", tmp_path / "no")

    assert (254, "", 1) == (said.code, said.out, said.err.count("\n"))
