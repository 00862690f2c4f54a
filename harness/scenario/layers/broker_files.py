"""A user's own server.properties and topic configuration: what the brokers and the topic get.

    num.io.threads=4                 passes
    listeners=..., log.dirs=...      left out: one note names all such keys, and never a value
    metric.reporters=com.acme.R      left out where no jar has that class: no broker would start
    process.roles=broker             without effect in a cluster with ZooKeeper: a note; with KRaft
                                     the harness's, as the quorum's keys are, and the file is the
                                     brokers' alone: [cluster.broker]

Whether Kafka knows a key is asked with those of the scenario (harness.scenario.kafka.keys).
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
# What a resource of a topic has in front of its own keys, and what a scenario calls it.
_NUMBERS = {PARTITIONS: "partitions", REPLICAS: "replication_factor"}
# What a user may not set, with the reason; one that ends in a dot stands for all that begin so.
_LEFT_OUT = {
    **dict.fromkeys(OWNED_BY_HARNESS["server"], _OWN_ADDRESS),
    **dict.fromkeys(("advertised.", "log.dir", "broker.id.generation.enable"), _OWN_ADDRESS),
    # Which Kafka had until 3.0.
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


# And what is the harness's with KRaft alone.
_KRAFTS = {
    **dict.fromkeys(OWNED_BY_HARNESS["kraft"], _OWN_ADDRESS),
    "controller.quorum.": _OWN_ADDRESS,
}


_ROLES: Final = "process.roles"
# Whose settings a server.properties has, by the section of [cluster] that they go into.
Section = Literal["server", "broker", "controller"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFile:
    """The settings of a user's server.properties, or of a topic's file."""

    section: Section = "server"
    settings: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)  # key -> "FILE, line N"
    told: Mapping[str, str] = field(default_factory=dict)  # key -> "FILE, line N: NAME (KEY)"
    notes: tuple[str, ...] = ()
    wrong: Mapping[str, str] = field(default_factory=dict)  # key -> why its line cannot be used


def mode_of_file(path: Path | None, release: str) -> Metadata | None:
    """Where the brokers of a server.properties keep their metadata, by its process.roles; None
    where it has none, or where the release cannot be run so. Raises ConfigFileError."""
    roles = frozenset() if path is None else _roles_of(_read(path))
    if not roles:
        return None
    mode: Metadata = "kraft-combined" if roles >= {"broker", "controller"} else "kraft"
    return None if cannot_be(release, mode) else mode


def _read(path: Path) -> FileSettings:
    return read_config_file(path, "server", (*_LEFT_OUT, *ONLY["kraft"]))


def _roles_of(file: FileSettings) -> frozenset[str]:
    told = [each.value for each in file.settings if each.key == _ROLES]
    return frozenset(role.strip() for text in told for role in text.split(",") if role.strip())


def _section_of(roles: frozenset[str]) -> Section:
    """Both roles', or nobody's that is told, is everybody's."""
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
    """The file without what belongs to the harness, and without classes that no jar has and what
    may be their keys; whether Kafka knows the other keys is not asked here.

    `known`: the brokers' keys, where they are known; `others`: those of topics, too. `lacks`:
    whether it is known that no jar has a class. Raises ConfigFileError.
    """
    file = _read(path)
    section = _section_of(_roles_of(file)) if mode == "kraft" else "server"
    harness_owns = {**_KRAFTS, **_LEFT_OUT} if mode == "kraft" else _LEFT_OUT
    left_out: dict[str, str] = {}
    absent = []
    known = known or {}
    for each in file.settings:
        looked_for = is_class(each.key, known.get(each.key))
        names = classes_in(each.key, each.value, is_known=looked_for)
        missing = [name for name in names if lacks(name)]
        why = reason_for(each.key, harness_owns) or without_effect(each.key, mode)
        if missing and each.key in known:
            absent += missing
            why = why or _NO_JAR
        if why:
            left_out[each.key] = why
    tiered = [each.key for each in file.settings if each.key.startswith(_TIERED)]
    if tiered and (_TIERS not in tiered or left_out.get(_TIERS) == _NO_JAR):
        left_out |= {key: _NO_TIERS for key in tiered if key not in left_out}
    kept = [each for each in file.settings if each.key not in left_out]
    of_classes = [
        each
        for each in (kept if absent else ())
        if not is_known(each.key, known) and may_be_a_plugins(each.key, others)
    ]
    notes = [
        f"{file.found(each)}: taken for a key of {absent[0]}, and left out with it"
        for each in of_classes
    ]
    used = [_with_memory(each, notes) for each in kept if each not in of_classes]
    if section != "server":
        notes.append(
            f"{file.path} is for the {section}s alone, as its {_ROLES} says: cluster.{section}"
        )
    found = _used(file, used, [*left_out_note(file.path, left_out), *notes])
    return replace(found, section=section)


def _with_memory(setting: Setting, notes: list[str]) -> Setting:
    """A setting as brokers of a run can have it, who have less memory than those of a team."""
    large = setting.key == BUFFER and setting.value.isdecimal()
    if not (large and int(setting.value) > MOST_BUFFER):
        return setting
    notes.append(
        f"{setting.told}={setting.value} is {MOST_BUFFER} here: a run's brokers have less memory"
    )
    return replace(setting, value=str(MOST_BUFFER))


def read_topic_config(path: Path) -> BrokerFile:
    """A topic's settings; of a resource of Strimzi `partitions` and `replicas`, too. Raises
    ConfigFileError."""
    file = read_config_file(path, "topic")
    left_out = {each.key: _OTHERS for each in file.settings if each.key.startswith("confluent.")}
    kept = [each for each in file.settings if each.key not in left_out]
    found = _used(file, kept, left_out_note(file.path, left_out))
    wrong = {
        _NUMBERS[each.key]: f"{file.found(each)} = {each.value}: not a whole number above 0"
        for each in file.settings
        if each.key in _NUMBERS and not (each.value.isdecimal() and int(each.value))
    }
    return replace(found, wrong={**found.wrong, **wrong})


def numbers_of(topic: BrokerFile) -> dict[str, str]:
    """Scenario's key -> what the topic's file calls it, where it has it."""
    return {key: name for name, key in _NUMBERS.items() if name in topic.settings}


def _used(file: FileSettings, used: list[Setting], notes: list[str]) -> BrokerFile:
    return BrokerFile(
        settings={each.key: each.value for each in used},
        lines={each.key: file.place(each) for each in used},
        told={each.key: file.found(each) for each in used},
        notes=(
            *file.notes,
            *notes,
            *([] if file.settings else [f"{file.path} sets nothing, so nothing is replaced"]),
        ),
        wrong={
            **dict(zip(file.wrong, file.wrong, strict=True)),
            **{
                each.key: f"{file.found(each)} = {each.value}: {each.problem}"
                for each in used
                if each.problem
            },
        },
    )
