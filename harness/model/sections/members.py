"""What one member of the workload's group has of its own."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from harness.model.bounds import MOST
from harness.model.sections.part import Part, Value, ZeroOrMore

Milliseconds = Annotated[float, Field(ge=0, le=MOST)]


class MemberPart(Part):
    """One member: the first entry is the first member's, and so on; its successors' too."""

    consumer: dict[str, Value] = Field(
        default={},
        description="its settings over those of `[workload.consumer]`; not those that say what "
        "the group is promised, which all its members share",
        examples=[{"max.poll.interval.ms": 10_000}],
    )
    slow_every: Annotated[
        ZeroOrMore,
        Field(
            description="each so many-th record takes it `slow_ms` longer; 0: none does",
            examples=[100],
            json_schema_extra={"unit": "records"},
        ),
    ] = 0
    slow_ms: Annotated[
        Milliseconds, Field(description="how much longer that one takes", examples=[5000])
    ] = 0.0
    pause_every: Annotated[
        ZeroOrMore,
        Field(
            description="each time that it has polled so many more records it pauses its "
            "partitions (`pause()`) for `pause_ms`, goes on polling, and resumes them; 0: never",
            examples=[1000],
            json_schema_extra={"unit": "records"},
        ),
    ] = 0
    pause_ms: Annotated[
        Milliseconds, Field(description="how long it pauses them", examples=[2000])
    ] = 0.0
