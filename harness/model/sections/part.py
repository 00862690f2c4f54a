"""What every section of a scenario is, and the types that several of them use.

A field's `description` says what its key does, `examples` has a right value, and a `unit` in
`json_schema_extra` names what is counted where the key's end (_s, _ms, _bytes) does not: all of
docs/scenario.md comes from there.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from harness.model.bounds import LONGEST_S, MOST

Value = str | int | float | bool
Count = Annotated[int, Field(ge=1, le=MOST)]
ZeroOrMore = Annotated[int, Field(ge=0, le=MOST)]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_S)]
Length = Annotated[float, Field(gt=0, le=LONGEST_S)]  # of time, in seconds
Listed = Annotated[tuple[str, ...], Field(strict=False)]  # a list, as TOML has it

# Sections whose keys are Kafka's own and hold dots: the rest of a path below them is one key.
OPEN_SECTIONS = (
    "cluster.server",
    "cluster.broker",
    "cluster.controller",
    "cluster.features",
    "cluster.zoo",
    "topic.config",
    "outputs.config",
    "workload.producer",
    "workload.consumer",
)


class Part(BaseModel):
    """A section of the scenario: nothing unknown, nothing changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
