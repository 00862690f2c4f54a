"""Presents workers and programs as nodes that faults can kill, stop, pause and start again.

A node of role "client" has the name of a worker's process and stands for that worker's place: once
producer-0 is killed, its successor producer-0-2 answers for the node. The successor of a producer
has an index of its own, so that the values of a run stay unique; the successor of a consumer reads
from the log's end on, as any worker does. A program is back once it runs and is ready.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster.capabilities import NodeState
from harness.cluster.nodes import ClusterError, Node
from harness.history.progress_page import RUNNING
from harness.history.tables import partitions_named
from harness.model.worker_kinds import PROGRAM
from harness.run.application.programs import Program, Programs
from harness.run.load.workers import Worker, Workers

Events = Iterable[dict[str, Any]]


@dataclass(kw_only=True)
class WorkerNodes:
    """Implements harness.cluster.capabilities.Clients over the run's workers, which come and go.

    `succeed(worker, changes)` starts a worker like `worker` with these changes of its SPEC.
    """

    workers: Workers
    address: str
    succeed: Callable[[Worker, Mapping[str, Any]], Worker]
    programs: Programs | None = None

    def living(self) -> tuple[Node, ...]:
        """The workers and programs that have a process."""
        alive = [(worker.name, worker.kind) for worker in self.workers.all if not worker.ended()]
        programs = self.programs.now() if self.programs else ()
        alive += [(program.name, PROGRAM) for program in programs if program.pid is not None]
        return tuple(
            Node(
                name=name, role="client", id=number, address=self.address, port=0, worker=kind.name
            )
            for number, (name, kind) in enumerate(alive)
        )

    def signal(self, node: Node, number: signal.Signals) -> None:
        """Send a signal to the process in the node's place; ClusterError when there is none."""
        place = self._now(node)
        if place.pid is None:
            raise ClusterError(f"{place.name} has no process to send {number.name} to")
        place.signal(number)

    def start_node(self, node: Node) -> None:
        """Start a successor of a process that has ended; returns at once."""
        place = self._now(node)
        if place.pid is not None:
            raise ClusterError(f"{place.name} is still running")
        if isinstance(place, Worker):
            self.workers.add(self.succeed(place, self.workers.successor_spec(place)))
        elif self.programs is not None:
            self.programs.begin(place.first, place.part)

    def state(self, node: Node) -> NodeState:
        """The process in the node's place."""
        place = self._now(node)
        pid, stopped = place.pid, place.stopped()
        return NodeState(pid=None if stopped is None else pid, stopped=bool(stopped))

    def exited_early(self, node: Node) -> str | None:
        """The last lines of a worker that has ended; None while it runs, and of a program, whose
        end is no failure of the run."""
        worker = self._now(node)
        if isinstance(worker, Program) or not worker.ended():
            return None
        lines = worker.log.read_text(errors="replace").splitlines()[-3:]
        return "\n".join(lines) or f"exit code {worker.process.returncode}"

    def progress(self, node: Node) -> int:
        """Sends that were acked and records that were read by the worker in the node's place."""
        place = self._now(node)
        return 0 if isinstance(place, Program) else place.progress.acked + place.progress.reads

    def works(self, node: Node, *, since: int) -> str | None:
        """What the worker in the node's place does again; lets a new one begin when it is ready."""
        worker = self._now(node)
        if isinstance(worker, Program):
            return worker.back()
        if not worker.is_ready():
            return None
        if not worker.released:
            worker.go()
        who = f"process {worker.process.pid} of {worker.name}"
        if self.progress(node) > since:
            does = "sends are acknowledged" if worker.progress.acked else "records are read"
            return f"{who} continues: {does}"
        if worker.progress.state == RUNNING and self.workers.held(worker):
            return f"{who} is ready, the load is paused"
        return None

    def partitions_moved(self, nodes: Sequence[Node]) -> bool:
        """Whether other members own what these members of the group had, by the events of both."""
        hit = [worker for node in nodes if isinstance(worker := self._now(node), Worker)]
        others = [
            worker for worker in self.workers.members if worker not in hit and not worker.ended()
        ]
        return moved(
            [events_in(worker.events) for worker in hit],
            [events_in(worker.events) for worker in others],
        )

    def _now(self, node: Node) -> Worker | Program:
        programs = self.programs.ever if self.programs else ()
        ever: list[Worker | Program] = [*self.workers.ever, *programs]
        first = next(place.first for place in ever if place.name == node.name)
        return {place.first: place for place in ever}[first]


def moved(theirs: Sequence[Events], others: Sequence[Events]) -> bool:
    """Whether others own all that each of these members had, and each of these had something.

        member-0: assigned 0, 1    member-1: assigned 2                             =>  not yet
        the same, then member-1: assigned 0, 1, and member-0 is told nothing        =>  moved
        the same, then member-0: revoked 0, 1, and nobody is assigned them          =>  not yet

    A member *had* what it last reported to own; it reports nothing while it is stopped. Cannot see:
    a decision of the coordinator of which no member was told yet.
    """
    now = frozenset[int]().union(*(list(_owned(events))[-1] for events in others))
    had = [[owned for owned in _owned(events) if owned] for events in theirs]
    return all(had) and all(owned[-1] <= now for owned in had)


def events_in(file: Path) -> list[dict[str, Any]]:
    """The events in a worker's file so far; each line is there whole or not at all."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def _owned(events: Events) -> Iterator[frozenset[int]]:
    """What a member owned, at first and after each change."""
    owned = frozenset[int]()
    yield owned
    for event in events:
        named = frozenset(partitions_named(event.get("text")))
        if event["event"] == "assigned":
            owned |= named
        elif event["event"] == "revoked":
            owned -= named
        else:
            continue
        yield owned
