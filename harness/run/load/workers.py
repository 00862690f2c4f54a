"""Starts, awaits, counts and ends the workers of a run; never imports them.

Each is `python -P -m workloads.<module> SPEC.json` in the clients' place of the cluster. Its
private settings, which let it into the cluster, are not in SPEC.json but in the first line of its
input. It prints a `ready` line, begins at the line `go`, keeps a progress page (docs/history.md)
and ends by itself, at SIGTERM or at its limit.

A worker that a fault ended may get a successor in its *place*: producer-0, then producer-0-2.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cluster.capabilities import Cluster, client_settings
from harness.cluster.nodes import ClusterError, NotInTime
from harness.history.progress_page import Progress
from harness.host import machine
from harness.model.runs.run_record import WorkerRecord
from harness.model.worker_kinds import WorkerKind
from harness.run.application.programs import ENDING
from harness.waiting import WaitTimeout, wait_until

READY_LIMIT_S = 60.0


@dataclass(kw_only=True)
class Worker:
    """One worker process."""

    name: str
    kind: WorkerKind
    first: str  # the name of the first worker in its place
    process: subprocess.Popen[str]
    progress: Progress
    log: Path
    spec: Mapping[str, Any]
    fault_ended: bool = False  # a fault was to end it
    released: bool = False  # it was let begin
    messages: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def go(self) -> None:
        """Let it begin."""
        self.released = True
        self.tell("go")

    def tell(self, line: str) -> None:
        """Write a line to its input."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def is_ready(self) -> bool:
        """Whether it has printed `ready`; ClusterError when it died instead."""
        if any(line.get("event") == "ready" for line in self.messages):
            return True
        if self.process.poll() is not None:
            said = self.log.read_text(errors="replace").strip()
            why = said.rpartition("\n")[2].removeprefix(f"{self.name}: ")
            raise ClusterError(f"worker {self.name} died before it began: {why}", log=said)
        return False

    def ended(self) -> bool:
        """Whether its process has ended."""
        return self.process.poll() is not None

    @property
    def pid(self) -> int | None:
        """Of its process; None: it has ended."""
        return None if self.ended() else self.process.pid

    def stopped(self) -> bool | None:
        """Whether a signal has stopped it; None where it has ended."""
        return None if self.ended() else machine.is_stopped(self.process.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, as a fault does."""
        self.fault_ended = self.fault_ended or number in ENDING
        self.process.send_signal(number)

    def kill(self) -> None:
        """End its process at once, if it is still there."""
        if not self.ended():
            self.process.kill()
            self.process.wait()

    @property
    def events(self) -> Path:
        """The file of its events."""
        return Path(self.spec["history"]) / f"{self.name}.jsonl"

    @property
    def dies(self) -> str:
        """The point at which the scenario lets it end itself; empty: none."""
        return str(self.spec.get("dies") or "")

    def died_as_planned(self) -> bool:
        """Whether it ended itself at that point."""
        killed = self.process.poll() == -signal.SIGKILL
        return bool(self.dies) and killed and not self.fault_ended

    def as_record(self) -> WorkerRecord:
        """The worker as run.json holds it."""
        return WorkerRecord(
            process=self.name,
            role=self.kind.name,
            exit=self.process.poll(),
            config=dict(self.spec["config"]),
            dies=self.dies,
        )

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self.messages.append(json.loads(line))
            except ValueError:
                self.messages.append({"event": "noise", "text": line})


class Workers:
    """All workers of the load; what the nemesis sees and controls of them (a `SendCounts`)."""

    def __init__(self, workers: Sequence[Worker] = ()) -> None:
        self.ever = list(workers)  # successors after those whose place they take
        self.beside: list[Worker] = []  # not of the load: they read what programs make of it
        self._rounds: int | None = None

    @property
    def all(self) -> tuple[Worker, ...]:
        """The newest worker of each place."""
        return tuple({worker.first: worker for worker in self.ever}.values())

    @property
    def producers(self) -> tuple[Worker, ...]:
        """The workers that send of themselves; they are the load."""
        return tuple(worker for worker in self.all if worker.kind.drives)

    @property
    def readers(self) -> tuple[Worker, ...]:
        """The workers that follow the log, each on its own."""
        return tuple(worker for worker in self.all if worker.kind.follows)

    @property
    def members(self) -> tuple[Worker, ...]:
        """The workers that share the log as a group."""
        return tuple(worker for worker in self.all if worker.kind.member)

    @property
    def consumers(self) -> tuple[Worker, ...]:
        """All but the producers; they end when they have caught up."""
        return tuple(worker for worker in self.all if not worker.kind.drives)

    def successor_spec(self, worker: Worker) -> dict[str, Any]:
        """What a successor's SPEC has of its own: the next name in its place and, for a sender, an
        index that no worker has had."""
        number = sum(other.first == worker.first for other in self.ever) + 1
        own: dict[str, Any] = {"process": f"{worker.first}-{number}", "first": worker.first}
        if worker.kind.sends:
            alike = [other for other in self.ever if other.kind.drives == worker.kind.drives]
            own["index"] = 1 + max(other.spec.get("index", -1) for other in alike)
        return own

    def add(self, successor: Worker) -> None:
        """Put a worker in the place of one that has ended."""
        self.ever.append(successor)
        self.hold_after(self._rounds)

    def await_ready(self) -> None:
        """Return when every worker has seen the topic. Raises ClusterError."""
        for worker in (*self.all, *self.beside):
            try:
                wait_until(worker.is_ready, timeout_s=READY_LIMIT_S, what=f"{worker.name} ready")
            except WaitTimeout as error:
                raise NotInTime(str(error)) from None

    def acks(self) -> int:
        """Acknowledged sends of the load so far."""
        return sum(worker.progress.acked for worker in self.ever if worker.kind.drives)

    def rounds(self) -> int:
        """Sends of the load begun so far."""
        return sum(worker.progress.sends for worker in self.ever if worker.kind.drives)

    def reads(self) -> int:
        """Records read so far."""
        return sum(worker.progress.reads for worker in self.ever)

    def errors(self) -> int:
        """Sends that ended without an ack, and client errors."""
        return sum(w.progress.failed + w.progress.info + w.progress.errors for w in self.ever)

    def last_ack_ns(self) -> int:
        """When the newest ack of the load came; 0 before the first."""
        times = (worker.progress.last_ack_ns for worker in self.ever if worker.kind.drives)
        return max(times, default=0)

    def hold_after(self, rounds: int | None) -> None:
        """Begin no send past this many, shared evenly; None: no limit. All workers of one place
        count together."""
        self._rounds = rounds
        for worker in self.producers:
            share = None if rounds is None else rounds // len(self.producers)
            sent = sum(w.progress.sends for w in self.ever if w.first == worker.first)
            before = sent - worker.progress.sends
            worker.progress.allow(None if share is None else max(0, share - before))

    def held(self, worker: Worker) -> bool:
        """Whether nothing new can come to this worker while the load is paused: a producer may send
        no more, or, for a reader, no producer may."""
        return all(
            0 <= w.progress.allowed <= w.progress.sends
            for w in self.producers
            if worker is w or worker not in self.producers
        )

    def producers_ended(self) -> bool:
        """Whether every producer has ended, and none by a fault that will be healed."""
        return all(worker.ended() and not worker.fault_ended for worker in self.producers)

    def died(self) -> list[str]:
        """Names and exit codes of workers that ended with an error and were not to."""
        return [
            f"{w.name} (exit {w.process.returncode})"
            for w in (*self.ever, *self.beside)
            if w.ended()
            and w.process.returncode != 0
            and not w.fault_ended
            and not w.died_as_planned()
        ]

    def end(self, workers: Sequence[Worker], timeout_s: float) -> None:
        """Ask workers to finish, and kill those that do not within `timeout_s`."""
        for worker in workers:
            if not worker.ended():
                worker.process.terminate()
        for worker in workers:
            try:
                worker.process.wait(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                worker.kill()

    def as_records(self) -> list[WorkerRecord]:
        """The workers as run.json holds them."""
        return [worker.as_record() for worker in (*self.ever, *self.beside)]


def spawn(cluster: Cluster, *, kind: WorkerKind, spec: Mapping[str, Any], folder: Path) -> Worker:
    """Start one worker; `folder` gets its SPEC and its stderr."""
    name, module = spec["process"], kind.module
    spec_file = folder / f"{name}.json"
    spec = {**spec, "private": bool(client_settings(cluster))}
    spec_file.write_text(json.dumps(spec, indent=1) + "\n")
    log = folder / f"{name}.log"
    progress = Progress.create(Path(spec["history"]), name)
    argv = [sys.executable, "-P", "-m", f"workloads.{module}", str(spec_file)]
    process = cluster.spawn(argv, log=log)
    if spec["private"]:
        _send_private(process, client_settings(cluster))
    return Worker(
        name=name,
        kind=kind,
        first=spec.get("first", name),
        process=process,
        progress=progress,
        log=log,
        spec=spec,
    )


def _send_private(process: subprocess.Popen[str], settings: Mapping[str, str]) -> None:
    """Send a worker its private settings; a worker that has already ended is noticed later."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(dict(settings)) + "\n")
        process.stdin.flush()
