"""Starts the workers, and lets them go until the paths to the topic are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from kafka.errors import for_code

from harness.cluster.capabilities import Foreign
from harness.cluster.nodes import ClusterError
from harness.model.worker_kinds import OUTPUT_READER, WorkerKind
from harness.run.application.programs import Programs
from harness.run.load.worker_specs import Specs, refusals_stand
from harness.run.load.workers import Worker, Workers, spawn
from harness.run.run_context import Running
from harness.waiting import WaitTimeout

END_MARGIN_S = 30.0
OPEN_LIMIT_S = 60.0
FULL_ISR_LIMIT_S = 60.0
FIRST_OUTPUT_LIMIT_S = 30.0
# What to change where brokers refuse what is sent (workloads/client/errors.py).
REMEDIES = {
    "MESSAGE_SIZE_TOO_LARGE": 'set workload.value_bytes below topic.config."max.message.bytes" and '
    'workload.producer."message.max.bytes"',
    "RECORD_LIST_TOO_LARGE": 'a batch is larger than a segment: set topic.config."segment.bytes" '
    'above workload.producer."batch.size"',
    "INVALID_REQUIRED_ACKS": "set workload.producer.acks to 0, 1 or all",
    "TOPIC_AUTHORIZATION_FAILED": "give the producer's user the right to write to the topic "
    "(kafka-acls), or set another user under workload.producer",
    "INVALID_TIMESTAMP": 'the topic takes no record of now: set topic.config."'
    'message.timestamp.before.max.ms" and "message.timestamp.after.max.ms", or mend the clocks',
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "the topic's message.format.version is too old for what the "
    "producer asks for (idempotence, transactions): remove it from topic.config",
    "UNSUPPORTED_COMPRESSION_TYPE": 'set workload.producer."compression.type" to one that the '
    "brokers' release knows",
    "INVALID_RECORD": "a compacted topic takes no record without a key: set workload.keys, or "
    'topic.config."cleanup.policy" to delete',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The workers of a run, and the means to start more."""

    running: Running
    workers: Workers
    specs: Specs
    killing: ExitStack  # kills every worker that is left after all else is closed
    programs: Programs | None = None

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
        refusals_stand=refusals_stand(
            run.record.plan, own=not isinstance(running.cluster, Foreign)
        ),
    )
    killing = closing.enter_context(ExitStack())
    programs = start_programs(running, closing)
    load = Load(running=running, workers=Workers(), specs=specs, killing=killing, programs=programs)
    if running.scenario.outputs is not None:
        spec = specs.of_outputs(running.scenario.outputs, run.deadline.within())
        load.workers.beside.append(load.start(OUTPUT_READER, spec))
    for kind, spec in specs.of_load(run.deadline.within()):
        load.workers.add(load.start(kind, spec))
    ended = load.workers
    closing.callback(lambda: ended.end([*ended.all, *ended.beside], END_MARGIN_S))
    load.workers.await_ready()
    return load


def start_programs(running: Running, closing: ExitStack) -> Programs:
    """Start the scenario's programs, and end them with the run."""
    folder = running.run.folder
    programs = Programs(
        scenario=running.scenario,
        cluster=running.cluster,
        folder=folder.path / "programs",
        logs=folder.logs,
        say=lambda line: running.run.screen.say(line, style="yellow"),
        update=lambda records: folder.update(programs=records),
    )
    closing.callback(programs.close)
    programs.start()
    return programs


def warm_up(load: Load) -> None:
    """Let the workers go, and wait until each producer's first send has ended and is read.

    A fresh topic's followers can take a second to begin to fetch, and no record can be read before;
    the load, its plan and its windows begin when the paths are open. On a busy host a replica can
    leave the ISR in that second, so this waits for a full ISR too. Programs join their group in
    some seconds: their first output is awaited, for a while.
    """
    for worker in (*load.workers.all, *load.workers.beside):
        worker.go()
    what = "the first sends to end and to be read"
    load.running.run.wait(lambda: _paths_open(load), what, OPEN_LIMIT_S)
    outputs, run = load.running.scenario.outputs, load.running.run
    if outputs is not None and outputs.topic:
        try:
            run.wait(lambda: _first_output(load), "the first output", FIRST_OUTPUT_LIMIT_S)
        except WaitTimeout:
            run.screen.say("no output came yet; the load begins all the same", style="yellow")
    load.running.await_full_isr(FULL_ISR_LIMIT_S)


def _first_output(load: Load) -> bool:
    load.raise_if_died()
    return any(worker.progress.reads > 0 for worker in load.workers.beside)


def _paths_open(load: Load) -> bool:
    load.raise_if_died()
    workers = load.workers
    raise_if_refused(workers.producers)
    sent = all(
        w.progress.acked + w.progress.failed + w.progress.info > 0 for w in workers.producers
    )
    joined = not workers.members or any(w.progress.reads > 0 for w in workers.members)
    return sent and joined and all(w.progress.reads > 0 for w in workers.readers)


def raise_if_refused(producers: Sequence[Worker]) -> None:
    """Raise ClusterError when every send of every producer was refused for what it is: nothing that
    the harness waits for will ever come."""
    pages = [worker.progress for worker in producers]
    if not pages or not all(page.refusal and not page.acked for page in pages):
        return
    code = pages[0].refusal
    name = getattr(for_code(code), "message", "") or str(code)
    remedy = REMEDIES.get(name, "change what is sent, or what the topic takes (topic.config)")
    raise ClusterError(f"every first send was refused with {name}: {remedy}")
