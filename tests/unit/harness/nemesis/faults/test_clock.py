"""skew-clock: seen in a broker's thread dump, and so is its return."""

from __future__ import annotations

import signal

import pytest

from harness.nemesis.faults import clock
from harness.nemesis.verbs import VERBS
from tests.support.disk_nodes import KAFKA1, Nodes, at


def test_a_skewed_clock_is_seen_in_a_thread_dump_and_so_is_its_return(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "ASK_EVERY_S", 1e9)
    injection, verb = at(nodes, offset_s=-600), VERBS["skew-clock"]
    nodes.signal(KAFKA1, signal.SIGQUIT)  # a dump from before
    verb.inject(injection)

    assert verb.proof_in_force(injection) is None  # it is asked now
    assert verb.proof_in_force(injection) in {
        f"the clock of kafka1 is {s} s ahead by its own thread dump" for s in (-599, -600, -601)
    }
    verb.heal(injection)
    assert verb.healed(injection) is None
    nodes.signal(KAFKA1, signal.SIGQUIT)
    assert "is right again" in str(verb.healed(injection))
