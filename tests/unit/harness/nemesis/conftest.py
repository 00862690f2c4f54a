"""What the tests of the conductor share: a world in which `fell` is a verb."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.cluster.nodes import ClusterError
from harness.model.effects import Effects
from harness.nemesis.verb import Verb
from harness.nemesis.verbs import VERBS
from tests.support.conducted_plans import FakeCluster


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    told = FakeCluster()

    def inject(injection: Any) -> None:
        if told.breaks:
            raise ClusterError("no such process")
        told.down |= {node.name for node in injection.nodes}
        told.groups.append([node.name for node in injection.nodes])
        told.leader = "kafka3"

    def heal(injection: Any) -> None:
        if told.returns:
            told.down -= {node.name for node in injection.nodes}

    verb = Verb(
        name="fell",
        undo="raise",
        done="felled",
        effects=Effects(),
        needs=(),
        inject=inject,
        heal=heal,
        proof_in_force=lambda i: "fallen" if told.bites and i.node.name in told.down else None,
        healed=lambda i: None if i.node.name in told.down else "risen",
    )
    monkeypatch.setitem(VERBS, "fell", verb)
    monkeypatch.setitem(VERBS, "fell-alone", replace(verb, holds="process"))
    monkeypatch.setitem(VERBS, "fell-together", replace(verb, together=True))
    return told
