"""The faults: the entries of the plan, and those that are drawn at random."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from harness.model.plan import Unit, Until, When
from harness.model.sections.part import Count, Length, Part, Seconds, Value


class FaultPart(Part):
    """A fault: a verb at a target, at a time or after so many acks, once or repeatedly."""

    verb: Annotated[str, Field(description="what is done: a verb", examples=["kill"])]
    target: Annotated[
        str,
        Field(
            description="whom it hits: a role (`leader`) or a name (`kafka2`)", examples=["leader"]
        ),
    ]
    at_s: Annotated[
        Seconds | None,
        Field(description="when: so long after the load began, or after `when`", examples=[5]),
    ] = None
    after_acks: Annotated[
        Count | None,
        Field(
            description="or: once so many records are acknowledged",
            examples=[2000],
            json_schema_extra={"unit": "acks"},
        ),
    ] = None
    after_rounds: Annotated[
        Count | None,
        Field(
            description="or: once so many records are sent; the load waits for healing",
            examples=[500],
            json_schema_extra={"unit": "sends"},
        ),
    ] = None
    every_s: Annotated[
        Length | None,
        Field(description="with `times` and `at_s`: from one to the next", examples=[9]),
    ] = None
    every_acks: Annotated[
        Count | None,
        Field(
            description="the same with `after_acks`",
            examples=[2000],
            json_schema_extra={"unit": "acks"},
        ),
    ] = None
    every_rounds: Annotated[
        Count | None,
        Field(
            description="the same with `after_rounds`",
            examples=[1000],
            json_schema_extra={"unit": "sends"},
        ),
    ] = None
    times: Annotated[
        Count,
        Field(
            description="how often in all, each once the one before is healed and the cluster has "
            "recovered",
            examples=[3],
        ),
    ] = 1
    for_s: Annotated[
        Seconds,
        Field(
            description="how long it is in force at least; in `[mixed]` 0 means a length by the "
            "seed",
            examples=[2],
        ),
    ] = 0.0
    when: Annotated[
        When | None,
        Field(
            description="what is waited for before `at_s` counts: the entry before is `healed`, "
            "or is `in-force`; or the leader is alone in its ISR",
            examples=["healed"],
        ),
    ] = None
    until: Annotated[
        Until | None,
        Field(
            description="what is waited for, beside `for_s`, before it is healed: another broker "
            "leads, the leader is alone in its ISR, nobody leads, or other members of the consumer "
            "group have the partitions of the one that is hit",
            examples=["leader-moved"],
        ),
    ] = None
    options: dict[str, Value | list[str]] = Field(
        default={}, description="the verb's own options", examples=[{"from": "followers"}]
    )

    @property
    def first(self) -> tuple[Unit, float]:
        """When the first of the series is due: unit and amount."""
        if self.at_s is not None:
            return "seconds", self.at_s
        if self.after_acks is not None:
            return "acks", float(self.after_acks)
        if self.after_rounds is not None:
            return "rounds", float(self.after_rounds)
        return "seconds", 0.0  # at once when `when` comes true

    @property
    def period(self) -> float:
        """From one of the series to the next, in the unit of `first`."""
        return float(self.every_s or self.every_acks or self.every_rounds or 0)

    @property
    def last(self) -> float:
        """When the last of the series is due, in the unit of `first`."""
        return self.first[1] + self.period * (self.times - 1)


class MixedPart(Part):
    """Faults drawn at random: each period some of `faults`, begun and healed within it.

    Of an entry only verb, target, options, until and for_s count.
    """

    faults: Annotated[
        tuple[FaultPart, ...],
        Field(
            description="what is drawn from, a table each as in `[[faults]]`; only `verb`, "
            "`target`, `options`, `until` and `for_s` count",
            examples=[({"verb": "kill", "target": "leader"},)],
        ),
    ]
    period_s: Annotated[Length, Field(description="how long a period is", examples=[60])] = 30.0
    most: Annotated[
        Count,
        Field(
            description="how many faults a period has at most",
            examples=[3],
            json_schema_extra={"unit": "faults"},
        ),
    ] = 2
    quiet: Annotated[
        float,
        Field(
            ge=0,
            lt=1,
            description="the share of the periods without any, so that recovery is seen",
            examples=[0.5],
            json_schema_extra={"unit": "share"},
        ),
    ] = 0.25
    until_s: Annotated[
        Length, Field(description="no period begins that would end later", examples=[600])
    ]
