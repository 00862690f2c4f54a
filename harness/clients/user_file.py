"""A user's own client configuration, in the Java client's names or in librdkafka's.

    acks=all                     acks=all
    request.timeout.ms=15000  -> request.timeout.ms=15000, socket.timeout.ms=15000
    buffer.memory=33554432    -> queue.buffering.max.kbytes=32768
    key.serializer=...        -> left out, with a note: the harness writes its own keys and values
    max.block.ms=60000        -> refused: librdkafka has nothing like it

A file that names a key which only librdkafka has is taken for librdkafka's and passed as it is; any
other is the Java client's and is translated. The two are not mixed: `request.timeout.ms` and
`metadata.max.age.ms` mean different things in them. Whether a value is right librdkafka itself
says. What cannot be translated is refused by name, never dropped in silence.

`differences`: where the Java client's default is not librdkafka's, the
report shows both beside the value that was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from harness.clients import properties
from harness.clients.java_keys import (
    COMPRESSION_LEVELS,
    IGNORED,
    KEYS,
    LIBRDKAFKA_ONLY,
    REFUSED,
    VALUES,
    Key,
    Role,
)
from harness.clients.properties import PropertiesError, Setting
from harness.model.client_settings import ALIASES


class ClientConfigError(PropertiesError):
    """A client configuration cannot be used; one sentence with file, line or key, and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """A file of the user's, in librdkafka's keys."""

    config: dict[str, str]
    notes: tuple[str, ...]  # sentences on what was left out or changed


def read(path: Path, role: Role) -> ClientConfig:
    """The producer's or consumer's configuration in `path`. Raises PropertiesError."""
    settings = properties.read(path)
    java = not _is_librdkafkas(path, settings, role)
    codec = next((s.value for s in settings if s.key == "compression.type"), "none")
    config: dict[str, str] = {}
    notes: list[str] = []
    for setting in settings:
        if reason := IGNORED.get(setting.key):
            notes.append(f"{path}: {setting.key} is left out: {reason}")
        elif java and role == "producer" and setting.key in COMPRESSION_LEVELS:
            if COMPRESSION_LEVELS[setting.key] == codec:
                config["compression.level"] = setting.value
            else:
                notes.append(f"{path}: {setting.key} is left out: compression.type is {codec}")
        else:
            _refuse(path, setting, role, java=java)
            config |= _plain(setting, role, java=java, path=path)
            if java and (changed := _change(setting, config, role)):
                notes.append(
                    f"{path}: {setting.key}={setting.value} becomes librdkafka's {changed}"
                )
    if complaint := complaint_of_librdkafka(config, role):
        _blame(path, settings, role, complaint, java=java)
        raise ClientConfigError(f"{path}: these settings do not go together: {complaint}")
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
        value = str(int(used[name]) * key.unit) if key.unit > 1 else _text(used[name])
    return {
        "key": key.java,
        "java_default": key.java_default,
        "librdkafka_default": key.librdkafka_default,
        "used": value,
    }


def _text(value: object) -> str:
    """A value as .properties files have it: booleans are lower case there."""
    return str(value).lower() if isinstance(value, bool) else str(value)


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


def _refuse(path: Path, setting: Setting, role: Role, *, java: bool) -> None:
    """Refuse what cannot be used, and what neither client knows."""
    where = f"{path}, line {setting.line}: {setting.key}"
    for refused, reason in REFUSED.items():
        if setting.key == refused or (refused.endswith(".") and setting.key.startswith(refused)):
            raise ClientConfigError(f"{where} cannot be used, because {reason}: remove the line")
    known = {key.java for key in KEYS[role]}
    if not java:
        known = {name for key in KEYS[role] for name in key.librdkafka} | set(LIBRDKAFKA_ONLY[role])
        known |= set(ALIASES) if role == "producer" else set()
    if setting.key in known:
        return
    other: Role = "consumer" if role == "producer" else "producer"
    if setting.key in {key.java for key in KEYS[other]} | set(LIBRDKAFKA_ONLY[other]):
        raise ClientConfigError(
            f"{where} is a {other}'s key, and this file is for the {role}: "
            f"move it to the file of --{other}-config"
        )
    right = properties.nearest(setting.key, {*known, *IGNORED, *COMPRESSION_LEVELS})
    hint = f"did you mean {right}?" if right else "remove the line"
    raise ClientConfigError(f"{where} is not a {role} key that the harness knows: {hint}")


def _plain(setting: Setting, role: Role, *, java: bool, path: Path) -> dict[str, str]:
    """A setting in librdkafka's keys and units, one name for each."""
    if not java:
        return {ALIASES.get(setting.key, setting.key): setting.value}
    key = next(key for key in KEYS[role] if key.java == setting.key)
    words = VALUES.get(key.java, {})
    value = ",".join(words.get(word.strip(), word.strip()) for word in setting.value.split(","))
    if key.java == "metadata.recovery.strategy" or value.lower() in ("true", "false"):
        value = value.lower()
    if key.unit > 1:
        if not value.isdecimal():
            raise ClientConfigError(
                f"{path}, line {setting.line}: {setting.key}={setting.value} is not a whole number"
            )
        value = str(max(1, int(value) // key.unit))
    return {ALIASES.get(name, name): value for name in key.librdkafka}


def _change(setting: Setting, config: Mapping[str, str], role: Role) -> str | None:
    """What a Java setting has become, None if it is the same under the same name."""
    key = next(key for key in KEYS[role] if key.java == setting.key)
    names = [ALIASES.get(name, name) for name in key.librdkafka]
    same = names in ([key.java], [ALIASES.get(key.java)])
    if same and config[names[0]] == setting.value:
        return None
    return " and ".join(f"{name}={config[name]}" for name in names)


def _blame(path: Path, settings: list[Setting], role: Role, complaint: str, *, java: bool) -> None:
    """Raise for the one line that librdkafka complains of in the same words when it is alone."""
    for setting in settings:
        if setting.key in IGNORED or setting.key in COMPRESSION_LEVELS:
            continue
        alone = _plain(setting, role, java=java, path=path)
        if complaint == complaint_of_librdkafka(alone, role):
            raise ClientConfigError(
                f"{path}, line {setting.line}: {setting.key}={setting.value}: {complaint}"
            )
