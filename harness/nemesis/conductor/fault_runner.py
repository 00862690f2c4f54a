"""One fault, from the choice of its nodes to the proof that it is healed.

A fault that leaves no trace is recorded as unproved and healed; it is never called ok. Whatever
happens between injection and healing, it is healed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from harness.cluster.nodes import ClusterError, Node
from harness.model.plan import Step
from harness.nemesis.conductor.fault_log import FaultLog
from harness.nemesis.conductor.target_choice import Chooser
from harness.nemesis.conductor.triggers import Triggers
from harness.nemesis.conductor.waits import NOT_NOW, Interrupted, Limits
from harness.nemesis.target import NoTarget, Roles
from harness.nemesis.undo_record import Undo
from harness.nemesis.verb import DoesNothing, Verb
from harness.nemesis.verbs import VERBS, Injection
from harness.waiting import WaitTimeout, wait_until


class Reservations:
    """Which step holds what of which node while its fault is in force: a node's process, its disk,
    its clock; safe to use from every series' thread.

    Two faults that hold the same thing wait for each other. A verb says what it holds at each node
    (`Verb.holds`), and whether there may be one such fault in the whole cluster (`Verb.alone`).
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], int] = {}  # (what, node) -> step
        self._lock = threading.Lock()

    def take(self, step: int, verb: Verb, nodes: Sequence[Node]) -> None:
        """Let the step hold at its nodes what its verb needs. Raises NoTarget when another does."""
        wanted = {(verb.holds, node.name) for node in nodes if verb.holds}
        wanted |= {("assignment", "the topic")} if verb.alone else set()
        with self._lock:
            for what, node in wanted & self._taken.keys():
                raise NoTarget(f"another fault is using the {what} of {node}")
            self._taken |= dict.fromkeys(wanted, step)

    def give_back(self, step: int) -> None:
        """The step holds nothing any more."""
        with self._lock:
            self._taken = {key: holder for key, holder in self._taken.items() if holder != step}


