"""A user's own client configuration, in the Java client's names or in librdkafka's.

    acks=all                     acks=all
    request.timeout.ms=15000  -> request.timeout.ms=15000, socket.timeout.ms=15000
    buffer.memory=33554432    -> queue.buffering.max.kbytes=32768
    key.serializer=...        -> left out: the harness writes its own keys and values
    max.block.ms=60000        -> left out: librdkafka does not block
    linger.mss=5              -> refused: did you mean linger.ms?

A file that names a key which only librdkafka has is taken for librdkafka's and passed as it is; any
other is the Java client's and is translated. The two are not mixed: `request.timeout.ms` and
`metadata.max.age.ms` mean different things in them. Whether a value is right librdkafka itself
says. Nothing is dropped in silence: one note names every key that was left out, with the reason,
and never its value, which may be a secret. What neither client knows is refused, all of it at once;
only where the file names a class that is not Kafka's own may it be that class's, and is left out.

`differences`: where the Java client's default is not librdkafka's, the
report shows both beside the value that was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from harness.clients import properties
from harness.clients.java_keys import (
    COMPRESSION_LEVELS,
    KEYS,
    LEFT_OUT,
    LIBRDKAFKA_ONLY,
    PRIVATE,
    VALUES,
    Key,
    Role,
    librdkafkas_names,
    other_role_of,
)
from harness.clients.properties import PropertiesError, Setting
from harness.model.client_settings import ALIASES
from harness.model.kafka_text import kafka_text
from harness.model.spelling import nearest, slip


class ClientConfigError(PropertiesError):
    """A client configuration cannot be used; each sentence names file, line or key, and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """A file of the user's, in librdkafka's keys."""

    config: dict[str, str]
    notes: tuple[str, ...]  # sentences on what was left out or changed


def read(path: Path, role: Role, *, foreign: bool = False) -> ClientConfig:
    """The producer's or consumer's configuration in `path`. Raises PropertiesError with a sentence
    for each line that is wrong.

    `foreign`: the cluster is somebody's, and its TLS and SASL belong in a file of their own.
    """
    settings, wrong = properties.read_all(path)
    java = not _is_librdkafkas(path, settings, role)
    left_out = _left_out(settings, role, java=java, foreign=foreign)
    used: list[tuple[Setting, dict[str, str]]] = []
    for setting in settings:
        if setting.key in left_out:
            continue
        why = _refusal(setting, role, java=java, foreign=foreign)
        if why is None:
            try:
                used.append((setting, _plain(setting, role, java=java)))
            except ValueError as error:
                why = str(error)
        wrong += [f"{path}, line {setting.line}: {why}"] if why else []
    wrong += _complaints(path, used, role)
    if wrong:
        raise ClientConfigError(*wrong)
    config = _joined(plain for _, plain in used)
    notes = properties.left_out_note(path, left_out)
    for setting, _ in used:
        if java and (changed := _change(setting, config, role)):
            notes.append(f"{path}: {setting.key}={setting.value} becomes librdkafka's {changed}")
    return ClientConfig(config=config, notes=tuple(notes))


def complaint_of_librdkafka(config: Mapping[str, Any], role: Role) -> str | None:
    """Why librdkafka would refuse to make a client of `config`; None if it would not."""
    try:
        if role == "producer":
            Producer({**config, "log_level": 0})
        else:
            Consumer({"group.id": "check", **config, "log_level": 0}).close()
    except KafkaException as error:
        return str(error.args[0].str()).strip().removeprefix(f"Failed to create {role}: ")
    return None


def differences(used: Mapping[str, Any], role: Role) -> list[dict[str, str]]:
    """Where the two clients' defaults differ, with the value that a worker really used.

    `used` is the worker's whole configuration in librdkafka's keys. Each row has "client" (the
    role), "key" (Java's name), "java_default", "librdkafka_default" and "used", in Java's units.
    """
    plain = {ALIASES.get(key, key): value for key, value in used.items()}
    rows = [_row(key, plain) for key in KEYS[role] if key.java_default != key.librdkafka_default]
    if role == "producer":
        no_blocking = "0: a full queue fails the send"
        rows.append(
            {
                "key": "max.block.ms",
                "java_default": "60000",
                "librdkafka_default": no_blocking,
                "used": no_blocking,
            }
        )
    return [{"client": role, **row} for row in rows]


def _row(key: Key, used: Mapping[str, Any]) -> dict[str, str]:
    name = ALIASES.get(key.librdkafka[-1], key.librdkafka[-1])
    value = key.librdkafka_default
    if name in used:
        value = str(int(used[name]) * key.unit) if key.unit > 1 else kafka_text(used[name])
    return {
        "key": key.java,
        "java_default": key.java_default,
        "librdkafka_default": key.librdkafka_default,
        "used": value,
    }


