"""Carries a run from its first phase to its last, and completes its run.json.

Whatever ends the run, faults are healed, workers end and the cluster is closed; then run.json says
`complete`, or `incomplete` with the phase and the reason.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime

from harness.cluster.nodes import ClusterError
from harness.host import machine, system_packages
from harness.host.machine import HostError
from harness.model.exit_codes import FAILED, VALID, interrupted
from harness.model.runs.disk import disk_errors, trouble_with
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import FailureRecord, PhaseRecord, StarvationRecord
from harness.run.aftermath import await_recovery, drain, final_read
from harness.run.interrupts import Stopped, unblock_signals
from harness.run.load.load_phase import conduct, load_summary
from harness.run.load.start import start_workers, warm_up
from harness.run.progress import Screen
from harness.run.run_context import Run
from harness.run.set_up import set_up
from harness.run.suspects import explanation
from harness.waiting import WaitTimeout


class Phases:
    """The current phase of a run, and when each began and ended; run.json has those that ended."""

    def __init__(self, folder: RunFolder, screen: Screen) -> None:
        self._folder, self._screen = folder, screen
        self.done: list[PhaseRecord] = []
        self.current = "start"

    @contextmanager
    def phase(self, name: str, line: str) -> Iterator[None]:
        """Inside the block the run is in phase `name`."""
        self.current, begin_ns = name, time.monotonic_ns()
        before = machine.cpu_counters()
        self._screen.say(line, style="bold")
        try:
            yield
        finally:
            end_ns = time.monotonic_ns()
            starved = machine.starvation(before, machine.cpu_counters(), (end_ns - begin_ns) / 1e9)
            self.done.append(
                PhaseRecord(
                    name=name,
                    start_ns=begin_ns,
                    end_ns=end_ns,
                    cpu_starvation=StarvationRecord(**starved),
                )
            )
        self._folder.update(phases=self.done)


def carry_out(folder: RunFolder, screen: Screen) -> int:
    """Carry out a prepared run. Returns 0, 255, or 128 + the signal that stopped it. Raises
    DiskError where the end cannot be written."""
    before, begin_s = machine.cpu_counters(), time.monotonic()
    phases = Phases(folder, screen)
    run = Run.begin(folder, screen)
    code, why, log = _outcome(run, phases)
    starved = machine.starvation(before, machine.cpu_counters(), time.monotonic() - begin_s)
    if why and (full := trouble_with(folder.path)):
        why = f"{full} ({why})"
    with disk_errors(folder.path):
        folder.update(
            state="incomplete" if why else "complete",
            ended_utc=datetime.now(UTC).isoformat(),
            phases=phases.done,
            host={**machine.describe(), "cpu_starvation": starved},
            failure=FailureRecord(phase=phases.current, error=why, log=log) if why else None,
        )
    if why:
        screen.say(f"{phases.current}: {why}", style="bold red")
    if log:
        screen.say(f"the nodes' logs are in {folder.logs}, the last lines on the run's page")
    return code


def _outcome(run: Run, phases: Phases) -> tuple[int, str | None, str]:
    """Run all phases and close everything. Returns the exit code, why the run did not get to its
    end, and the last lines of the node that caused it."""
    try:
        unblock_signals()
        with ExitStack() as closing:
            story(run, phases.phase, closing)
    except Stopped as stopped:
        name = signal.Signals(stopped.number).name
        return interrupted(stopped.number), f"interrupted by {name}", ""
    except FileNotFoundError as error:
        return FAILED, system_packages.if_a_program(error) or str(error), ""
    except (ClusterError, WaitTimeout) as error:
        record, logs = run.folder.read(), run.folder.logs
        return FAILED, *explanation(
            error, run.failure_sentence(error), phases.current, record, logs
        )
    except (HostError, OSError) as error:
        return FAILED, run.failure_sentence(error), ""
    return VALID, None, ""


def story(
    run: Run, phase: Callable[[str, str], AbstractContextManager[None]], closing: ExitStack
) -> None:
    """All steps of a run in order; each takes what the one before returned.

    A step puts what it opens on `closing`, which closes in reverse order on every way out: faults
    heal first, then the workers end, then the watcher stops, then the nodes go.
    """
    with phase("set-up", "starting the cluster"):
        running = set_up(run, closing)
        load = start_workers(running, closing)
    with phase("warm-up", "waiting for the first acks and reads"):
        warm_up(load)
    with phase("load", load_summary(run.record)):
        conduct(load, closing)
    with phase("heal", "load ended; waiting until every ISR is full and log ends are stable"):
        await_recovery(running)
    if run.record.scenario.outputs is not None:
        with phase("drain", "waiting until the programs have answered all inputs"):
            drain(load)
    with phase("final-read", "reading every partition from its start to its end"):
        final_read(load)
    with phase("collect", "closing the cluster"):
        closing.close()
