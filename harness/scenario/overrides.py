"""Overrides: --set path=value, laid over a scenario's tables before they are checked."""

from __future__ import annotations

import tomllib
from typing import Any

from harness.model.scenario import (
    ScenarioError,
)


def parse_override(text: str) -> tuple[str, Any]:
    """`workload.rounds=100` -> ("workload.rounds", 100); the value is TOML, else a plain string."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise ScenarioError(f"--set {text!r}: write path=value, as in workload.rounds=1000")
    try:
        return path.strip(), tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        return path.strip(), value


# Sections whose keys are Kafka's own and hold dots: the rest of the path is one key.
_OPEN = (
    "cluster.server",
    "cluster.zoo",
    "topic.config",
    "workload.producer",
    "workload.consumer",
)


def lay_over(raw: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at a dotted path; below an open section the rest of it is one key."""
    section = next((s for s in _OPEN if path.startswith(s + ".")), None)
    parts = [*section.split("."), path[len(section) + 1 :]] if section else path.split(".")
    table: Any = raw
    for part in parts[:-1]:
        if isinstance(table, list):
            if not part.isdigit() or int(part) >= len(table):
                raise ScenarioError(f"--set {path}: there is no entry {part}")
            table = table[int(part)]
        else:
            table = table.setdefault(part, {})
        if not isinstance(table, dict | list):
            raise ScenarioError(f"--set {path}: {part} has no keys")
    if isinstance(table, list):
        raise ScenarioError(f"--set {path}: name a key of the entry, as in faults.0.at_s")
    table[parts[-1]] = value
