"""Kafka's own keys in a scenario: refused where this release does not know them.

    cluster.server.num.partitons = 3     refused: did you mean num.partitions?
    cluster.server.linger.ms = 5         refused; passes if cluster.allow_keys names it
    cluster.server.my.plugin.key = 1     passes, with a note, beside authorizer.class.name = "my.A"

A broker ignores a key that it does not know, and the run would be another experiment. So each key
of [cluster.server], [cluster.zoo] and [topic.config] is one that the jars of the release know
(harness.distribution.known_keys), wherever it was set: in the scenario, by --set, in a
server.properties. What is within two edits of a known key is refused always; any other passes where
`cluster.allow_keys` names it, or where a class is configured that is not Kafka's own and may have
its own keys. Where the release of a cluster is not that of the jars, a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.clients.java_keys import KEYS, ROLES, librdkafkas_names
from harness.clients.properties import foreign_class
from harness.cluster.backend import Backend
from harness.cluster.nodes import ClusterError
from harness.distribution.kafka_home import KAFKA_VERSION, KafkaHome
from harness.distribution.known_keys import KnownKeys, is_known, known_keys
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.model.scenario import Scenario
from harness.model.spelling import did_you_mean, slip


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is wrong with the keys, and what is to be said of them; a sentence each."""

    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of Kafka's own keys."""

    name: str  # "cluster.server"
    whose: str  # "a broker's key of Kafka 3.9.2"
    settings: Mapping[str, Any]
    known: frozenset[str]


def check_keys(
    scenario: Scenario, backend: Backend, home: Callable[[], KafkaHome], lines: Mapping[str, str]
) -> Found:
    """What is to be said of a scenario's keys on that backend. `home`: the jars to ask. `lines`:
    where in a file a key of [cluster.server] stands, if it stands in one."""
    used = [name for name, settings in _settings(scenario).items() if settings]
    if not used:
        return Found()
    try:
        why = _other_release(backend, scenario)
        known = known_keys(home(), find_java) if why is None else None
    except (ClusterError, HostError) as error:
        why, known = str(error), None
    if known is None:
        where = ", ".join(used)
        return Found(notes=(f"the keys of {where} were not checked for typing errors: {why}",))
    return found_in(_sections(scenario, known), scenario.cluster.allow_keys, lines)


def _other_release(backend: Backend, scenario: Scenario) -> str | None:
    """Why the pinned release's keys may not be those of this cluster; None where they are."""
    if backend.image is None:
        return None
    image = backend.image(scenario)
    if not image:
        return "the release of a cluster that is not the harness's own is unknown"
    pinned = ".".join(KAFKA_VERSION.split(".")[:2])
    if release_of(image) == pinned:
        return None
    return f"the image {image} is not named as one of Kafka {pinned}, whose keys are known"


def release_of(image: str) -> str | None:
    """The line of Kafka that an image's name and tag tell, as in "3.9"; None if they do not.

    Confluent's 7.9 is Kafka 3.9. Source: docs.confluent.io, Supported Versions.
    """
    path, _, tag = image.partition("@")[0].rpartition(":")
    version = re.match(r"v?(\d+)\.(\d+)(?!\d)", tag)
    if not path or version is None:
        return None
    confluents = path.rpartition("/")[2].startswith("cp-")
    return f"{int(version[1]) - (4 if confluents else 0)}.{version[2]}"


def found_in(
    sections: tuple[Section, ...], allowed: tuple[str, ...], lines: Mapping[str, str]
) -> Found:
    """What these sections have that their Kafka does not know."""
    wrong, notes = [], []
    for section in sections:
        if not section.known and section.settings:
            notes.append(f"the keys of {section.name} were not checked: the jars do not name them")
            continue
        plugin = foreign_class(section.settings)
        passed = []
        for key in section.settings:
            if is_known(key, section.known):
                continue
            passes = key in allowed or plugin is not None
            if why := _refusal(section, key, sections, passes=passes):
                stands = lines.get(key) if section.name == "cluster.server" else None
                wrong.append(f"{stands or f'{section.name}.{key}'} is not {section.whose}{why}")
            elif key not in allowed:
                passed.append(key)
        if passed:
            notes.append(
                f"{section.name}: {', '.join(passed)}: not {section.whose}, taken for {plugin}'s"
            )
    return Found(wrong=tuple(wrong), notes=tuple(notes))


def _refusal(
    section: Section, key: str, sections: tuple[Section, ...], *, passes: bool
) -> str | None:
    """How an unknown key is refused; None where it passes."""
    if right := slip(key, {each for each in section.known if not each.endswith(".")}):
        return f": did you mean {right}?"
    if passes:
        return None
    others = [other.name for other in sections if key in other.known]
    if others:
        return f": move it to {others[0]}"
    for role in ROLES:
        if key in librdkafkas_names(role) | {each.java for each in KEYS[role]}:
            return f" but a {role}'s: move it to workload.{role}, or remove it"
    return f"{did_you_mean(key, section.known)}: remove it, or name it in cluster.allow_keys"


def _settings(scenario: Scenario) -> dict[str, Mapping[str, Any]]:
    return {
        "cluster.server": scenario.cluster.server,
        "cluster.zoo": scenario.cluster.zoo,
        "topic.config": scenario.topic.config,
    }


def _sections(scenario: Scenario, known: KnownKeys) -> tuple[Section, ...]:
    of = {
        "cluster.server": (f"a broker's key of Kafka {known.kafka}", known.server),
        "cluster.zoo": (f"a key of ZooKeeper {known.zookeeper}", known.zoo),
        "topic.config": (f"a topic's key of Kafka {known.kafka}", known.topic),
    }
    return tuple(
        Section(name=name, whose=of[name][0], settings=settings, known=of[name][1])
        for name, settings in _settings(scenario).items()
    )
