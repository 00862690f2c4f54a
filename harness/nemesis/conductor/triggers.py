"""When a step is due, and what is awaited before a fault is healed.

A step is due at a time, or past a number of sends or acks; counted from the start of the load or
from its trigger: the entry before is healed or in force, or the ISR is the leader alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from harness.cluster.capabilities import Clients
from harness.cluster.nodes import Node
from harness.cluster.view.state import BLIND, ClusterView, PartitionState
from harness.model.plan import UNTIL, WHEN, Step
from harness.nemesis.conductor.waits import Limits, Waits


class SendCounts(Protocol):
    """What the nemesis needs to know of the producers, and the one thing it may ask of them."""

    def acks(self) -> int:
        """Acknowledged sends so far."""

    def rounds(self) -> int:
        """Sends begun so far."""

    def hold_after(self, rounds: int | None) -> None:
        """Begin no send past this many; None: no limit."""


class Progress:
    """How far each step of the plan has come."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._unhealed = {step.step for step in steps}
        self._to_come = set(self._unhealed)  # neither in force yet nor given up

    def in_force(self, step: Step) -> None:
        """Its fault is proved to be in force."""
        self._to_come.discard(step.step)

    def over(self, step: Step) -> None:
        """Its fault is healed, or did not happen."""
        self._unhealed.discard(step.step)
        self._to_come.discard(step.step)

    def earlier_are_over(self, step: Step) -> bool:
        """Whether the entry before is healed, or in force, as `step.when` says. For "isr-alone" one
        of its faults must have been in force: the ISR may have been small before it."""
        before = {s.step for s in self._steps if s.series == step.series - 1}
        if step.when == "isr-alone":
            return not before or not before <= self._to_come
        return not before & (self._unhealed if step.when == "healed" else self._to_come)


@dataclass(frozen=True, kw_only=True)
class Triggers:
    """Waits for the triggers of steps; `replicas` is how many the ISR of each partition has."""

    view: ClusterView
    load: SendCounts
    replicas: int
    limits: Limits
    waits: Waits
    progress: Progress
    clients: Clients | None  # the workers, where faults may hit them

    def await_due(self, step: Step, begin_ns: int) -> None:
        """Return at the step's moment. Raises WaitTimeout when its trigger does not come."""
        base = {"seconds": float(begin_ns), "acks": 0.0, "rounds": 0.0}
        if step.when is not None:
            trigger, wait = WHEN[step.when], self.waits.wait
            wait(partial(self.progress.earlier_are_over, step), None, trigger)
            wait(partial(self._triggered, step), self.limits.trigger_s, trigger)
            base = {
                "seconds": float(time.monotonic_ns()),
                "acks": float(self.load.acks()),
                "rounds": float(self.load.rounds()),
            }
        due = partial(self._due, step, base[step.unit])
        self.waits.wait(due, None, f"step {step.step} to be due")

    def await_until(self, step: Step, nodes: Sequence[Node]) -> None:
        """Return once what the step awaits before it is healed has come. Raises WaitTimeout."""
        if step.until is not None:
            conditions: dict[str, Callable[[], bool]] = {
                "leader-moved": partial(self._moved_from, nodes),
                "isr-alone": self._isr_alone,
                "no-leader": self._no_leader,
                "partitions-moved": partial(self._others_have_what_was_had_by, nodes),
            }
            self.waits.wait(conditions[step.until], self.limits.until_s, UNTIL[step.until])

    def recovered(self) -> str | None:
        """The sentence that says so once every ISR is full and every broker registered."""
        return self.view.recovered(self.replicas)

    def _triggered(self, step: Step) -> bool:
        if step.when == "isr-alone":
            return self._isr_alone()
        return step.when == "in-force" or self.recovered() is not None

    def _due(self, step: Step, base: float) -> bool:
        if step.unit == "seconds":
            return time.monotonic_ns() >= base + step.at * 1e9
        # One more than planned: the load is moving when the fault comes.
        return (self.load.acks() if step.unit == "acks" else self.load.rounds()) > base + step.at

    def _moved_from(self, nodes: Sequence[Node]) -> bool:
        hit, states = {node.name for node in nodes}, self._states()
        return bool(states) and all(s.leader is not None and s.leader not in hit for s in states)

    def _isr_alone(self) -> bool:
        states = self._states()
        return (
            bool(states) and states[0].leader is not None and states[0].isr == (states[0].leader,)
        )

    def _no_leader(self) -> bool:
        states = self._states()
        return bool(states) and states[0].leader is None

    def _others_have_what_was_had_by(self, nodes: Sequence[Node]) -> bool:
        return self.clients is not None and self.clients.partitions_moved(nodes)

    def _states(self) -> tuple[PartitionState, ...]:
        """Every partition's state; none while neither ZooKeeper nor a broker answers."""
        try:
            return self.view.look().partitions
        except BLIND:
            return ()
