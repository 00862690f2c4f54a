"""However a run ends, all is closed in one order, and run.json says how far it got and why."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.cluster.nodes import ClusterError
from harness.host.machine import HostError
from harness.model.runs.disk import DiskError
from harness.model.runs.run_folder import RunFolder
from harness.run import phases
from harness.run.interrupts import STOPPING, Stopped, stop_on_signals
from harness.run.progress import Screen
from harness.run.run_context import Run
from harness.waiting import WaitTimeout
from tests.support.recorded_runs import run_record

Story = Callable[[Run, Any, ExitStack], None]


@pytest.fixture
def carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Story], int]:
    """Carries out a run whose story is the test's; run.json is in `tmp_path`."""
    RunFolder(path=tmp_path).write(run_record(time_limit_s=60))

    def carry_out(story: Story) -> int:
        monkeypatch.setattr(phases, "story", story)
        return phases.carry_out(RunFolder(path=tmp_path), Screen(Console(quiet=True)))

    return carry_out


def test_a_run_that_gets_to_its_end_is_complete(
    carried_out: Callable[[Story], int], tmp_path: Path
) -> None:
    def story(_: Run, phase: Any, closing: ExitStack) -> None:
        with phase("set-up", ""):
            pass
        with phase("load", ""):
            closing.close()

    assert 0 == carried_out(story)
    record = RunFolder(path=tmp_path).read()
    assert ("complete", None) == (record.state, record.failure)
    assert ["set-up", "load"] == [phase.name for phase in record.phases]
    assert record.ended_utc
    assert record.host
    assert record.host.cpu_starvation
    assert all(phase.cpu_starvation for phase in record.phases)


@pytest.mark.parametrize(
    ("error", "code", "why"),
    [
        (ClusterError("kafka1 did not start"), 255, "kafka1 did not start"),
        (HostError("no java"), 255, "no java"),
        (WaitTimeout("waited 5 s for an ISR"), 255, "waited 5 s for an ISR"),
        (Stopped(signal.SIGTERM), 143, "interrupted by SIGTERM"),
        (Stopped(signal.SIGINT), 130, "interrupted by SIGINT"),
    ],
)
def test_a_run_that_does_not_says_in_which_phase_and_why(
    carried_out: Callable[[Story], int],
    tmp_path: Path,
    error: BaseException,
    code: int,
    why: str,
) -> None:
    closed: list[str] = []

    def story(_: Run, phase: Any, closing: ExitStack) -> None:
        for part in ("nodes", "workers", "faults"):
            closing.callback(closed.append, part)
        with phase("load", ""):
            raise error

    assert code == carried_out(story)
    record = RunFolder(path=tmp_path).read()
    assert record.failure
    assert ("incomplete", "load", why) == (record.state, record.failure.phase, record.failure.error)
    assert ["load"] == [phase.name for phase in record.phases]
    assert ["faults", "workers", "nodes"] == closed


@pytest.mark.parametrize("error", [ClusterError, WaitTimeout])
def test_whatever_ends_a_run_past_its_time_limit_the_limit_is_named_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Nodes, sessions and workers are each given what is left, and each says in its own words that
    this was not enough."""
    RunFolder(path=tmp_path).write(run_record(time_limit_s=0))

    def story(_: Run, phase: Any, __: ExitStack) -> None:
        with phase("set-up", ""):
            raise error("nobody answered")

    monkeypatch.setattr(phases, "story", story)

    assert 255 == phases.carry_out(RunFolder(path=tmp_path), Screen(Console(quiet=True)))
    failure = RunFolder(path=tmp_path).read().failure
    assert failure
    assert "the time limit of 0 s was exceeded: nobody answered" == failure.error


def test_what_cannot_be_closed_is_a_failure_of_the_run(
    carried_out: Callable[[Story], int], tmp_path: Path
) -> None:
    def story(_: Run, phase: Any, closing: ExitStack) -> None:
        def fail() -> None:
            raise ClusterError("the topic could not be removed")

        closing.callback(fail)
        with phase("collect", ""):
            closing.close()

    assert 255 == carried_out(story)
    failure = RunFolder(path=tmp_path).read().failure
    assert failure
    assert ("collect", "the topic could not be removed") == (failure.phase, failure.error)


@pytest.mark.parametrize("number", STOPPING)
def test_the_first_signal_stops_and_the_next_is_passed_over(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # as it is now, afterwards
    before = {each: signal.getsignal(each) for each in STOPPING}
    try:
        stop_on_signals()
        with pytest.raises(Stopped) as stopped:
            os.kill(os.getpid(), number)
        assert number == stopped.value.number
        for each in STOPPING:
            os.kill(os.getpid(), each)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def test_an_interrupt_that_came_before_the_run_could_heed_it_ends_it_before_it_begins(
    carried_out: Callable[[Story], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # as it is now, afterwards
    before = {each: signal.getsignal(each) for each in STOPPING}
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        stop_on_signals()
        signal.raise_signal(signal.SIGINT)
        assert carried_out(lambda *_: pytest.fail("it began")) == 130
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        for each, handler in before.items():
            signal.signal(each, handler)

    failure = RunFolder(path=tmp_path).read().failure
    assert failure is not None
    assert (failure.phase, failure.error) == ("start", "interrupted by SIGINT")


@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_that_comes_in_a_destructor_stops_all_the_same(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd:
        def __del__(self) -> None:
            os.kill(os.getpid(), number)
            sum(range(100))  # Python looks for signals between two steps

    def lose_one_and_wait() -> None:
        odd = Odd()
        del odd
        threading.Event().wait(300)  # until the signal is sent again, however busy the host

    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # as it is now, afterwards
    before = {each: signal.getsignal(each) for each in STOPPING}
    try:
        stop_on_signals()
        with pytest.raises(Stopped) as stopped:
            lose_one_and_wait()
        assert number == stopped.value.number
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def test_a_full_disk_is_named_whatever_failed_because_of_it(
    carried_out: Callable[[Story], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that cannot write its log does not come up, and does not say why."""

    def story(_: Run, phase: Any, __: ExitStack) -> None:
        raise WaitTimeout("kafka1 did not come up")

    monkeypatch.setattr(phases, "trouble_with", lambda path: DiskError(f"{path}: full"))

    assert 255 == carried_out(story)
    failure = RunFolder(path=tmp_path).read().failure
    assert failure is not None
    assert f"{tmp_path}: full (kafka1 did not come up)" == failure.error


def test_a_program_that_is_missing_in_mid_run_is_named(
    carried_out: Callable[[Story], int], tmp_path: Path
) -> None:
    def story(_: Run, phase: Any, __: ExitStack) -> None:
        raise FileNotFoundError(2, "No such file or directory", "strace")

    assert 255 == carried_out(story)
    failure = RunFolder(path=tmp_path).read().failure
    assert failure is not None
    assert "the program strace is in no folder of PATH" in failure.error


def test_run_json_has_each_phase_as_soon_as_it_has_ended(
    carried_out: Callable[[Story], int], tmp_path: Path
) -> None:
    """So that whoever started the run knows that its load is over."""
    seen = []

    def told() -> list[str]:
        return [phase.name for phase in RunFolder(path=tmp_path).read().phases]

    def story(_: Run, phase: Any, closing: ExitStack) -> None:
        with phase("load", ""):
            seen.append(told())
        seen.append(told())
        closing.close()

    assert 0 == carried_out(story)
    assert seen == [[], ["load"]]
