"""Reads a user's server.properties and topic configuration: what the brokers and the topic get.

    num.io.threads=4                 passes
    listeners=..., log.dirs=...      left out: one note names all such keys, and never a value
    metric.reporters=com.acme.R      left out where no jar has that class: no broker would start
    process.roles=broker             with ZooKeeper: no effect, and a note; with KRaft the harness
                                     sets it and the quorum's keys, and the file is the brokers'
                                     only: [cluster.broker]

Whether Kafka knows a key is checked together with the scenario's (harness.scenario.kafka.keys).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from harness.clients.plugins import may_be_a_plugins
from harness.cluster.broker_limits import BUFFER, MOST_BUFFER
from harness.cluster.node_settings import OWNED_BY_HARNESS
from harness.config_files.read import read_config_file
from harness.config_files.settings import (
    FileSettings,
    Setting,
    classes_in,
    left_out_note,
    reason_for,
)
from harness.config_files.strimzi import PARTITIONS, REPLICAS
from harness.distribution.documented import is_class
from harness.distribution.known_keys import Keys
from harness.model.sections.kafka_releases import Metadata, cannot_be
from harness.model.spelling import is_known
from harness.scenario.kafka.modes import ONLY, Mode, without_effect

_PLAINTEXT = "a run's nodes and clients use plaintext connections"
_OWN_ADDRESS = "the harness sets broker ids, addresses and directories"
_NOBODY = "nobody has to be let in: the run's clients have no names"
_NO_JAR = "none of the jars has that class, and no broker would start"
_ASKED_FOR = "what it would bring is asked for where it is used"
_NO_MOVE = "there is no KRaft to move to"
_OTHERS = "Confluent's own, which Apache Kafka does not have"
_TIERED, _TIERS = "remote.log.", "remote.log.storage.manager.class.name"
_NO_TIERS = "tiered storage, for which there is no class"
# Keys of a Strimzi topic besides its config -> the scenario's keys.
_NUMBERS = {PARTITIONS: "partitions", REPLICAS: "replication_factor"}
# Keys that a user may not set, with the reason; a final dot stands for all keys that begin so.
_LEFT_OUT = {
    **dict.fromkeys(OWNED_BY_HARNESS["server"], _OWN_ADDRESS),
    **dict.fromkeys(("advertised.", "log.dir", "broker.id.generation.enable"), _OWN_ADDRESS),
    # Kafka had these until 3.0.
    **dict.fromkeys(("host.name", "port"), _OWN_ADDRESS),
    "broker.rack": "one broker's own: each has a rack of its own, or cluster.racks says which",
    **dict.fromkeys(
        ("ssl.", "sasl.", "security.", "listener.", "inter.broker.listener.name"), _PLAINTEXT
    ),
    **dict.fromkeys(
        ("zookeeper.ssl.", "zookeeper.set.acl", "control.plane.listener.name"), _PLAINTEXT
    ),
    "zookeeper.metadata.migration.enable": _NO_MOVE,
    **dict.fromkeys(("config.providers", "config.providers."), _ASKED_FOR),
    "confluent.": _OTHERS,
    # Secrets of what needs TLS or SASL, too.
    **dict.fromkeys(("delegation.token.", "password.encoder."), _PLAINTEXT),
    **dict.fromkeys(
        ("authorizer.", "early.start.listeners", "super.users", "allow.everyone.if.no.acl.found"),
        _NOBODY,
    ),
}


# Further keys that the harness owns with KRaft.
_KRAFTS = {
    **dict.fromkeys(OWNED_BY_HARNESS["kraft"], _OWN_ADDRESS),
    "controller.quorum.": _OWN_ADDRESS,
}


_ROLES: Final = "process.roles"
# The section of [cluster] for the settings of a server.properties.
Section = Literal["server", "broker", "controller"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFile:
    """The settings of a user's server.properties, or of a topic's file."""

    section: Section = "server"
    settings: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)  # key -> "FILE, line N"
    labels: Mapping[str, str] = field(default_factory=dict)  # key -> "FILE, line N: NAME (KEY)"
    notes: tuple[str, ...] = ()
    wrong: Mapping[str, str] = field(default_factory=dict)  # key -> why its line cannot be used


def mode_of_file(path: Path | None, release: str) -> Metadata | None:
    """Where the brokers of a server.properties keep their metadata, by its process.roles; None if
    it has none, or if the release cannot run so. Raises ConfigFileError."""
    roles = frozenset() if path is None else _roles_of(_read(path))
    if not roles:
        return None
    mode: Metadata = "kraft-combined" if roles >= {"broker", "controller"} else "kraft"
    return None if cannot_be(release, mode) else mode


def _read(path: Path) -> FileSettings:
    return read_config_file(path, "server", (*_LEFT_OUT, *ONLY["kraft"]))


def _roles_of(file: FileSettings) -> frozenset[str]:
    values = [setting.value for setting in file.settings if setting.key == _ROLES]
    return frozenset(role.strip() for text in values for role in text.split(",") if role.strip())


def _section_of(roles: frozenset[str]) -> Section:
    """The section for a file of these roles; a file of both roles, or of none, is for all nodes."""
    if roles == {"broker"}:
        return "broker"
    return "controller" if roles == {"controller"} else "server"


def read_server_properties(
    path: Path,
    known: Keys | None = None,
    others: Collection[str] = (),
    *,
    mode: Mode = "zookeeper",
    lacks: Callable[[str], bool] = lambda _: False,
) -> BrokerFile:
    """The file without what belongs to the harness, and without classes that no jar has and their
    probable keys; does not check whether Kafka knows the other keys.

    `known`: the brokers' keys, where they are known; `others`: those of topics, too. `lacks`:
    whether it is known that no jar has a class. Raises ConfigFileError.
    """
    file = _read(path)
    section = _section_of(_roles_of(file)) if mode == "kraft" else "server"
    harness_owns = {**_KRAFTS, **_LEFT_OUT} if mode == "kraft" else _LEFT_OUT
    left_out: dict[str, str] = {}
    absent = []
    known = known or {}
    for s in file.settings:
        looked_for = is_class(s.key, known.get(s.key))
        names = classes_in(s.key, s.value, is_known=looked_for)
        missing = [name for name in names if lacks(name)]
        why = reason_for(s.key, harness_owns) or without_effect(s.key, mode)
        if missing and s.key in known:
            absent += missing
            why = why or _NO_JAR
        if why:
            left_out[s.key] = why
    tiered = [s.key for s in file.settings if s.key.startswith(_TIERED)]
    if tiered and (_TIERS not in tiered or left_out.get(_TIERS) == _NO_JAR):
        left_out |= {key: _NO_TIERS for key in tiered if key not in left_out}
    kept = [s for s in file.settings if s.key not in left_out]
    of_classes = [
        s
        for s in (kept if absent else ())
        if not is_known(s.key, known) and may_be_a_plugins(s.key, others)
    ]
    notes = [
        f"{file.where(s)}: taken for a key of {absent[0]}, and left out with it" for s in of_classes
    ]
    used = [_with_memory(s, notes) for s in kept if s not in of_classes]
    if section != "server":
        notes.append(
            f"{file.path} is for the {section}s alone, as its {_ROLES} says: cluster.{section}"
        )
    file_settings = _broker_file(file, used, [*left_out_note(file.path, left_out), *notes])
    return replace(file_settings, section=section)


def _with_memory(setting: Setting, notes: list[str]) -> Setting:
    """The setting, lowered to the memory of a run's brokers if it is too large."""
    large = setting.key == BUFFER and setting.value.isdecimal()
    if not (large and int(setting.value) > MOST_BUFFER):
        return setting
    notes.append(
        f"{setting.label}={setting.value} is {MOST_BUFFER} here: a run's brokers have less memory"
    )
    return replace(setting, value=str(MOST_BUFFER))


