"""The story of a run: cluster up, load, aftermath, each step with what the one before returned.

What a step opens is put on `closing`, which closes in reverse order on every way out: faults are
healed first, then the workers end, then the cluster is no longer watched, then the nodes go.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from harness.run.aftermath import await_recovery, final_read
from harness.run.load.load_phase import conduct, in_a_line
from harness.run.load.start import start_workers, warm_up
from harness.run.run_context import Run
from harness.run.set_up import set_up

Phase = Callable[[str, str], AbstractContextManager[None]]


def story(run: Run, phase: Phase, closing: ExitStack) -> None:
    """What happens in a run, in order."""
    with phase("set-up", "starting the cluster"):
        running = set_up(run, closing)
        load = start_workers(running, closing)
    with phase("warm-up", "waiting for the first acks and reads"):
        warm_up(load)
    with phase("load", in_a_line(run.record)):
        conduct(load, closing)
    with phase("heal", "load ended; waiting until every ISR is full and log ends are stable"):
        await_recovery(running)
    with phase("final-read", "reading every partition from its start to its end"):
        final_read(load)
    with phase("collect", "closing the cluster"):
        closing.close()
