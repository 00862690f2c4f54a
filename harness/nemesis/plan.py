"""The plan: what the scenario's faults and the seed say will happen, as plain data.

    two faults, the first of them twice:    step 0: kill leader after 500 rounds
                                            step 1: kill leader after 1,500 rounds
                                            step 2: pause follower at 3 s, for 1 s

A pure function: same faults and seed, same plan, byte for byte. Steps of one fault entry form a
*series* and follow one another; each waits until the one before is healed and the ISR is full.
Different series may overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Literal, Protocol

Unit = Literal["seconds", "acks", "rounds"]


class FaultEntry(Protocol):
    """A [[faults]] table of a scenario, as `harness.scenario` reads it."""

    @property
    def verb(self) -> str: ...  # noqa: D102
    @property
    def target(self) -> str: ...  # noqa: D102
    @property
    def times(self) -> int: ...  # noqa: D102
    @property
    def for_s(self) -> float: ...  # noqa: D102
    @property
    def until(self) -> Literal["leader-moved"] | None: ...  # noqa: D102
    @property
    def options(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def first(self) -> tuple[Unit, float]: ...  # noqa: D102
    @property
    def period(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One planned fault."""

    step: int
    series: int
    verb: str
    target: str
    unit: Unit
    at: float  # in `unit`, from the start of the load
    for_s: float  # how long it stays in force at least
    until: Literal["leader-moved"] | None  # and what else is awaited before it is healed
    options: dict[str, Any]
    seed: int  # of the target's own choices

    def as_record(self) -> dict[str, Any]:
        """The step as run.json holds it."""
        return asdict(self)

    def describe(self) -> str:
        """The step as a person reads it."""
        counted = f"after {self.at:,.0f} {self.unit}"
        when = f"at {self.at:g} s" if self.unit == "seconds" else counted
        how = "".join(f" {key}={value}" for key, value in self.options.items())
        hold = f", for {self.for_s:g} s" if self.for_s else ""
        moved = ", until leadership moved" if self.until else ""
        return f"{self.verb} {self.target}{how} {when}{hold}{moved}"


def make(faults: Sequence[FaultEntry], seed: int) -> tuple[Step, ...]:
    """The steps of a run, series by series."""
    random = Random(seed)  # noqa: S311  reproducible on purpose, no secret
    steps: list[Step] = []
    for series, fault in enumerate(faults):
        unit, first = fault.first
        for repeat in range(fault.times):
            steps.append(
                Step(
                    step=len(steps),
                    series=series,
                    verb=fault.verb,
                    target=fault.target,
                    unit=unit,
                    at=first + repeat * fault.period,
                    for_s=fault.for_s,
                    until=fault.until,
                    options=dict(fault.options),
                    seed=random.getrandbits(48),
                )
            )
    return tuple(steps)
