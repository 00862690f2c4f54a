"""Checks the keys of [workload.producer] and [workload.consumer]: librdkafka's, none of the
harness.

    workload.producer.lingr.ms = 5              did you mean linger.ms?
    workload.producer.buffer.memory = 1000000   the Java client's name: librdkafka has another
    workload.producer.fetch.min.bytes = 1       a consumer's: a producer would ignore it
    workload.producer.client.id = "x"           the harness names its clients

librdkafka itself says which keys it knows, and whether their values are right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.clients.java_keys import (
    KEYS,
    LEFT_OUT,
    Role,
    librdkafkas_names,
    other_role_of,
)
from harness.clients.librdkafka import complaint_of_librdkafka, not_a_number
from harness.config_files.settings import reason_for
from harness.model.client_settings import ALIASES
from harness.model.kafka_text import kafka_text
from harness.model.scenario import Scenario
from harness.model.spelling import names, nearest

UNKNOWN = "No such configuration property"  # how librdkafka begins to say it


def wrong_keys(scenario: Scenario) -> list[str]:
    """A sentence for each key of a scenario that cannot be used."""
    work = scenario.workload
    settings: list[tuple[str, Role, Mapping[str, Any]]] = [
        ("producer", "producer", work.producer),
        ("consumer", "consumer", work.consumer),
    ]
    settings += [
        (f"members.{number}.consumer", "consumer", member.consumer)
        for number, member in enumerate(work.members)
    ]
    return [
        f"workload.{section}.{key} {why}"
        for section, role, own in settings
        for key, why in _refusals(role, own).items()
    ]


def wrong_value(role: Role, config: Mapping[str, Any], origins: Mapping[str, str]) -> str | None:
    """Why librdkafka refuses a complete configuration; None if it does not. It names the key that
    alone causes the same complaint, and the lines of a file that set it."""
    complaint = complaint_of_librdkafka(config, role)
    if complaint is None:
        return None
    culprits = (
        k for k, value in config.items() if complaint == complaint_of_librdkafka({k: value}, role)
    )
    key = next(culprits, None)
    sentence = f"workload.{role}{f'.{key} = {config[key]!r}' if key else ''}: {complaint}"
    return with_lines(sentence, f"workload.{role}", config, origins)


def with_lines(
    sentence: str, section: str, config: Mapping[str, Any], origins: Mapping[str, str]
) -> str:
    """A sentence with the origins of the section's settings that it names, if one is a file's
    line."""
    prefixes = (f"{section}.",) if section == "topic.config" else (f"{section}.", "")
    spellings = {
        key: (key, *(alias for alias in ALIASES if ALIASES[alias] == key)) for key in config
    }
    mentioned = [
        key
        for key, aliases in spellings.items()
        if any(names(sentence, prefix + alias) for prefix in prefixes for alias in aliases)
    ]
    if not any(re.search(r", line |^to fit ", origins.get(key, "")) for key in mentioned):
        return sentence
    places = (
        f"{key}={kafka_text(config[key])}: {origins[key]}" for key in mentioned if key in origins
    )
    return f"{sentence} ({'; '.join(places)})"


def _refusals(role: Role, settings: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with each key that cannot be used."""
    doubtful = complaint_of_librdkafka(settings, role) is not None
    refusals = {
        key: _not_to_be_set(role, key)
        or (_unknown(role, key, value) if doubtful else None)
        or _value(key, value)
        for key, value in settings.items()
    }
    return {key: why for key, why in refusals.items() if why}


def _not_to_be_set(role: Role, key: str) -> str | None:
    """Why a key is refused although librdkafka knows and would accept it."""
    if reason := reason_for(key, LEFT_OUT):
        return f"cannot be set in a scenario, because {reason}: remove it"
    if other := other_role_of(key, role):
        return f"is a {other}'s key: move it to workload.{other}"
    return None


def _value(key: str, value: Any) -> str | None:
    why = not_a_number(key, value)
    return f"= {value}: {why}" if why else None


def _unknown(role: Role, key: str, value: Any) -> str | None:
    complaint = complaint_of_librdkafka({key: value}, role) or ""
    if not complaint.startswith(UNKNOWN):
        return None
    theirs = next((known.librdkafka for known in KEYS[role] if known.java == key), None)
    if theirs:
        return f"is the Java client's name: use librdkafka's, {' and '.join(theirs)}"
    right = nearest(key, sorted(librdkafkas_names(role)))
    hint = f"did you mean workload.{role}.{right}?" if right else "remove it"
    return f"is not a key of librdkafka: {hint}"
