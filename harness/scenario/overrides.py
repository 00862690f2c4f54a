"""Lays --set path=value over a scenario's tables before they are checked."""

from __future__ import annotations

import tomllib
from typing import Any

from harness.clients.java_keys import ROLES, keys_of
from harness.model.kafka_text import kafka_text
from harness.model.scenario import ClusterPart, Scenario, ScenarioError, TopicPart, WorkloadPart
from harness.model.sections.part import OPEN_SECTIONS, Part
from harness.model.spelling import nearest

# Shorter names for sections that are asked for most.
SHORT = {"producer.": "workload.producer.", "consumer.": "workload.consumer."}
SECTIONS: dict[str, type[Part]] = {
    "workload": WorkloadPart,
    "topic": TopicPart,
    "cluster": ClusterPart,
}
RELEASE = "cluster.kafka"  # "4.10" is no number
_BEGINNINGS = (*Scenario.model_fields, *(begin.rstrip(".") for begin in SHORT))


def parse_override(text: str) -> tuple[str, Any]:
    """`workload.rounds=100` -> ("workload.rounds", 100); the value is TOML, else a plain string."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise ScenarioError(f"--set {text!r}: write path=value, as in workload.rounds=1000")
    path = whole(path)
    return path, parse_value(value, path)


def whole(path: str) -> str:
    """The whole path of a key: `producer.acks` is `workload.producer.acks`."""
    path = path.strip()
    begin = next((begin for begin in SHORT if path.startswith(begin)), "")
    return SHORT.get(begin, "") + path[len(begin) :]


def misplaced(path: str, value: Any) -> str | None:
    """Why a path without its section, or a demand without quotes, sets nothing, with the remedy;
    None for any other."""
    text, begin = kafka_text(value), path.partition(".")[0]
    for role in ROLES:
        if path in keys_of(role):
            return f"--set {path}: that is a {role}'s key: write --set {role}.{path}={text}"
    for section, part in SECTIONS.items():
        if begin in part.model_fields and begin not in Scenario.model_fields:
            whole_path = f"{section}.{path}"
            return f"--set {path}: that is a key of [{section}]: write --set {whole_path}={text}"
    near = nearest(begin, _BEGINNINGS)
    if f"{near}." in SHORT and begin != near:
        return f"--set {path}: unknown key {begin} (did you mean '{near}'?)"
    if begin != path and near is None:
        return (
            f"--set {path}: no section is named {begin}: put topic.config. (a topic's key of "
            "Kafka), cluster.server. (a broker's), producer. or consumer. (a client's) before it"
        )
    if path.startswith("expect.") and not isinstance(value, str):
        return f"--set {path}: a demand is a text: write --set '{path}=\"{value}\"'"
    return None


def parse_value(text: str, path: str = "") -> Any:
    """A value as TOML reads it; a release, or what is no TOML, is plain text."""
    if path == RELEASE:
        return text.strip().strip("\"'")
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
