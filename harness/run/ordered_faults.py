"""Faults that somebody orders one by one beside a running cluster: `kafka-harness fault`.

An order comes over a Unix socket as one line of JSON, and its answer goes back as one:

    {"fault": {"verb": "cut", "target": "leader", "options": {"from": "followers"}}, "hold": true}
    {"code": 0, "words": "fault 2: cut leader is in force", "fault": 2}
    {"heal": 2}

Each is one step of FaultRunner: the same targets, proofs and healing as in a plan, and the same
lines in nemesis.jsonl. Orders wait for each other; one that is held stays in force until it is
healed by its number, or all are with the cluster.
"""

from __future__ import annotations

import json
import os
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.cluster.backends import BACKENDS
from harness.history.recorder import Lines
from harness.model.exit_codes import BAD_ARGUMENTS, FAILED, UNKNOWN, VALID
from harness.model.plan import Step
from harness.model.runs.run_record import problem_of
from harness.model.scenario import FaultPart
from harness.nemesis import plan
from harness.nemesis.conductor.conductor import Conductor
from harness.nemesis.verbs import VERBS
from harness.run.application.programs import Programs
from harness.run.load.worker_nodes import WorkerNodes
from harness.run.load.worker_specs import coordinated
from harness.run.load.workers import Workers
from harness.run.run_context import Running
from harness.scenario.prepare import unavailable
from harness.scenario.rules import entry_problems, setting_of
from harness.waiting import wait_until

Answer = dict[str, Any]
FOR_EVER_S = 1e9  # its own limits end it


@dataclass(kw_only=True)
class Order:
    """One step that was ordered; `thread` carries it out."""

    step: Step
    released: threading.Event = field(default_factory=threading.Event)
    events: list[dict[str, Any]] = field(default_factory=list)  # of nemesis.jsonl, its own
    thread: threading.Thread | None = None
    error: str = ""

    def told(self, event: str) -> dict[str, Any] | None:
        """The line that says how its injection, or its healing, ended."""
        ended = (each for each in self.events if each["event"] == event)
        return next((each for each in ended if each["type"] != "invoke"), None)

    def over(self) -> bool:
        """Whether nothing is left to be done."""
        return self.thread is not None and not self.thread.is_alive()


class OrderedFaults:
    """Takes orders for a cluster until it is closed; `programs` can be hit as well."""

    def __init__(self, running: Running, programs: Programs) -> None:
        self._running, self._orders = running, dict[int, Order]()
        self._one_at_a_time = threading.Lock()
        self._lines = Lines(running.run.folder.history / "nemesis.jsonl")
        workers = Workers()
        self._conductor = Conductor(
            steps=(),
            cluster=running.cluster,
            view=running.view,
            load=workers,
            replicas=running.scenario.topic.replication_factor,
            write=self._write,
            tell=lambda line: running.run.screen.say(line, style="yellow"),
            clients=WorkerNodes(
                workers=workers,
                address=running.cluster.client_address,
                succeed=lambda worker, _: worker,
                programs=programs,
            ),
            coordinated=coordinated(running.scenario, running.run.folder),
        )

    def answer(self, asked: Any) -> Answer:
        """Carry out one order."""
        if not isinstance(asked, dict):
            return _refused("not an order")
        with self._one_at_a_time:
            return self._heal(asked["heal"]) if "heal" in asked else self._inject(asked)

    def _inject(self, asked: dict[str, Any]) -> Answer:
        scenario, number = self._running.scenario, len(self._orders)
        try:
            fault = FaultPart.model_validate({"at_s": 0.0, **asked["fault"]})
        except (ValidationError, TypeError, KeyError) as error:
            return _refused(problem_of(error) if isinstance(error, ValidationError) else "no fault")
        problems = entry_problems(fault, scenario)
        record = self._running.run.record
        if not problems and (why := unavailable(fault, scenario, BACKENDS[record.backend])):
            problems = [why]
        way = None if problems else VERBS[fault.verb].prepares
        if way and way not in plan.requirements(record.plan, setting_of(scenario)).ways:
            problems = [
                f"{fault.verb}: nodes must be started for it: name it in the scenario's [[faults]]"
            ]
        if problems:
            return _refused(problems[0])
        seed = record.seed + number
        (step, *_) = plan.make((fault,), seed, setting=setting_of(scenario))
        order = Order(step=step.model_copy(update={"step": number, "series": number}))
        self._orders[number] = order
        hold = bool(asked.get("hold"))
        order.thread = threading.Thread(target=self._carry_out, args=(order, hold), daemon=True)
        order.thread.start()
        wait_until(
            lambda: order.over() or (hold and order.told("inject")),
            timeout_s=FOR_EVER_S,
            what=f"fault {number}",
        )
        return _of(order)

    def _carry_out(self, order: Order, hold: bool) -> None:
        try:
            self._conductor.carry_out(order.step, lambda: hold and not order.released.is_set())
        except Exception as error:  # a mistake of ours too: whoever ordered it is told
            order.error = str(error) or type(error).__name__

    def _heal(self, number: Any) -> Answer:
        order = self._orders.get(number) if isinstance(number, int) else None
        if order is None or order.thread is None:
            return _refused(f"there is no fault {number}")
        order.released.set()
        order.thread.join()
        return _of(order)

    def _write(self, event: str, **fields: Any) -> None:
        self._lines.write(event, **fields)
        self._orders[fields["step"]].events.append({"event": event, **fields})

    def close(self) -> bool:
        """Heal what is in force; whether all is healed."""
        for order in self._orders.values():
            order.released.set()
            if order.thread is not None:
                order.thread.join()
        self._conductor.stop()
        self._lines.close()
        return not any(_of(order)["code"] == FAILED for order in self._orders.values())


def _refused(why: str) -> Answer:
    return {"code": BAD_ARGUMENTS, "words": why}


def _of(order: Order) -> Answer:
    """What came of an order."""
    number, name = order.step.step, f"{order.step.verb} {order.step.target}"
    injected, healed = order.told("inject"), order.told("heal")
    if injected is None or injected["type"] != "ok":
        why = (injected or {}).get("error") or order.error or "it did not begin"
        code, words = UNKNOWN, f"{name} is not proved: {why}"
    elif not order.over():
        code, words = VALID, f"{name} is in force: {injected['evidence']}"
    else:
        code, words = VALID, f"{name} was in force, and is healed: {injected['evidence']}"
    if order.over() and healed is not None and healed["type"] != "ok":
        code, words = FAILED, f"{name} is not healed: {healed['error']}"
    return {"code": code, "words": f"fault {number}: {words}", "fault": number}


@contextmanager
def listening(folder: Path, answer: Callable[[Any], Answer]) -> Iterator[Path]:
    """Inside the block orders are taken at a socket that the user alone can reach, its path as
    short as sockets need."""
    path = folder / "faults"

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                asked = json.loads(self.rfile.readline())
            except ValueError:
                asked = None
            self.wfile.write((json.dumps(answer(asked)) + "\n").encode())

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    before = os.umask(0o177)
    try:
        server = Server(str(path), Handler)
    finally:
        os.umask(before)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield path
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)
