"""The scenario as a model: its sections, each with its keys, their types, defaults and meaning.

The sections are in harness.model.sections; `python -m scripts.scenario_page` makes docs/scenario.md
and the schema for editors of them. harness.scenario.rules checks what makes sense together.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from harness.model.sections.backends import AttachPart, BackendPart, ExternalPart, SelectorsPart
from harness.model.sections.cluster import ClusterPart, TopicPart
from harness.model.sections.faults import FaultPart, MixedPart
from harness.model.sections.part import Count, Part
from harness.model.sections.programs import OutputsPart, ProgramPart, is_one
from harness.model.sections.workload import WorkloadPart


class CheckPart(Part):
    """What the checkers are to measure."""

    unavailability_threshold_ms: Annotated[
        Count,
        Field(
            description="how long nothing succeeds before that is an unavailability window",
            examples=[100],
        ),
    ] = 500
    replicas: Annotated[
        bool,
        Field(
            description="compare at the end what every replica's log holds (local backend)",
            examples=[True],
        ),
    ] = False
    watermarks: Annotated[
        bool,
        Field(
            description="follow each replica's log end and high watermark (local backend)",
            examples=[True],
        ),
    ] = False
    evidence: Annotated[
        bool,
        Field(
            description="keep with the run what the brokers have on disk before they are started "
            "again and at the end, and what they logged of it",
            examples=[False],
        ),
    ] = True


class ScenarioError(ValueError):
    """The scenario cannot be run as it stands; the message names file, key and remedy."""


class Scenario(Part):
    """One experiment, complete."""

    name: Annotated[
        str,
        Field(
            description="what it is called in `results/`; by default its file's name",
            examples=["our-orders"],
        ),
    ] = ""
    title: Annotated[
        str,
        Field(
            description="what it shows, in one sentence",
            examples=["acks=1, the leader killed: acknowledged records are lost"],
        ),
    ]
    description: Annotated[
        str, Field(description="more about it, for readers", examples=["Asked by the orders team."])
    ] = ""
    cluster: Annotated[
        ClusterPart, Field(description="the nodes and their settings", examples=[{"brokers": 4}])
    ] = ClusterPart()
    backend: Annotated[
        BackendPart,
        Field(
            description="settings of one backend each",
            examples=[{"docker": {"image": "kafka-harness/kafka:3.9.2"}}],
        ),
    ] = BackendPart()
    topic: Annotated[
        TopicPart, Field(description="the one topic", examples=[{"partitions": 3}])
    ] = TopicPart()
    workload: Annotated[
        WorkloadPart, Field(description="what the workers do", examples=[{"kind": "stream"}])
    ]
    programs: Annotated[
        tuple[ProgramPart, ...],
        Field(
            description="programs of yours beside the cluster, an entry each, in the order in "
            "which they are started",
            examples=[({"name": "payments", "command": ["java", "-jar", "app.jar"]},)],
        ),
    ] = ()
    outputs: Annotated[
        OutputsPart | None,
        BeforeValidator(is_one),
        Field(
            description="what the programs make of the workload's records, and how to find it",
            examples=[{"topic": "paid", "id": "json:/order_id", "group": "payments"}],
        ),
    ] = None
    faults: Annotated[
        tuple[FaultPart, ...],
        Field(
            description="the plan, an entry each",
            examples=[({"verb": "kill", "target": "leader", "at_s": 5},)],
        ),
    ] = ()
    mixed: Annotated[
        MixedPart | None,
        Field(
            description="faults drawn at random, beside the plan",
            examples=[{"faults": ({"verb": "kill", "target": "leader"},), "until_s": 600}],
        ),
    ] = None
    check: Annotated[
        CheckPart, Field(description="what is measured", examples=[{"replicas": True}])
    ] = CheckPart()
    expect: Annotated[
        dict[str, Annotated[str, Field(max_length=100)]],
        Field(
            description="what must be seen, on top of what the configuration promises: "
            "a demand each",
            examples=[{"lost": "0", "produce-gap-s": "<= 12"}],
        ),
    ] = Field(default={})


__all__ = [
    "AttachPart",
    "BackendPart",
    "CheckPart",
    "ClusterPart",
    "ExternalPart",
    "FaultPart",
    "MixedPart",
    "OutputsPart",
    "ProgramPart",
    "Scenario",
    "ScenarioError",
    "SelectorsPart",
    "TopicPart",
    "WorkloadPart",
]