def _is_librdkafkas(path: Path, settings: list[Setting], role: Role) -> bool:
    """Which of the two dialects the file is in; refused if it is in both."""
    shared = {key.java for key in KEYS[role] if key.java in (*key.librdkafka, *ALIASES)}
    theirs = [s for s in settings if s.key in LIBRDKAFKA_ONLY[role]]
    javas = [s for s in settings if s.key in {key.java for key in KEYS[role]} - shared]
    if theirs and javas:
        raise ClientConfigError(
            f"{path} mixes librdkafka's names ({theirs[0].key}, line {theirs[0].line}) with the "
            f"Java client's ({javas[0].key}, line {javas[0].line}): use the names of one of them"
        )
    return bool(theirs)


def _left_out(settings: list[Setting], role: Role, *, java: bool, foreign: bool) -> dict[str, str]:
    """The keys that the file has in vain, each with the reason."""
    reasons = LEFT_OUT if foreign else {**LEFT_OUT, **PRIVATE}
    codec = next((s.value for s in settings if s.key == "compression.type"), "none")
    plugin = properties.foreign_class({each.key: each.value for each in settings})
    found = {}
    for key in (setting.key for setting in settings):
        if reason := properties.reason_for(key, reasons):
            found[key] = reason
        elif java and role == "producer" and COMPRESSION_LEVELS.get(key, codec) != codec:
            found[key] = f"compression.type is {codec}"
        elif plugin and not _is_clients(key, role, java=java):
            found[key] = f"taken for a key of {plugin}, which cannot run in the harness's client"
    return found


def _is_clients(key: str, role: Role, *, java: bool) -> bool:
    """Whether a key is one of Kafka's clients, or a slip of one."""
    known = _known(role, java=java)
    if key in known or properties.reason_for(key, PRIVATE):
        return True
    return slip(key, known) is not None or other_role_of(key, role) is not None


def _known(role: Role, *, java: bool) -> set[str]:
    """What the file may name in its dialect."""
    if not java:
        return {*librdkafkas_names(role), *LEFT_OUT}
    levels = COMPRESSION_LEVELS if role == "producer" else ()
    return {*(key.java for key in KEYS[role]), *LEFT_OUT, *levels}


def _refusal(setting: Setting, role: Role, *, java: bool, foreign: bool) -> str | None:
    """Why a setting cannot be used; None if it can."""
    key, known = setting.key, _known(role, java=java)
    if foreign and properties.reason_for(key, PRIVATE):
        return (
            f"{key} cannot be used here, because this file's settings are stored with the run: "
            "move TLS and SASL to the file that backend.external.client (or "
            "backend.kubernetes.attach.client) names"
        )
    if key in known:
        return None
    if other := other_role_of(key, role):
        return (
            f"{key} is a {other}'s key, and this file is for the {role}: "
            f"move it to the file of --{other}-config"
        )
    right = nearest(key, sorted(known))
    hint = f"did you mean {right}?" if right else "remove the line"
    return f"{key} is not a {role} key that the harness knows: {hint}"


def _plain(setting: Setting, role: Role, *, java: bool) -> dict[str, str]:
    """A setting in librdkafka's keys and units, one name for each. Raises ValueError."""
    if not java:
        return {ALIASES.get(setting.key, setting.key): setting.value}
    if setting.key in COMPRESSION_LEVELS:
        return {"compression.level": setting.value}
    key = next(key for key in KEYS[role] if key.java == setting.key)
    words = VALUES.get(key.java, {})
    value = ",".join(words.get(word.strip(), word.strip()) for word in setting.value.split(","))
    if key.java == "metadata.recovery.strategy" or value.lower() in ("true", "false"):
        value = value.lower()
    if key.unit > 1:
        if not value.isdecimal():
            raise ValueError(f"{setting.key}={setting.value} is not a whole number")
        value = str(max(1, int(value) // key.unit))
    return {ALIASES.get(name, name): value for name in key.librdkafka}


def _joined(plain: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {key: value for each in plain for key, value in each.items()}


def _change(setting: Setting, config: Mapping[str, str], role: Role) -> str | None:
    """What a Java setting has become, None if it is the same under the same name."""
    key = next((key for key in KEYS[role] if key.java == setting.key), None)
    if key is None:  # a compression's level
        return None
    names = [ALIASES.get(name, name) for name in key.librdkafka]
    same = names in ([key.java], [ALIASES.get(key.java)])
    if same and config[names[0]] == setting.value:
        return None
    return " and ".join(f"{name}={config[name]}" for name in names)


def _complaints(path: Path, used: list[tuple[Setting, dict[str, str]]], role: Role) -> list[str]:
    """What librdkafka says of the settings: of each line that it complains of in the same words
    when it is alone, and of what does not go together."""
    told: list[str] = []
    left = list(used)
    while complaint := complaint_of_librdkafka(_joined(plain for _, plain in left), role):
        blamed = next(
            (one for one in left if complaint == complaint_of_librdkafka(one[1], role)), None
        )
        if blamed is None:
            return [*told, f"{path}: these settings do not go together: {complaint}"]
        setting = blamed[0]
        told.append(f"{path}, line {setting.line}: {setting.key}={setting.value}: {complaint}")
        left.remove(blamed)
    return told
