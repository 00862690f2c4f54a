"""`up`: whose Ctrl-C is, and what is said while a program is awaited that was told to end."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from harness.commands import up
from harness.run.interrupts import Stopped
from harness.run.progress import Screen
from tests.support.recorded_runs import run_record

ADDRESSES = {"KAFKA": "kafka1:9092"}


def screen() -> tuple[Screen, io.StringIO]:
    said = io.StringIO()
    return Screen(Console(file=said, width=200)), said


@pytest.mark.parametrize(("script", "stays"), [('trap "" TERM; echo', True), ("echo", False)])
def test_a_program_that_does_not_end_when_told_is_named_and_killed_in_time(
    monkeypatch: pytest.MonkeyPatch, script: str, stays: bool
) -> None:
    monkeypatch.setattr(up, "SILENT_S", 0.05 if stays else 60)
    monkeypatch.setattr(up, "END_LIMIT_S", 0.05)
    shown, said = screen()
    process = subprocess.Popen(
        ["sh", "-c", f"{script} ready; exec sleep 300"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()

    up._end(process, "sh", shown)

    process.communicate()
    number = signal.SIGKILL if stays else signal.SIGTERM
    told = "waiting until sh has ended; after 0.05 s it is killed"
    assert (process.returncode, told in said.getvalue()) == (-number, stays)


class Interrupted(contextlib.nullcontext[Any]):
    """A program while which Ctrl-C comes."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(self)

    def wait(self) -> int:
        raise Stopped(signal.SIGINT)


def test_a_stop_tells_the_program_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    monkeypatch.setattr(up, "_end", lambda _, name, __: ended.append(name))

    with pytest.raises(Stopped):
        up._shell(ADDRESSES, ["program"], screen()[0])
    assert ended == ["program"]


@pytest.mark.parametrize(
    ("given", "asks"),
    [({}, False), ({"listener.security.protocol.map": "PLAINTEXT:SASL_SSL"}, True)],
)
def test_brokers_that_ask_who_clients_are_are_held_up_alone(
    given: dict[str, str], asks: bool
) -> None:
    record = run_record()
    cluster = record.scenario.cluster.model_copy(update={"server": given})
    scenario = record.scenario.model_copy(update={"cluster": cluster})

    assert up._asks_who_clients_are(record.model_copy(update={"scenario": scenario})) is asks


def test_what_a_shell_starts_can_be_interrupted_though_up_itself_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, found = tmp_path / "shell", tmp_path / "found"
    shell.write_text(f"#!/bin/sh\nkill -INT $PPID\ngrep SigIgn /proc/self/status > {found}\n")
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    before = signal.getsignal(signal.SIGINT)
    try:
        assert up._shell(ADDRESSES, [], screen()[0]) == 0
    finally:
        signal.signal(signal.SIGINT, before)

    ignored = int(found.read_text().split()[1], 16)
    assert not ignored & 1 << signal.SIGINT - 1
