"""Placeholders in texts of `[[programs]]` and `[outputs]` (harness.model.sections.programs)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from harness.cluster.nodes import Node, brokers
from harness.model.scenario import Scenario


def placeholders(scenario: Scenario, nodes: Sequence[Node]) -> dict[str, str]:
    """What stands for those that all programs have in common."""
    return {
        "bootstrap": ",".join(node.endpoint for node in brokers(nodes)),
        "topic": scenario.topic.name,
        "outputs": scenario.outputs.topic if scenario.outputs else "",
        "python": sys.executable,
    }


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders replaced; other braces stay."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text
