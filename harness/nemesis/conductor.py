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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from random import Random
from typing import Protocol

from harness.cluster.capabilities import Clients, Cluster
from harness.cluster.nodes import ClusterError, Node
from harness.cluster.view.coordinators import Coordinated
from harness.cluster.view.state import BLIND, ClusterView, View
from harness.cluster.view.zookeeper import ensemble_leader
from harness.model.plan import UNTIL, WHEN, Step
from harness.nemesis.target import NoTarget, Roles
from harness.nemesis.targets import resolve, roles_of
from harness.nemesis.undo_record import Undo
from harness.nemesis.verb import DoesNothing
from harness.nemesis.verbs import VERBS, Injection
from harness.waiting import WaitTimeout, wait_until

BITE_LIMIT_S = 60.0
HEAL_LIMIT_S = 120.0
TARGET_LIMIT_S = 60.0
MOVE_LIMIT_S = 120.0
TRIGGER_LIMIT_S = 120.0


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
    view: ClusterView
    load: Load
    replicas: int
    write: Callable[..., None]
    tell: Callable[[str], None]
    failure: Exception | None = None
    in_force: dict[int, str] = field(default_factory=dict)
    undo: Undo | None = None
    clients: Clients | None = None  # the workers, where faults may hit them
    coordinated: Mapping[Coordinated, str] = field(default_factory=dict)  # group.id and the like

    def __post_init__(self) -> None:
        self._held: dict[tuple[str, str], int] = {}  # (what, node) -> the step that holds it
        self._unhealed = {step.step for step in self.steps}
        self._to_come = set(self._unhealed)  # neither in force yet nor given up
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
                if self._comes(step):
                    self._carry_out(step)
                self._unhealed.discard(step.step)
                self._to_come.discard(step.step)
                self._hold(step.series, _limit(steps, number + 2))
        except Interrupted:
            pass
        except Exception as error:  # a mistake of ours too: the run must end and say so
            self.failure = self.failure or error
            self._stop.set()
        finally:
            self._hold(steps[0].series, None)

    def _comes(self, step: Step) -> bool:
        """Wait for the step's moment; False, and on the record, when its trigger does not come."""
        base = {"seconds": float(self._begin_ns), "acks": 0.0, "rounds": 0.0}
        if step.when is not None:
            try:
                self._await(partial(self._earlier_are_over, step), None, WHEN[step.when])
                self._await(partial(self._triggered, step), TRIGGER_LIMIT_S, WHEN[step.when])
            except WaitTimeout as error:
                self._did_not_happen(step, error)
                return False
            base = {
                "seconds": float(time.monotonic_ns()),
                "acks": float(self.load.acks()),
                "rounds": float(self.load.rounds()),
            }
        self._await(partial(self._due, step, base[step.unit]), None, f"step {step.step} to be due")
        return True

    def _triggered(self, step: Step) -> bool:
        if step.when == "isr-alone":
            return self._isr_alone()
        return step.when == "in-force" or self._recovered() is not None

    def _earlier_are_over(self, step: Step) -> bool:
        """Whether the entry before has come so far, however long it may take. For "isr-alone" one
        of its faults will do: an ISR that was small before it is no answer to it."""
        before = {s.step for s in self.steps if s.series == step.series - 1}
        if step.when == "isr-alone":
            return not before or not before <= self._to_come
        return not before & (self._unhealed if step.when == "healed" else self._to_come)

    def _due(self, step: Step, base: float) -> bool:
        if step.unit == "seconds":
            return time.monotonic_ns() >= base + step.at * 1e9
        # One more than planned: the load is moving when the fault comes.
        return (self.load.acks() if step.unit == "acks" else self.load.rounds()) > base + step.at

    def _carry_out(self, step: Step) -> None:
        verb = VERBS[step.verb]
        try:
            nodes, roles = self._choose(step)
        except WaitTimeout as error:
            self._did_not_happen(step, error)
            return
        groups = [nodes] if verb.together else [(node,) for node in nodes]
        injections = [
            Injection(
                fault=step.step,
                nodes=group,
                roles=roles,
                cluster=self.cluster,
                view=self.view,
                options=verb.options.of(step.options),
                seed=step.seed,
                clients=self.clients,
            )
            for group in groups
        ]
        with self._healing(step, injections):
            self._inject(step, injections)
            self._hold_in_force(step, nodes, injections)

    def _did_not_happen(self, step: Step, why: Exception) -> None:
        self._record("inject", "info", step, nodes=[], error=str(why))
        self.tell(f"step {step.step}: {step.verb} {step.target} did not happen: {why}")

    def _choose(self, step: Step) -> tuple[tuple[Node, ...], Roles]:
        """The nodes that the target means now, and who was who; waits while nobody plays the role
        or another fault holds one of them."""

        def chosen() -> tuple[tuple[Node, ...], Roles]:
            if self._stop.is_set():
                raise Interrupted(f"stopped while waiting for a {step.target}")
            roles = self._roles(step)
            nodes = resolve(step.target, roles)
            self._not_idle(step, nodes, roles)
            self._take(step, nodes)
            return nodes, roles

        return wait_until(
            chosen, timeout_s=TARGET_LIMIT_S, what=f"a {step.target}", ignoring=(NoTarget,)
        )

    def _roles(self, step: Step) -> Roles:
        """Who is who now."""

        view = self.view.look_or_last()

        @cache
        def coordinator(kind: Coordinated) -> str | None:
            name = self.coordinated.get(kind)
            # A blind ZooKeeper has just been waited for: not again.
            return self.view.coordinator(kind, name, ask=view.known) if name else None

        roles = Roles(
            nodes=self.cluster.nodes,
            view=view,
            ensemble_leader=cache(lambda: ensemble_leader(self.cluster.nodes)),
            random=Random(step.seed),  # noqa: S311
            clients=self.clients.living() if self.clients else (),
            coordinator=coordinator,
        )
        idle = VERBS[step.verb].idle
        if idle is None:
            return roles
        names = [node.name for node in self.cluster.nodes]
        return replace(roles, able=frozenset(n for n in names if not idle(roles, frozenset({n}))))

    @staticmethod
    def _not_idle(step: Step, nodes: Sequence[Node], roles: Roles) -> None:
        """Raises NoTarget where the verb would do nothing to these nodes now."""
        idle = VERBS[step.verb].idle
        if idle and (why := idle(roles, frozenset(node.name for node in nodes))):
            raise NoTarget(why)

    def _take(self, step: Step, nodes: Sequence[Node]) -> None:
        """Let the step hold at its nodes what its verb needs for itself. Raises NoTarget."""
        verb = VERBS[step.verb]
        wanted = {(verb.holds, node.name) for node in nodes if verb.holds}
        wanted |= {("assignment", "the topic")} if verb.alone else set()
        with self._lock:
            for what, whose in wanted & self._held.keys():
                raise NoTarget(f"another fault holds the {what} of {whose}")
            self._held |= dict.fromkeys(wanted, step.step)

    def _give_back(self, step: Step) -> None:
        with self._lock:
            self._held = {k: holder for k, holder in self._held.items() if holder != step.step}

    def _inject(self, step: Step, injections: list[Injection]) -> None:
        verb = VERBS[step.verb]
        names, roles = _names(injections), injections[0].roles
        self._record("inject", "invoke", step, nodes=names, view=roles.view, roles=roles)
        if self.undo is not None:
            self.undo.begun(step.step, verb.name, verb.undo, names, dict(step.options))
        self.tell(f"{verb.name} {step.target} -> {', '.join(names)}")
        self.in_force[step.step] = f"{verb.name} {', '.join(names)}"
        for injection in injections:
            verb.inject(injection)
        done_ns = time.monotonic_ns()
        try:
            evidence = [
                self._await(
                    partial(verb.bit, i), BITE_LIMIT_S * verb.patience, f"{verb.name} to bite"
                )
                for i in injections
            ]
        except (WaitTimeout, DoesNothing) as error:
            # The fault is in place but left no trace: recorded as unproved, healed, never green.
            self._record("inject", "info", step, nodes=names, error=str(error))
            return
        self._record("inject", "ok", step, nodes=names, evidence=evidence, done_ns=done_ns)
        self._to_come.discard(step.step)

    def _hold_in_force(
        self, step: Step, nodes: Sequence[Node], injections: Sequence[Injection]
    ) -> None:
        end_ns = time.monotonic_ns() + int(step.for_s * 1e9)
        during = VERBS[step.verb].during

        def over() -> bool:
            if during is not None:
                for injection in injections:
                    during(injection)
            return time.monotonic_ns() >= end_ns

        self._await(over, None, "the fault's time")
        if step.until is not None:
            conditions: dict[str, Callable[[], bool]] = {
                "leader-moved": partial(self._moved_from, nodes),
                "isr-alone": self._isr_alone,
                "no-leader": self._no_leader,
            }
            self._await(conditions[step.until], MOVE_LIMIT_S, UNTIL[step.until])

    def _moved_from(self, nodes: Sequence[Node]) -> bool:
        try:
            leaders = [state.leader for state in self.view.look().partitions]
        except BLIND:
            return False
        hit = {node.name for node in nodes}
        return all(leader is not None and leader not in hit for leader in leaders)

    def _isr_alone(self) -> bool:
        try:
            state = self.view.look().partitions[0]
        except BLIND:
            return False
        return state.leader is not None and state.isr == (state.leader,)

    def _no_leader(self) -> bool:
        try:
            return self.view.look().partitions[0].leader is None
        except BLIND:
            return False

    @contextmanager
    def _healing(self, step: Step, injections: list[Injection]) -> Iterator[None]:
        """Heals on every way out of the block; waits for recovery unless the run is ending."""
        try:
            yield
        finally:
            self._heal(step, injections)
            self._give_back(step)

    def _heal(self, step: Step, injections: list[Injection]) -> None:
        verb, names = VERBS[step.verb], _names(injections)
        self._record("heal", "invoke", step, nodes=names)
        self.tell(f"{verb.undo} {', '.join(names)}")
        try:
            for injection in injections:
                verb.heal(injection)
            done_ns = time.monotonic_ns()
            self.in_force.pop(step.step, None)
            evidence = [
                self._await(
                    partial(verb.healed, i),
                    HEAL_LIMIT_S * verb.patience,
                    f"{i.node.name} to be back",
                )
                for i in injections
            ]
            if self.undo is not None:
                self.undo.undone(step.step)
            evidence.append(self._await(self._recovered, HEAL_LIMIT_S, "every ISR to be full"))
        except (ClusterError, WaitTimeout, Interrupted) as error:
            self._record("heal", "info", step, nodes=names, error=str(error))
            raise
        self._record("heal", "ok", step, nodes=names, evidence=evidence, done_ns=done_ns)
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
        evidence: Sequence[str] = (),
        error: str | None = None,
        roles: Roles | None = None,
        done_ns: int | None = None,  # when all that was to be done to nodes had been done
    ) -> None:
        seen = view or self.view.look_or_last()
        played = {name: roles_of(name, roles) for name in nodes} if roles else None
        self.write(
            event,
            type=kind,
            fault=step.step,
            step=step.step,
            verb=step.verb,
            target=step.target,
            nodes=list(nodes),
            evidence="; ".join(evidence) or None,
            error=error,
            roles=played,
            done_ns=done_ns,
            **seen.as_record(),
        )


def _names(injections: Sequence[Injection]) -> list[str]:
    return [node.name for injection in injections for node in injection.nodes]


def _limit(steps: Sequence[Step], number: int) -> int | None:
    """How far the load may run before step `number` of a series is begun; None: no limit."""
    if number >= len(steps) or steps[number].unit != "rounds" or steps[number].when:
        return None
    return int(steps[number].at)
