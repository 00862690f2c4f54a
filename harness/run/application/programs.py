"""Starts the scenario's programs in order, starts them again when they end, and ends them.

A program that ends by itself is started again after 1, 2, 4, … 10 s (`again`); one that a fault has
ended stays down until the fault is healed. Each process has a name of its own: payments-0, then
payments-0-2, `payments-0` being the name of their place.

    logs/payments-0.log         what it printed, cut at LOG_BYTES
    programs/payments-0/        {folder}, its own
    run.json: programs          from when to when each process lived
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.cluster.capabilities import Cluster
from harness.cluster.nodes import ClusterError
from harness.host import contained
from harness.host.contained import Contained
from harness.model.runs.run_record import ProgramRecord
from harness.model.scenario import ProgramPart, Scenario
from harness.run.application.placeholders import filled, placeholders
from harness.waiting import WaitTimeout, wait_until

READY_LIMIT_S = 60.0
ENDING = (signal.SIGKILL, signal.SIGTERM)
BEGIN_LIMIT_S, END_LIMIT_S = 5.0, 30.0
LOOK_EVERY_S = 0.1
LONGEST_DELAY_S = 10.0
LOG_BYTES = 256 * 2**20
LOG_LINES = 15  # of one that does not become ready


@dataclass(kw_only=True)
class Program:
    """One process of a program."""

    name: str
    first: str  # the name of its place
    part: ProgramPart
    contained: Contained
    log: Path
    begin: int  # where its own lines begin in the log
    started_ns: int
    ended_ns: int | None = None
    fault_ended: bool = False  # a fault was to end it
    told: bool = False  # its end is known, and what follows from it was done

    def ended(self) -> bool:
        """Whether its process has ended."""
        over = self.contained.process.poll() is not None
        if over and self.ended_ns is None:
            self.ended_ns = time.monotonic_ns()
        return over

    @property
    def pid(self) -> int | None:
        """Of the program itself; None: it has none now."""
        return self.contained.pid

    def stopped(self) -> bool | None:
        """Whether a signal has stopped it; None where it has ended."""
        return self.contained.stopped()

    def back(self) -> str | None:
        """The sentence that says so, once it runs and is ready."""
        if self.ended() and self.part.again == "never":
            return f"{self.name} has ended by itself, and is not started again"
        return f"process {self.pid} of {self.name} runs" if self.is_ready() else None

    def is_ready(self) -> bool:
        """Whether it is as `ready` says."""
        kind, _, what = self.part.ready.partition(":")
        if self.ended() or self.contained.pid is None:
            return False
        if kind == "port":
            return self.contained.listens(int(what))
        return kind != "line" or what in self.said()

    def said(self) -> str:
        """What it has printed so far."""
        with self.log.open("rb") as file:
            file.seek(self.begin)
            return file.read(LOG_BYTES).decode(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, as a fault does."""
        self.fault_ended = self.fault_ended or number in ENDING
        self.contained.send(number)

    def as_record(self, *, over: bool = False) -> ProgramRecord:
        """The process as run.json holds it; `over`: it was ended with the run."""
        unordered = self.ended_ns is not None and not self.fault_ended and not over
        return ProgramRecord(
            process=self.name,
            started_ns=self.started_ns,
            ended_ns=self.ended_ns,
            exit=self.contained.process.poll(),
            unordered=unordered,
        )


