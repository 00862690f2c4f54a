"""Starts the workers, and lets them go until the paths to the topic are open."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from harness.cluster.nodes import ClusterError
from harness.model.worker_kinds import WorkerKind
from harness.run.load.worker_specs import Specs
from harness.run.load.workers import Worker, Workers, spawn
from harness.run.run_context import Running

END_MARGIN_S = 30.0
OPEN_LIMIT_S = 60.0
FULL_ISR_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The workers of a run, and the means to start more."""

    running: Running
    workers: Workers
    specs: Specs
    killing: ExitStack  # kills every worker that is left after all else is closed

    def start(self, kind: WorkerKind, spec: Mapping[str, Any]) -> Worker:
        """Start a worker; it is killed at the end of the run at the latest."""
        logs = self.running.run.folder.logs
        worker = spawn(self.running.cluster, kind=kind, spec=spec, folder=logs)
        self.killing.callback(worker.kill)
        return worker

    def succeed(self, worker: Worker, changes: Mapping[str, Any]) -> Worker:
        """Start a worker in the place of one that has ended."""
        limit_s = self.running.run.deadline.within()
        return self.start(worker.kind, {**worker.spec, "limit_s": limit_s, **changes})

    def raise_if_died(self) -> None:
        """Raise ClusterError when a worker ended that should not have."""
        if died := self.workers.died():
            raise ClusterError(f"worker {', '.join(died)} ended unexpectedly")


def start_workers(running: Running, closing: ExitStack) -> Load:
    """Start the scenario's workers and wait until each has seen the topic."""
    run = running.run
    specs = Specs(
        scenario=running.scenario,
        seed=run.record.seed,
        folder=run.folder,
        nodes=running.cluster.nodes,
        leader=running.view.look_or_last().partitions[0].leader,
    )
    killing = closing.enter_context(ExitStack())
    load = Load(running=running, workers=Workers(), specs=specs, killing=killing)
    for kind, spec in specs.of_load(run.deadline.within()):
        load.workers.add(load.start(kind, spec))
    closing.callback(lambda: load.workers.end(load.workers.all, END_MARGIN_S))
    load.workers.await_ready()
    return load


def warm_up(load: Load) -> None:
    """Let the workers go, and wait until each producer's first send has ended and is read.

    A fresh topic's followers can take a second to begin to fetch, and no record can be read before;
    the load, its plan and its windows begin when the paths are open. On a busy host a replica can
    leave the ISR in that second, so this waits for a full ISR too.
    """
    for worker in load.workers.all:
        worker.go()
    what = "the first sends to end and to be read"
    load.running.run.wait(lambda: _paths_open(load), what, OPEN_LIMIT_S)
    load.running.await_full_isr(FULL_ISR_LIMIT_S)


def _paths_open(load: Load) -> bool:
    load.raise_if_died()
    workers = load.workers
    sent = all(
        w.progress.acked + w.progress.failed + w.progress.info > 0 for w in workers.producers
    )
    joined = not workers.members or any(w.progress.reads > 0 for w in workers.members)
    return sent and joined and all(w.progress.reads > 0 for w in workers.readers)
