"""Walks the plan: waits for each step's moment, injects, proves, holds, heals, proves again.

Every series of the plan has a thread; within a series a step begins only when the one before is
healed and the cluster has recovered (a leader for every partition, every replica in the ISR, every
broker registered). Whatever happens, each fault that was begun is healed on the way out.

Written down for each fault: invoke and ok (or info, with the error) of the injection and of the
healing, the nodes that were hit, and leader, ISR and controller before and after.

Steps counted in rounds also hold the load back: no producer runs past the moment of a series' next
step while the one before is unhealed, so that every planned fault meets a healthy cluster under
load ("a fault every 1,000 rounds" is then true however slowly a node comes back).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Protocol

from harness.cluster import Cluster, ClusterError, Node
from harness.cluster.view import BLIND, View, ZooKeeperView, ensemble_leader
from harness.nemesis.faults import VERBS, Injection
from harness.nemesis.plan import Step
from harness.nemesis.targets import NoTarget, Roles, resolve
from harness.waiting import WaitTimeout, wait_until

BITE_LIMIT_S = 60.0
HEAL_LIMIT_S = 120.0
TARGET_LIMIT_S = 60.0
MOVE_LIMIT_S = 120.0


class Interrupted(RuntimeError):
    """The run was told to end; faults in force are healed, no new one begins."""


class Load(Protocol):
    """What the nemesis needs to know of the producers, and the one thing it may tell them."""

    def acks(self) -> int:
        """Acknowledged sends so far."""

    def rounds(self) -> int:
        """Sends begun so far."""

    def hold_after(self, rounds: int | None) -> None:
        """Begin no send past this many; None: no limit."""


@dataclass(kw_only=True)
class Conductor:
    """Conducts one plan. `write(event, **fields)` appends to the nemesis's history; `tell(line)`
    speaks to the user. `start` returns at once; `wait` until the last fault is healed.
    """

    steps: Sequence[Step]
    cluster: Cluster
    view: ZooKeeperView
    load: Load
    replicas: int
    write: Callable[..., None]
    tell: Callable[[str], None]
    failure: Exception | None = None
    in_force: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._limits: dict[int, int] = {}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._begin_ns = 0

    def start(self, load_start_ns: int) -> None:
        """Begin; times of the plan count from `load_start_ns`."""
        self._begin_ns = load_start_ns
        for series in sorted({step.series for step in self.steps}):
            steps = [step for step in self.steps if step.series == series]
            thread = threading.Thread(target=self._walk, args=(steps,), name=f"series-{series}")
            self._hold(series, _limit(steps, 1))
            self._threads.append(thread)
        for thread in self._threads:
            thread.start()

    def done(self) -> bool:
        """Whether every series has ended."""
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Heal what is in force, begin nothing new, and return when that is done."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    # One series

    def _walk(self, steps: Sequence[Step]) -> None:
        try:
            for number, step in enumerate(steps):
                self._await(partial(self._due, step), None, f"step {step.step} to be due")
                self._carry_out(step)
                self._hold(step.series, _limit(steps, number + 2))
        except Interrupted:
            pass
        except (ClusterError, WaitTimeout) as error:
            self.failure = self.failure or error
            self._stop.set()
        finally:
            self._hold(steps[0].series, None)

    def _due(self, step: Step) -> bool:
        if step.unit == "seconds":
            return time.monotonic_ns() >= self._begin_ns + step.at * 1e9
        # One more than planned: the load is moving when the fault comes.
        return (self.load.acks() if step.unit == "acks" else self.load.rounds()) > step.at

    def _carry_out(self, step: Step) -> None:
        try:
            nodes, before = self._choose(step)
        except WaitTimeout as error:
            self._record("inject", "info", step, nodes=[], error=str(error), view=None)
            self.tell(f"step {step.step}: {step.verb} {step.target} did not happen: {error}")
            return
        injections = [
            Injection(fault=step.step, node=node, cluster=self.cluster, view=self.view,
                      options=step.options)
            for node in nodes
        ]  # fmt: skip
        with self._healing(step, injections):
            self._inject(step, injections, before)
            self._hold_in_force(step, nodes)

    def _choose(self, step: Step) -> tuple[tuple[Node, ...], View]:
        """The nodes that the target means now; waits while nobody plays the role."""

        def chosen() -> tuple[tuple[Node, ...], View]:
            view = self.view.look_or_last()
            roles = Roles(
                nodes=self.cluster.nodes,
                view=view,
                ensemble_leader=lambda: ensemble_leader(self.cluster.nodes),
                random=Random(step.seed),  # noqa: S311
            )
            return resolve(step.target, roles), view

        return wait_until(
            chosen, timeout_s=TARGET_LIMIT_S, what=f"a {step.target}", ignoring=(NoTarget,)
        )

    def _inject(self, step: Step, injections: list[Injection], before: View) -> None:
        verb = VERBS[step.verb]
        names = [injection.node.name for injection in injections]
        self._record("inject", "invoke", step, nodes=names, view=before)
        self.tell(f"{verb.name} {step.target} -> {', '.join(names)}")
        self.in_force[step.step] = f"{verb.name} {', '.join(names)}"
        for injection in injections:
            verb.inject(injection)
        try:
            evidence = [
                self._await(partial(verb.bit, i), BITE_LIMIT_S, f"{verb.name} to bite")
                for i in injections
            ]
        except WaitTimeout as error:
            # The fault is in place but left no trace: recorded as unproved, healed, never green.
            self._record("inject", "info", step, nodes=names, error=str(error))
            return
        self._record("inject", "ok", step, nodes=names, evidence="; ".join(evidence))

    def _hold_in_force(self, step: Step, nodes: Sequence[Node]) -> None:
        end_ns = time.monotonic_ns() + int(step.for_s * 1e9)
        self._await(lambda: time.monotonic_ns() >= end_ns, None, "the fault's time")
        if step.until == "leader-moved":
            self._await(lambda: self._moved_from(nodes), MOVE_LIMIT_S, "leadership to move")

    def _moved_from(self, nodes: Sequence[Node]) -> bool:
        try:
            leaders = [state.leader for state in self.view.look().partitions]
        except BLIND:
            return False
        hit = {node.name for node in nodes}
        return all(leader is not None and leader not in hit for leader in leaders)

    @contextmanager
    def _healing(self, step: Step, injections: list[Injection]) -> Iterator[None]:
        """Heals on every way out of the block; waits for recovery unless the run is ending."""
        try:
            yield
        finally:
            self._heal(step, injections)

    def _heal(self, step: Step, injections: list[Injection]) -> None:
        verb = VERBS[step.verb]
        names = [injection.node.name for injection in injections]
        self._record("heal", "invoke", step, nodes=names)
        self.tell(f"{verb.undo} {', '.join(names)}")
        try:
            for injection in injections:
                verb.heal(injection)
            self.in_force.pop(step.step, None)
            evidence = [
                self._await(partial(verb.healed, i), HEAL_LIMIT_S, f"{i.node.name} to be back")
                for i in injections
            ]
            evidence.append(self._await(self._recovered, HEAL_LIMIT_S, "every ISR to be full"))
        except (ClusterError, WaitTimeout, Interrupted) as error:
            self._record("heal", "info", step, nodes=names, error=str(error))
            raise
        self._record("heal", "ok", step, nodes=names, evidence="; ".join(evidence))
        self.tell(f"healed: {evidence[-1]}")

    # Parts

    def _recovered(self) -> str | None:
        return self.view.recovered(self.replicas)

    def _await(
        self, condition: Callable[[], str | bool | None], limit_s: float | None, what: str
    ) -> str:
        def asked() -> str | bool | None:
            if self._stop.is_set():
                raise Interrupted(f"stopped while waiting for {what}")
            return condition()

        limit = 1e9 if limit_s is None else limit_s
        return str(wait_until(asked, timeout_s=limit, what=what, every_s=0.01))

    def _hold(self, series: int, limit: int | None) -> None:
        """Let the producers run up to `limit` rounds as far as this series is concerned."""
        with self._lock:
            self._limits.pop(series, None)
            if limit is not None:
                self._limits[series] = limit
            self.load.hold_after(min(self._limits.values(), default=None))

    def _record(  # noqa: PLR0913  a record has many fields
        self,
        event: str,
        kind: str,
        step: Step,
        *,
        nodes: Sequence[str],
        view: View | None = None,
        evidence: str | None = None,
        error: str | None = None,
    ) -> None:
        seen = view or self.view.look_or_last()
        self.write(
            event, type=kind, fault=step.step, step=step.step, verb=step.verb, target=step.target,
            nodes=list(nodes), evidence=evidence, error=error, **seen.as_record(),
        )  # fmt: skip


def _limit(steps: Sequence[Step], number: int) -> int | None:
    """How far the load may run before step `number` of a series is begun; None: no limit."""
    if number >= len(steps) or steps[number].unit != "rounds":
        return None
    return int(steps[number].at)