@dataclass(kw_only=True)
class Programs:
    """All programs of a run; a thread looks after them from `start` to `close`."""

    scenario: Scenario
    cluster: Cluster
    folder: Path
    logs: Path
    say: Callable[[str], None]
    update: Callable[[Sequence[ProgramRecord]], object]
    ever: list[Program] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._over, self._lock = threading.Event(), threading.RLock()
        self._thread = threading.Thread(target=self._look_after, daemon=True)
        self._due_s: dict[str, float] = {}  # by place, when it is started again
        self._quick: dict[str, int] = {}  # how often in a row it lived shortly
        self._values = placeholders(self.scenario, self.cluster.nodes)

    def start(self) -> None:
        """Start all, each once those before it are ready. Raises ClusterError, with the last lines
        of one that is not in time."""
        if self.scenario.programs and not contained.namespace_words():
            self.say("note: no pid namespace here: what a program starts apart may outlive it")
        for part in self.scenario.programs:
            for number in range(part.count):
                self.begin(f"{part.name}-{number}", part)
            for program in self.now():
                if program.part.ready:
                    self._await(program)
        self._thread.start()

    def now(self) -> tuple[Program, ...]:
        """The newest process of each place."""
        return tuple({program.first: program for program in self.ever}.values())

    def begin(self, first: str, part: ProgramPart) -> Program:
        """Start the next process in a place, once what was there before is gone: a program may
        have ended, and its shell not yet."""
        for program in self.now():
            if program.first == first:
                wait_until(program.ended, timeout_s=END_LIMIT_S, what=f"{program.name} to end")
        with self._lock:
            number = 1 + sum(program.first == first for program in self.ever)
            name, log = first if number == 1 else f"{first}-{number}", self.logs / f"{first}.log"
            own = self.folder / first
            own.mkdir(parents=True, exist_ok=True)
            index = first.rpartition("-")[2]
            values = {**self._values, "index": index, "folder": str(own)}
            env = [f"{key}={filled(text, values)}" for key, text in part.env.items()]
            argv = [filled(word, values) for word in part.command]
            log.touch()
            begin = log.stat().st_size
            started_ns = time.monotonic_ns()
            words = contained.contained(["env", *env, *argv], log)
            process = self.cluster.spawn(words, log=log)
            program = Program(
                name=name,
                first=first,
                part=part,
                contained=Contained(process),
                log=log,
                begin=begin,
                started_ns=started_ns,
            )
            self.ever.append(program)
            return program

    def _await(self, program: Program) -> None:
        try:
            wait_until(program.is_ready, timeout_s=READY_LIMIT_S, what=f"{program.name} ready")
        except WaitTimeout:
            said = program.said().splitlines()[-LOG_LINES:]
            what = "has ended" if program.ended() else "runs"
            raise ClusterError(
                f"{program.name} was not ready ({program.part.ready}) in "
                f"{READY_LIMIT_S:g} s, and {what}: see its last lines, or change programs.ready",
                log="\n".join(said),
            ) from None

    def _look_after(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            with self._lock:
                for program in self.now():
                    _cut(program.log)
                    if program.ended() and not program.fault_ended:
                        self._ended(program)

    def _ended(self, program: Program) -> None:
        now_s, first = time.monotonic(), program.first
        if not program.told:
            program.told = True
            lived_s = ((program.ended_ns or 0) - program.started_ns) / 1e9
            quick = self._quick.get(first, 0) + 1 if lived_s < LONGEST_DELAY_S else 1
            self._quick[first] = quick
            delay_s = min(2.0 ** (quick - 1), LONGEST_DELAY_S)
            self._due_s[first] = now_s + delay_s
            code = program.contained.process.poll()
            again = program.part.again == "always"
            then = f"starts again in {delay_s:g} s" if again else "stays so"
            self.say(f"{program.name} has ended by itself (exit {code}) and {then}")
        elif program.part.again == "always" and now_s >= self._due_s[first]:
            self.begin(first, program.part)

    def close(self) -> None:
        """End all, the last one first: by SIGTERM, after 30 s by SIGKILL."""
        with self._lock:
            over = self._over.is_set()
            self._over.set()
        if over:
            return
        if self._thread.ident is not None:
            self._thread.join()
        ran = [program for program in self.ever if not program.ended()]
        for program in reversed(ran):
            self._end(program)
        for program in self.now():
            _cut(program.log)
        self.update([each.as_record(over=each in ran) for each in self.ever])

    def _end(self, program: Program) -> None:
        with suppress(WaitTimeout):  # one that has just been started gets no signal yet
            begun = lambda: program.ended() or program.pid is not None  # noqa: E731
            wait_until(begun, timeout_s=BEGIN_LIMIT_S, what=f"{program.name} to begin")
        program.contained.send(signal.SIGCONT)
        program.contained.send(signal.SIGTERM)
        try:
            wait_until(program.ended, timeout_s=END_LIMIT_S, what=f"{program.name} to end")
        except WaitTimeout:
            self.say(f"{program.name} did not end at SIGTERM: killed")
            program.contained.send(signal.SIGKILL)
            program.contained.process.wait()


def _cut(log: Path) -> None:
    """Keep a log below its limit; what is written later goes on there, and is cut again."""
    if log.stat().st_size > LOG_BYTES:
        words = f"\n[kafka-harness: cut at {LOG_BYTES // 2**20} MiB]\n".encode()
        os.truncate(log, LOG_BYTES - len(words))
        with log.open("ab") as file:
            file.write(words)
