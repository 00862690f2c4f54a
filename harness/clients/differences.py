"""Shows where the Java client and librdkafka differ: in defaults, in translated values, and in what
one of them refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.clients.defaults import WITHIN_DELIVERY
from harness.clients.java_keys import COMPRESSION_LEVELS, KEYS, Key, Role
from harness.config_files.settings import FileSettings, Setting
from harness.model.client_settings import ALIASES
from harness.model.kafka_text import kafka_text

# The settings that a file is used for, each in librdkafka's names.
Used = Sequence[tuple[Setting, Mapping[str, str]]]


def differences(
    used: Mapping[str, Any], role: Role, blocks_ms: int | None = None
) -> list[dict[str, str]]:
    """The keys whose defaults differ, with the value that a worker really used.

    `used` is the worker's whole configuration in librdkafka's keys, `blocks_ms` how long a producer
    waits while its queue is full; None: not at all. Each row has "client" (the role), "key" (Java's
    name), "java_default", "librdkafka_default" and "used", in Java's units.
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
                "used": no_blocking if blocks_ms is None else str(blocks_ms),
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


def java_refusals(file: FileSettings, used: Used, role: Role) -> list[str]:
    """The settings that Kafka's own clients refuse and librdkafka does not (KafkaProducer,
    configureDeliveryTimeout; ConsumerCoordinator)."""
    defaults = {key.java: key.java_default for key in KEYS[role]}
    named = {setting.key: setting for setting, _ in used}
    if (beat := named.get("heartbeat.interval.ms")) is not None and role == "consumer":
        key = "session.timeout.ms"
        session = named[key].value if key in named else defaults[key]
        if float(beat.value) < float(session):
            return []
        return [
            f"{file.place(beat)}: {beat.label}={beat.value} is not below {key} "
            f"({session}): Kafka's Java consumer does not start with that"
        ]
    delivery = named.get("delivery.timeout.ms")
    if delivery is None:
        return []
    parts = [named[k].value if k in named else defaults[k] for k in WITHIN_DELIVERY]
    if float(delivery.value) >= sum(map(float, parts)):
        return []
    return [
        f"{file.place(delivery)}: {delivery.label}={delivery.value} is below linger.ms + "
        f"request.timeout.ms ({' + '.join(parts)}): Kafka's Java producer does not start with that"
    ]


def replacement_notes(file: FileSettings, used: Used) -> list[str]:
    """A note on each setting that a later line replaces under another name."""
    first, notes = dict[str, Setting](), []
    for setting, plain in used:
        for name in plain:
            before = first.setdefault(name, setting)
            if before is not setting:
                notes.append(
                    f"{file.where(setting)} replaces {before.label} of line {before.line}: both "
                    f"are {name}"
                )
                first[name] = setting
    return notes


def change(setting: Setting, config: Mapping[str, str], role: Role) -> str | None:
    """The librdkafka form of a Java setting; None if name and value are the same."""
    key = next((key for key in KEYS[role] if key.java == setting.key), None)
    if key is None:  # a compression's level, or what both clients have
        level = config.get("compression.level", setting.value)
        is_level = setting.key in COMPRESSION_LEVELS
        return f"compression.level={level}" if is_level and level != setting.value else None
    names = [ALIASES.get(name, name) for name in key.librdkafka]
    same = names in ([key.java], [ALIASES.get(key.java)])
    if same and config[names[0]] == setting.value:
        return None
    return " and ".join(f"{name}={config[name]}" for name in names)
