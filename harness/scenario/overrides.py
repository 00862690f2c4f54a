"""Overrides: --set path=value, laid over a scenario's tables before they are checked."""

from __future__ import annotations

import tomllib
from typing import Any

from harness.clients.java_keys import ROLES, keys_of
from harness.model.kafka_text import kafka_text
from harness.model.scenario import ScenarioError
from harness.model.sections.part import OPEN_SECTIONS

# Shorter names for sections that are asked for most.
SHORT = {"producer.": "workload.producer.", "consumer.": "workload.consumer."}


def parse_override(text: str) -> tuple[str, Any]:
    """`workload.rounds=100` -> ("workload.rounds", 100); the value is TOML, else a plain string."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise ScenarioError(f"--set {text!r}: write path=value, as in workload.rounds=1000")
    return whole(path), parse_value(value)


def whole(path: str) -> str:
    """The whole path of a key: `producer.acks` is `workload.producer.acks`."""
    path = path.strip()
    begin = next((begin for begin in SHORT if path.startswith(begin)), "")
    return SHORT.get(begin, "") + path[len(begin) :]


def misplaced(path: str, value: Any) -> str | None:
    """Why a path that names a client's key alone, or a demand without quotes, sets nothing, with
    what would; None for any other."""
    text = kafka_text(value)
    for role in ROLES:
        if path in keys_of(role):
            return f"--set {path}: that is a {role}'s key: write --set {role}.{path}={text}"
    if path.startswith("expect.") and not isinstance(value, str):
        return f"--set {path}: a demand is a text: write --set '{path}=\"{value}\"'"
    return None


def parse_value(text: str) -> Any:
    """A value as TOML has it; what is none there is plain text."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def lay_over(raw: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at a dotted path; below an open section the rest of it is one key."""
    section = next((s for s in OPEN_SECTIONS if path.startswith(s + ".")), None)
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