def read_topic_config(path: Path) -> BrokerFile:
    """A topic's settings; from a Strimzi resource also `partitions` and `replicas`. Raises
    ConfigFileError."""
    file = read_config_file(path, "topic")
    left_out = {s.key: _OTHERS for s in file.settings if s.key.startswith("confluent.")}
    kept = [s for s in file.settings if s.key not in left_out]
    file_settings = _broker_file(file, kept, left_out_note(file.path, left_out))
    wrong = {
        _NUMBERS[s.key]: f"{file.where(s)} = {s.value}: not a whole number above 0"
        for s in file.settings
        if s.key in _NUMBERS and not (s.value.isdecimal() and int(s.value))
    }
    return replace(file_settings, wrong={**file_settings.wrong, **wrong})


def numbers_of(topic: BrokerFile) -> dict[str, str]:
    """The scenario's key -> the key of the topic's file, for the numbers that the file has."""
    return {key: name for name, key in _NUMBERS.items() if name in topic.settings}


def _broker_file(file: FileSettings, used: list[Setting], notes: list[str]) -> BrokerFile:
    return BrokerFile(
        settings={s.key: s.value for s in used},
        lines={s.key: file.place(s) for s in used},
        labels={s.key: file.where(s) for s in used},
        notes=(
            *file.notes,
            *notes,
            *([] if file.settings else [f"{file.path} sets nothing, so nothing is replaced"]),
        ),
        wrong={
            **dict(zip(file.wrong, file.wrong, strict=True)),
            **{s.key: f"{file.where(s)} = {s.value}: {s.problem}" for s in used if s.problem},
        },
    )
