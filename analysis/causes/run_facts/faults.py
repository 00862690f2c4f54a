"""The faults of a run with their effects, as far as promises depend on them.

A fault's step of the plan has its effects (harness.model.effects). A fault without known effects
permits nothing for sure; what it could have permitted is in doubt (`EVERYTHING`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.causes.run_facts.kafka import keepers
from analysis.stored.fault_views import view_in
from analysis.stored.table_rows import Fault
from harness.model.effects import Effects

Row = Mapping[str, Any]

EVERYTHING = Effects(
    leadership="anywhere",
    takes="all",
    alters_stored_bytes=True,
    ends_processes=True,
    topic_settings={
        "unclean.leader.election.enable": "true",
        "flush.messages": "9223372036854775807",
    },
)


def view_before(fault: Fault) -> dict[str, Any]:
    """The fault's own view of the cluster when it began: leader, isr and elr by partition,
    controller, known; empty where it has none that can be read."""
    return view_in(fault, "before")


def meets(fault: Fault, from_ns: int, to_ns: int | None) -> bool:
    """Whether it may have been in force at any moment of a stretch (to_ns None: without end)."""
    over_ns = fault["heal_ok_ns"]
    begun = to_ns is None or fault["invoke_ns"] <= to_ns
    return begun and (over_ns is None or over_ns > from_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """The faults of a run, and the parts of run.json that say what they could do."""

    faults: Sequence[Fault] = ()  # rows of the history's table
    steps: Mapping[int, Effects | None] = field(default_factory=dict)  # the plan's; None: not known
    options_of: Mapping[int, Row] = field(default_factory=dict)  # the plan's steps'
    nodes: Mapping[str, Row] = field(default_factory=dict)  # run.json's: by name, with `role`
    quorum: frozenset[str] = frozenset()  # who keeps the metadata: ZooKeepers, or controllers

    @classmethod
    def of(
        cls,
        faults: Sequence[Fault],
        plan: Sequence[Row],
        nodes: Mapping[str, Row] | None = None,
        quorum: frozenset[str] | None = None,
    ) -> Happened:
        """Made of the history's rows and of run.json's plan and nodes. `quorum`: the keepers of the
        metadata if brokers are controllers too."""
        effects = {step["step"]: step.get("effects") for step in plan}
        return cls(
            faults=faults,
            steps={
                step: None if written is None else Effects.model_validate(written)
                for step, written in effects.items()
            },
            options_of={step["step"]: step.get("options") or {} for step in plan},
            nodes=nodes or {},
            quorum=keepers(nodes or {}) if quorum is None else quorum,
        )

    def effects(self, fault: Fault) -> Effects | None:
        """What the fault could do; None: not known."""
        return self.steps.get(fault["step"])

    def options(self, fault: Fault) -> Row:
        """The options of the fault's step."""
        return self.options_of.get(fault["step"], {})

    def unknown(self) -> list[Fault]:
        """The faults that hit a node and whose effects are not known."""
        return [f for f in self.faults if f["nodes"] and self.effects(f) is None]

    def known(self) -> Iterator[tuple[Fault, Effects]]:
        """The faults that hit a node and whose effects are known, with these."""
        for fault in self.faults:
            effects = self.effects(fault)
            if fault["nodes"] and effects is not None:
                yield fault, effects

    def hits_the_cluster(self, fault: Fault) -> bool:
        """Whether it hit a node of the cluster, not only workers."""
        return any(
            self.nodes.get(name, {}).get("role") not in (None, "client") for name in fault["nodes"]
        )

    def hits_half_the_quorum(self, fault: Fault) -> bool:
        """Whether it hit so many keepers of the metadata that the others may be no majority."""
        hit = self.quorum & set(fault["nodes"])
        return bool(hit) and 2 * len(hit) >= len(self.quorum)

    def asks_for_unclean(self, fault: Fault) -> bool:
        """Whether it asks for an unclean election itself, whatever is configured."""
        return self.options(fault).get("how") == "unclean"

    def settings(self, *, unknown_did_all: bool = False) -> list[Mapping[str, str]]:
        """The topic settings that faults changed; one of unknown effects none, or all."""
        changed = [effects.topic_settings for _, effects in self.known()]
        if unknown_did_all and self.unknown():
            changed.append(EVERYTHING.topic_settings)
        return [settings for settings in changed if settings]

    def asked_for_unclean(self, *, unknown_did_all: bool = False) -> bool:
        """Whether a fault asked for an unclean election; one of unknown effects did not, or did."""
        asked = any(self.asks_for_unclean(fault) for fault, _ in self.known())
        return asked or (unknown_did_all and bool(self.unknown()))
