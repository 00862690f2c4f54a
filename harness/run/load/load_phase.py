"""Conducts the plan while the workers work, until both have ended."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass

from harness.cluster.nodes import ClusterError
from harness.history.recorder import Lines
from harness.model.runs.run_record import RunRecord
from harness.nemesis.conductor.conductor import Conductor
from harness.nemesis.undo_record import Undo
from harness.nemesis.verb import keep_nothing
from harness.run.load.start import END_MARGIN_S, Load
from harness.run.load.worker_nodes import WorkerNodes
from harness.run.load.worker_specs import coordinated, flush_s
from harness.run.load.workers import Worker
from harness.run.progress import Status
from harness.waiting import WaitTimeout, wait_until

CATCH_UP_LIMIT_S = 15.0
CATCH_UP_EVERY_S = 0.1
CATCH_UP_LOOKS = 10  # without anything new read


def load_summary(record: RunRecord) -> str:
    """The load in one line for the user."""
    work, planned = record.scenario.workload, f"{len(record.plan)} faults planned"
    members = f"{work.transformers} transformers, " if work.transformers else ""
    if work.kind == "write-read":
        return f"{work.rounds:,} rounds of write and read, {planned}"
    return (
        f"{work.producers} x {work.rate:g} sends/s for {work.duration_s:g} s, "
        f"{work.consumers} consumers, {members}{planned}"
    )


def conduct(load: Load, closing: ExitStack) -> None:
    """Conduct the plan while the workers work, and return when both have ended."""
    run, conductor = load.running.run, _conductor(load)
    closing.callback(conductor.stop)
    under_way = UnderWay(load=load, conductor=conductor, begin_ns=time.monotonic_ns())
    conductor.start(under_way.begin_ns)
    with run.screen.live():
        run.wait(under_way.over, "the load and its faults to end")
    _end(load, conductor)


def _conductor(load: Load) -> Conductor:
    running, run = load.running, load.running.run
    address = running.cluster.client_address
    return Conductor(
        steps=run.record.plan,
        cluster=running.cluster,
        view=running.view,
        load=load.workers,
        replicas=running.scenario.topic.replication_factor,
        write=Lines(run.folder.history / "nemesis.jsonl").write,
        tell=lambda line: run.screen.say(line, style="yellow"),
        undo=Undo(run.folder.path),
        clients=WorkerNodes(
            workers=load.workers, address=address, succeed=load.succeed, programs=load.programs
        ),
        coordinated=coordinated(running.scenario, run.folder),
        keep=running.keeper.before_return if running.keeper else keep_nothing,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """The load and its plan from their begin to their end."""

    load: Load
    conductor: Conductor
    begin_ns: int

    def over(self) -> bool:
        """Whether the load is over; each call also shows it and starts successors."""
        self._show()
        self._succeed_the_dead()
        self.load.raise_if_died()
        _raise_if_failed(self.conductor)
        producers_ended = self.load.workers.producers_ended()
        work = self.load.running.scenario.workload
        if work.kind == "write-read":
            return producers_ended
        lasted_s = (time.monotonic_ns() - self.begin_ns) / 1e9
        return producers_ended or (lasted_s >= work.duration_s and self.conductor.done())

    def _succeed_the_dead(self) -> None:
        """Start a successor of each member that ended itself as planned, with the next planned
        death."""
        workers, deaths = self.load.workers, self.load.running.scenario.workload.dies
        for dead in filter(Worker.died_as_planned, workers.members):
            died = sum(worker.died_as_planned() for worker in workers.ever)
            dies = deaths[died] if died < len(deaths) else ""
            successor = self.load.succeed(dead, {**workers.successor_spec(dead), "dies": dies})
            workers.add(successor)
            successor.go()
            self.load.running.run.screen.say(
                f"{dead.name} killed itself ({dead.dies}); {successor.name} replaces it",
                style="yellow",
            )

    def _show(self) -> None:
        workers, now_ns = self.load.workers, time.monotonic_ns()
        last_ns = workers.last_ack_ns()
        self.load.running.run.screen.show(
            Status(
                elapsed_s=(now_ns - self.begin_ns) / 1e9,
                sends=workers.rounds(),
                acks=workers.acks(),
                reads=workers.reads(),
                errors=workers.errors(),
                gap_s=(now_ns - last_ns) / 1e9 if last_ns else None,
                in_force=tuple(self.conductor.in_force.values()),
            )
        )


def _raise_if_failed(conductor: Conductor) -> None:
    if conductor.failure:
        raise ClusterError(f"fault injection failed: {conductor.failure}")


def _end(load: Load, conductor: Conductor) -> None:
    """End the producers, let the plan's last fault heal, then end the consumers once they caught
    up."""
    workers, run = load.workers, load.running.run
    patience_s = flush_s(load.running.scenario) + END_MARGIN_S
    workers.end(workers.producers, patience_s)
    run.wait(conductor.done, "the last fault to be healed")
    _raise_if_failed(conductor)
    workers.end(workers.producers, patience_s)  # late successors
    if workers.consumers:
        _await_catch_up(load)
        workers.end(workers.consumers, patience_s)  # some of them await outputs
    run.folder.update(workers=workers.as_records())
    load.raise_if_died()


def _await_catch_up(load: Load) -> None:
    """Wait until no consumer reads anything new; the final read shows what they never read."""
    counts: list[int] = []

    def still() -> bool:
        counts.append(load.workers.reads())
        return len(counts) > CATCH_UP_LOOKS and counts[-1] == counts[-CATCH_UP_LOOKS]

    try:
        wait_until(
            still,
            timeout_s=CATCH_UP_LIMIT_S,
            what="consumers to catch up",
            every_s=CATCH_UP_EVERY_S,
        )
    except WaitTimeout:
        load.running.run.screen.say("consumers are still reading; continuing")
