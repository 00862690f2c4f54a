"""One run, top to bottom: set-up, load under faults, heal, final read, collect.

`carry_out` reads what was decided from the run's folder and leaves everything that happened there.
On the local backend it runs inside the private namespaces, as `python -m harness.run FOLDER`.

Whatever ends it, faults are healed, workers are ended and the cluster is closed; run.json then says
`complete`, or `incomplete` with the phase and the sentence that tells why.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from harness.cluster.nodes import ClusterError
from harness.host import machine
from harness.host.machine import HostError
from harness.model.exit_codes import FAILED, interrupted
from harness.model.run_folder import RunFolder
from harness.run.experiment import Experiment
from harness.run.screen import Screen
from harness.waiting import WaitTimeout


class Stopped(BaseException):
    """TERM or INT came; raised in the main thread, wherever it is."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Phases:
    """Which phase the run is in, and when each began and ended."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.done: list[dict[str, Any]] = []
        self.current = "start"

    @contextmanager
    def phase(self, name: str, line: str) -> Iterator[None]:
        """Inside the block the run is in phase `name`."""
        self.current, begin = name, time.monotonic_ns()
        self._screen.say(line, style="bold")
        try:
            yield
        finally:
            self.done.append({"name": name, "start_ns": begin, "end_ns": time.monotonic_ns()})


def carry_out(folder: RunFolder, screen: Screen) -> int:
    """Carry out a prepared run. Returns 0, 255, or 128 + the signal that stopped it."""
    record = folder.read()
    before, begin_s = machine.cpu_counters(), time.monotonic()
    phases = Phases(screen)
    code, failure = 0, None
    try:
        with Experiment(folder=folder, record=record, screen=screen) as experiment:
            story(experiment, phases.phase)
    except Stopped as stopped:
        name = signal.Signals(stopped.number).name
        code, failure = interrupted(stopped.number), f"interrupted by {name}"
    except (ClusterError, HostError, WaitTimeout, OSError) as error:
        code, failure = FAILED, str(error)
    starved = machine.starvation(before, machine.cpu_counters(), time.monotonic() - begin_s)
    folder.update(
        state="incomplete" if failure else "complete",
        ended_utc=datetime.now(UTC).isoformat(),
        phases=phases.done,
        host={**machine.facts(), "cpu_starvation": starved},
        failure={"phase": phases.current, "error": failure} if failure else None,
    )
    if failure:
        screen.say(f"{phases.current}: {failure}", style="bold red")
    return code


Phase = Callable[[str, str], AbstractContextManager[None]]


def story(experiment: Experiment, phase: Phase) -> None:
    """What happens in a run, in order; the experiment's parts close themselves in reverse."""
    with phase("set-up", "starting the cluster"):
        experiment.start_cluster()
        experiment.create_topic()
        experiment.start_workers()
    with phase("warm-up", "waiting for the first answers"):
        experiment.warm_up()
    with phase("load", experiment.load_line()):
        experiment.load()
    with phase("heal", "load ended; waiting until every ISR is full and log ends are stable"):
        experiment.await_recovery()
    with phase("final-read", "reading every partition from its start to its end"):
        experiment.final_read()
    with phase("collect", "closing the cluster"):
        experiment.close()


def main() -> None:
    """`python -m harness.run FOLDER`: carry out a prepared run, inside its namespaces."""

    def stop(number: int, _: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)  # once is enough: now we clean up
        raise Stopped(number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)  # pid 1 of a pid namespace ignores what it does not handle
    sys.exit(carry_out(RunFolder(path=Path(sys.argv[1])), Screen()))


if __name__ == "__main__":
    main()