@dataclass(frozen=True, kw_only=True)
class FaultRunner:
    """Carries out steps whose moment has come; `in_force` has what is in force now, by step.

    `keep` keeps what nodes have on disk, before they are healed or started again: a node that comes
    back truncates its log.
    """

    chooser: Chooser
    triggers: Triggers
    log: FaultLog
    limits: Limits
    undo: Undo | None
    in_force: dict[int, str]
    keep: Callable[[Sequence[Node]], None]
    reservations: Reservations = field(default_factory=Reservations)

    def run(self, step: Step, held: Callable[[], bool] | None = None) -> None:
        """Choose, inject, prove, hold, heal and prove again. `held`, of one that was ordered by
        itself: whether it is to stay, beside its own time; and the cluster need not recover while
        another one is held."""
        try:
            nodes, roles = self._choose(step)
        except WaitTimeout as error:
            self.log.did_not_happen(step, error)
            return
        injections = self._injections(step, nodes, roles)
        with self._healing(step, injections, ordered=held is not None):
            self._inject(step, injections)
            self._hold_in_force(step, injections, held)
            self.triggers.await_until(step, nodes)

    def _choose(self, step: Step) -> tuple[tuple[Node, ...], Roles]:
        """The nodes that the target means now, and the roles. Waits while no node plays the role
        or another fault holds one of them."""

        def chosen() -> tuple[tuple[Node, ...], Roles]:
            self.triggers.waits.check(f"a {step.target}")
            nodes, roles = self.chooser.choose(step)
            self.reservations.take(step.step, VERBS[step.verb], nodes)
            return nodes, roles

        limit_s = self.limits.target_s
        return wait_until(chosen, timeout_s=limit_s, what=f"a {step.target}", ignoring=(NoTarget,))

    def _injections(self, step: Step, nodes: tuple[Node, ...], roles: Roles) -> list[Injection]:
        """One injection for all nodes where the verb takes them together, else one for each."""
        groups = [nodes] if VERBS[step.verb].together else [(node,) for node in nodes]
        return [
            Injection(
                fault=step.step,
                nodes=group,
                roles=roles,
                cluster=self.chooser.cluster,
                view=self.chooser.view,
                options=VERBS[step.verb].options.of(step.options),
                seed=step.seed,
                clients=self.chooser.clients,
                keep=self.keep,
            )
            for group in groups
        ]

    def _inject(self, step: Step, injections: list[Injection]) -> None:
        verb = VERBS[step.verb]
        names, roles = _names(injections), injections[0].roles
        self.log.write("inject", "invoke", step, nodes=names, view=roles.view, roles=roles)
        if self.undo is not None:
            self.undo.begun(step.step, verb.name, verb.undo, names, dict(step.options))
        self.log.tell(f"{verb.name} {step.target} -> {', '.join(names)}")
        self.in_force[step.step] = f"{verb.name} {', '.join(names)}"
        for injection in injections:
            verb.inject(injection)
        done_ns, limit_s = time.monotonic_ns(), self.limits.proof_s * verb.patience
        prove, what = self.triggers.waits.prove, f"{verb.name} to take effect"
        try:
            evidence = [
                prove(partial(verb.proof_in_force, injection), limit_s, what)
                for injection in injections
            ]
        except (WaitTimeout, DoesNothing) as error:
            # The fault is in place but left no trace: recorded as unproved, healed, never green.
            self.log.write("inject", "info", step, nodes=names, error=str(error))
            return
        self.log.write("inject", "ok", step, nodes=names, evidence=evidence, done_ns=done_ns)
        self.triggers.progress.in_force(step)

    def _hold_in_force(
        self, step: Step, injections: Sequence[Injection], held: Callable[[], bool] | None
    ) -> None:
        end_ns = time.monotonic_ns() + int(step.for_s * 1e9)
        during = VERBS[step.verb].during

        def over() -> bool:
            if during is not None:
                for injection in injections:
                    during(injection)
            return time.monotonic_ns() >= end_ns and not (held and held())

        self.triggers.waits.wait(over, None, "the end of the fault")

    @contextmanager
    def _healing(self, step: Step, injections: list[Injection], *, ordered: bool) -> Iterator[None]:
        """Heals on every way out of the block; waits for recovery unless the run is ending."""
        try:
            yield
        finally:
            try:
                self._heal(step, injections, ordered=ordered)
            except OSError:  # what it writes has no room: healed all the same
                for injection in injections:
                    VERBS[step.verb].heal(injection)
                raise
            self.reservations.give_back(step.step)

    def _heal(self, step: Step, injections: list[Injection], *, ordered: bool) -> None:
        verb, names, waits = VERBS[step.verb], _names(injections), self.triggers.waits
        self.keep([node for injection in injections for node in injection.nodes])
        self.log.write("heal", "invoke", step, nodes=names)
        self.log.tell(f"{verb.undo} {', '.join(names)}")
        try:
            for injection in injections:
                verb.heal(injection)
            done_ns, limit_s = time.monotonic_ns(), self.limits.heal_s * verb.patience
            self.in_force.pop(step.step, None)
            evidence = [
                waits.prove(
                    partial(verb.healed, injection), limit_s, f"{injection.node.name} to be back"
                )
                for injection in injections
            ]
            if self.undo is not None:
                self.undo.undone(step.step)
            if ordered and self.in_force:
                evidence.append(f"{'; '.join(self.in_force.values())} stays in force")
            else:
                recovered = partial(self._recovered, verb, injections)
                evidence.append(waits.wait(recovered, self.limits.heal_s, "every ISR to be full"))
        except (ClusterError, WaitTimeout, Interrupted) as error:
            self.log.write("heal", "info", step, nodes=names, error=str(error))
            raise
        self.log.write("heal", "ok", step, nodes=names, evidence=evidence, done_ns=done_ns)
        self.log.tell(f"healed: {evidence[-1]}")

    def _recovered(self, verb: Verb, injections: Sequence[Injection]) -> str | None:
        """The sentence that says so, once the cluster has recovered. A controller answers before it
        has met the others, and may then end itself (`TRANSIENT_EXITS`): it is started again."""
        for injection in injections:
            if injection.node.role == "controller":
                with suppress(*NOT_NOW):
                    verb.healed(injection)
        return self.triggers.recovered()


def _names(injections: Sequence[Injection]) -> list[str]:
    return [node.name for injection in injections for node in injection.nodes]
