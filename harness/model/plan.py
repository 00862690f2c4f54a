"""A plan as data: the steps that follow from scenario and seed, and how reports describe each.

A step itself holds its verb's effects and its description.
"""

from __future__ import annotations

import shlex
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from harness.model.bounds import Measure, Number
from harness.model.effects import Effects

Unit = Literal["seconds", "acks", "rounds"]
NodeKind = Literal["zookeeper", "controller", "broker", "client"]


# What is awaited before a step's own time begins to count: the ISR of the first partition is its
# leader alone; every step of the entry before this one is healed and the cluster has recovered, or
# is in force and proved to be.
When = Literal["isr-alone", "healed", "in-force"]


# What is awaited, beside its time, before a fault is healed.
Until = Literal["leader-moved", "isr-alone", "no-leader", "partitions-moved"]


class Telling(BaseModel):
    """How a report describes a fault: "the leader" "was" "killed"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    done: str  # past participle; empty: it breaks nothing, and nothing happened "after" it
    who: str  # whom the target means, as a sentence has it
    many: bool = False  # were, not was
    kind: NodeKind | None = None  # of whom the target means


class Step(BaseModel):
    """One planned fault."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    step: Number
    series: Number
    verb: str
    target: str
    unit: Unit
    when: When | None = None
    at: Measure  # in `unit`, from the start of the load, or from the moment when `when` came true
    for_s: Measure  # how long it stays in force at least
    until: Until | None  # and what else is awaited before it is healed
    options: dict[str, Any]
    seed: int  # of the target's own choices
    effects: Effects | None = None  # None: not known
    telling: Telling | None = None

    def as_record(self) -> dict[str, Any]:
        """The step as run.json holds it."""
        return self.model_dump(mode="json")

    def describe(self) -> str:
        """The step in words for people."""
        counted = f"after {self.at:,.0f} {self.unit}"
        when = f"at {self.at:g} s" if self.unit == "seconds" else counted
        how = "".join(f" {key}={_option_text(value)}" for key, value in self.options.items())
        hold = f", for {self.for_s:g} s" if self.for_s else ""
        since = f", counted from when {WHEN[self.when]}" if self.when else ""
        awaited = f", until {UNTIL[self.until]}" if self.until else ""
        return f"{self.verb} {self.target}{how} {when}{since}{hold}{awaited}"


def _option_text(value: Any) -> str:
    """An option's value; a list as a shell's command."""
    return f"({shlex.join(value)})" if isinstance(value, list) else str(value)


WHEN: dict[When, str] = {
    "isr-alone": "the leader is alone in its ISR",
    "healed": "the previous faults are healed",
    "in-force": "the previous faults are in force",
}


UNTIL: dict[Until, str] = {
    "leader-moved": "leadership moved",
    "isr-alone": "the leader is alone in its ISR",
    "no-leader": "the partition has no leader",
    "partitions-moved": "other members of the group have its partitions",
}
