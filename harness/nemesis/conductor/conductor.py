"""Carries out the plan: waits until a step is due, injects, proves, holds, heals, proves again.

Every series of the plan has a thread; within a series a step begins only when the one before is
healed and the cluster has recovered (a leader for every partition, every replica in the ISR, every
broker registered). Whatever happens, each fault that was begun is healed on the way out.

Steps counted in rounds also hold the load back: while a step is unhealed, no producer goes beyond
the round at which the next step of its series is due. So every fault meets a healthy cluster under
load, and "a fault every 1,000 rounds" holds however slowly a node comes back.

    triggers.py        when a step is due
    target_choice.py   which nodes it hits
    fault_runner.py    one fault, injected, proved, healed and proved again
    fault_log.py       its lines in the history
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.cluster.capabilities import Clients, Cluster
from harness.cluster.nodes import Node
from harness.cluster.view.coordinators import Coordinated
from harness.cluster.view.state import ClusterView
from harness.model.plan import Step
from harness.nemesis.conductor.fault_log import FaultLog
from harness.nemesis.conductor.fault_runner import FaultRunner
from harness.nemesis.conductor.target_choice import Chooser
from harness.nemesis.conductor.triggers import Progress, SendCounts, Triggers
from harness.nemesis.conductor.waits import Interrupted, Limits, Waits
from harness.nemesis.undo_record import Undo
from harness.nemesis.verb import keep_nothing
from harness.waiting import WaitTimeout


@dataclass(kw_only=True)
class Conductor:
    """Conducts one plan. `write(event, **fields)` appends to the nemesis's history; `tell(line)`
    prints for the user. `start` returns at once, `stop` when all is healed.
    """

    steps: Sequence[Step]
    cluster: Cluster
    view: ClusterView
    load: SendCounts
    replicas: int
    write: Callable[..., None]
    tell: Callable[[str], None]
    failure: Exception | None = None
    in_force: dict[int, str] = field(default_factory=dict)
    undo: Undo | None = None
    clients: Clients | None = None  # the workers, where faults may hit them
    coordinated: Mapping[Coordinated, str] = field(default_factory=dict)  # group.id and the like
    keep: Callable[[Sequence[Node]], None] = keep_nothing  # what nodes have on disk: FaultRunner
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self._waits = Waits()
        self._progress = Progress(self.steps)
        self._log = FaultLog(self.write, self.tell, self.view)
        self._triggers = Triggers(
            view=self.view,
            load=self.load,
            replicas=self.replicas,
            limits=self.limits,
            waits=self._waits,
            progress=self._progress,
            clients=self.clients,
        )
        self._runner = FaultRunner(
            chooser=Chooser(
                cluster=self.cluster,
                view=self.view,
                clients=self.clients,
                coordinated=self.coordinated,
            ),
            triggers=self._triggers,
            log=self._log,
            limits=self.limits,
            undo=self.undo,
            in_force=self.in_force,
            keep=self.keep,
        )
        self._load_limits: dict[int, int] = {}  # series -> how many rounds it lets the load run
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._begin_ns = 0

    def start(self, load_start_ns: int) -> None:
        """Begin; times of the plan count from `load_start_ns`."""
        self._begin_ns = load_start_ns
        for series in sorted({step.series for step in self.steps}):
            steps = [step for step in self.steps if step.series == series]
            thread = threading.Thread(target=self._walk, args=(steps,), name=f"series-{series}")
            self._hold_load(series, _load_limit(steps, 1))
            self._threads.append(thread)
        for thread in self._threads:
            thread.start()

    def carry_out(self, step: Step, held: Callable[[], bool]) -> None:
        """Carry out a step that is not of the plan, now; it stays as long as it is `held`."""
        self._runner.run(step, held)

    def done(self) -> bool:
        """Whether every series has ended."""
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Heal what is in force, begin nothing new, and return when that is done."""
        self._waits.stop()
        for thread in self._threads:
            thread.join()

    def _walk(self, steps: Sequence[Step]) -> None:
        """One series, step by step."""
        try:
            for number, step in enumerate(steps):
                if self._comes(step):
                    self._runner.run(step)
                self._progress.over(step)
                self._hold_load(step.series, _load_limit(steps, number + 2))
        except Interrupted:
            pass
        except Exception as error:  # a mistake of ours too: the run must end and say so
            self.failure = self.failure or error
            self._waits.stop()
        finally:
            self._hold_load(steps[0].series, None)

    def _comes(self, step: Step) -> bool:
        """Wait for the step's moment; False, and on the record, when its trigger does not come."""
        try:
            self._triggers.await_due(step, self._begin_ns)
        except WaitTimeout as error:
            self._log.did_not_happen(step, error)
            return False
        return True

    def _hold_load(self, series: int, limit: int | None) -> None:
        """Let the producers run up to `limit` rounds as far as this series is concerned."""
        with self._lock:
            self._load_limits.pop(series, None)
            if limit is not None:
                self._load_limits[series] = limit
            self.load.hold_after(min(self._load_limits.values(), default=None))


def _load_limit(steps: Sequence[Step], number: int) -> int | None:
    """How far the load may run before step `number` of a series is begun; None: no limit."""
    if number >= len(steps) or steps[number].unit != "rounds" or steps[number].when:
        return None
    return int(steps[number].at)
