"""The lines of a fault, put together to its row."""

from __future__ import annotations

from typing import Any

import pytest

from harness.history.side_files import SideFile, faults


def row_of(*lines: dict[str, Any]) -> dict[str, Any]:
    said = {"fault": 0, "step": 0, "verb": "kill", "target": "leader"}
    told = [{**said, "time_ns": n, "line": n, **line} for n, line in enumerate(lines, 1)]
    side = SideFile(process="nemesis", name="nemesis.jsonl", lines=told)
    (row,) = faults(side, "told")

    assert side.bad == []
    return row


INJECTED = {"event": "inject", "type": "invoke", "nodes": ["kafka1"]}


@pytest.mark.parametrize("nodes", [{"nodes": []}, {"nodes": None}, {}])
@pytest.mark.parametrize(
    "later",
    [
        {"event": "inject", "type": "ok", "evidence": "gone"},
        {"event": "inject", "type": "info", "error": "it is still there"},
        {"event": "heal", "type": "invoke"},
        {"event": "heal", "type": "ok", "evidence": "back"},
    ],
)
def test_a_later_line_that_names_no_node_does_not_unmake_whom_the_fault_hit(
    later: dict[str, Any], nodes: dict[str, Any]
) -> None:
    assert row_of(INJECTED, {**later, **nodes})["nodes"] == ["kafka1"]


def test_one_that_names_others_does() -> None:
    """The twin: a fault that goes on to more nodes."""
    later = {"event": "inject", "type": "ok", "evidence": "gone", "nodes": ["kafka1", "kafka2"]}

    assert row_of(INJECTED, later)["nodes"] == ["kafka1", "kafka2"]


def test_errors_of_several_lines_are_all_told() -> None:
    first = {"event": "inject", "type": "info", "nodes": ["kafka1"], "error": "it is there"}

    assert row_of(first)["error"] == "it is there"
    assert row_of(first, {"event": "heal", "type": "ok"})["error"] == "it is there"
    assert (
        row_of(first, {"event": "heal", "type": "info", "error": "it is gone"})["error"]
        == "it is there; it is gone"
    )


def test_a_fault_that_never_hit_anybody_has_no_nodes() -> None:
    never = {"event": "inject", "type": "info", "nodes": [], "error": "no leader"}

    assert row_of(never)["nodes"] == []
