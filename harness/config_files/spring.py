"""Reads Spring Boot's `spring.kafka.*` of an application.properties or application.yml.

    spring.kafka.producer.batch-size=64KB                       batch.size=65536
    spring.kafka.consumer.fetch-max-wait=5s                     fetch.max.wait.ms=5000
    spring.kafka.producer.properties.delivery.timeout.ms=9000   delivery.timeout.ms=9000
    spring.kafka.properties.client.dns.lookup=…                 of both kinds of client

Later ones win: `spring.kafka.properties.*`, `spring.kafka.producer.*`, its `properties.*`. Names
are relaxed (batchSize, batch_size; not batch.size, whose dot is a level). Without a unit durations
are ms and sizes bytes.

Of a document's conditions it understands a profile's name, `!name` and lists of these. Source:
Spring Boot 3, KafkaProperties; "Relaxed Binding", "Converting Durations", "… Data Sizes".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from harness.config_files.placeholders import Resolver
from harness.config_files.settings import Setting
from harness.config_files.yaml_file import Text, Tree
from harness.model.spelling import slip

BEGIN: Final = "spring.kafka."
DEFAULT: Final = "default"  # the profile that is active where none is named
_PROFILE = ("spring.config.activate.on-profile", "spring.profiles")
_ACTIVE = ("spring.profiles.active", "spring.profiles.include")
_GROUP = "spring.profiles.group."
_OTHER_FILES = (
    *(*_ACTIVE, "spring.config.import", "spring.config.location"),
    "spring.config.additional-location",
)
_PLATFORM = "spring.config.activate.on-cloud-platform"
# Spring's keys below spring.kafka. besides the two kinds of client.
_OTHERS = (
    *("admin", "bootstrap-servers", "client-id", "jaas", "listener", "properties", "retry"),
    *("security", "ssl", "streams", "template"),
)
_UNITS_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_UNITS_MS["d"] = 86_400_000
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)


def _word(value: str) -> str:
    """An enumeration's value as Kafka spells it."""
    return value.lower().replace("-", "_")


def _boolean(value: str) -> str:
    return {"on": "true", "yes": "true", "1": "true", "off": "false", "no": "false"}.get(
        value.lower(), value
    )


def _duration(value: str) -> str:
    if value.isdecimal():
        return value
    if (iso := _ISO.fullmatch(value)) and any(iso.groups()):
        days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
        return str(round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000))
    match = re.fullmatch(r"(\d+)([a-zA-Z]+)", value)
    if match is None or match[2].lower() not in _UNITS_MS:
        raise ValueError(f"{value} is not a duration: write 500ms, 5s or PT5S")
    return str(round(int(match[1]) * _UNITS_MS[match[2].lower()]))


def _size(value: str) -> str:
    match = re.fullmatch(r"(\d+)([A-Za-z]*)", value)
    if match is None or (match[2] or "B").upper() not in _BYTES:
        raise ValueError(f"{value} is not a size: write 65536, 64KB or 1MB")
    return str(int(match[1]) * _BYTES[(match[2] or "B").upper()])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """Kafka's key for a key that Spring names itself, and how to write its value plainly."""

    kafka: str
    plain: Callable[[str], str] = str


_BOTH = {
    "bootstrap-servers": _Own(kafka="bootstrap.servers"),
    "client-id": _Own(kafka="client.id"),
    "security.protocol": _Own(kafka="security.protocol"),
}
_KEYS: dict[str, dict[str, _Own]] = {
    "producer": {
        **_BOTH,
        "acks": _Own(kafka="acks"),
        "batch-size": _Own(kafka="batch.size", plain=_size),
        "buffer-memory": _Own(kafka="buffer.memory", plain=_size),
        "compression-type": _Own(kafka="compression.type"),
        "key-serializer": _Own(kafka="key.serializer"),
        "value-serializer": _Own(kafka="value.serializer"),
        "retries": _Own(kafka="retries"),
        "transaction-id-prefix": _Own(kafka="transactional.id"),
    },
    "consumer": {
        **_BOTH,
        "auto-commit-interval": _Own(kafka="auto.commit.interval.ms", plain=_duration),
        "auto-offset-reset": _Own(kafka="auto.offset.reset"),
        "enable-auto-commit": _Own(kafka="enable.auto.commit", plain=_boolean),
        "fetch-max-wait": _Own(kafka="fetch.max.wait.ms", plain=_duration),
        "fetch-min-size": _Own(kafka="fetch.min.bytes", plain=_size),
        "group-id": _Own(kafka="group.id"),
        "heartbeat-interval": _Own(kafka="heartbeat.interval.ms", plain=_duration),
        "isolation-level": _Own(kafka="isolation.level", plain=_word),
        "key-deserializer": _Own(kafka="key.deserializer"),
        "value-deserializer": _Own(kafka="value.deserializer"),
        "max-poll-interval": _Own(kafka="max.poll.interval.ms", plain=_duration),
        "max-poll-records": _Own(kafka="max.poll.records"),
    },
}


def own_name(key: str) -> str | None:
    """Spring's own name for a misspelled key below spring.kafka.; None if it resembles none."""
    first, dot, rest = key[len(BEGIN) :].partition(".")
    for role, keys in _KEYS.items():
        if first == role:
            right = slip(rest, keys)
            return right and f"{BEGIN}{role}.{right}"
        if first in keys:
            return f"{BEGIN}{role}.{first}"
    right = slip(first, (*_KEYS, *_OTHERS))
    return right and f"{BEGIN}{right}{dot}{rest}"


def is_own(key: str) -> bool:
    """Whether Spring has keys below spring.kafka. that begin like this one."""
    first = _relaxed(key)[len(BEGIN) :].partition(".")[0]
    return first.partition("[")[0] in {_relaxed(own) for own in (*_KEYS, *_OTHERS)}


def is_spring(settings: Iterable[Setting]) -> bool:
    """Whether any of these keys is Spring's for Kafka."""
    return any(_relaxed(s.key).startswith((BEGIN, "springkafka")) for s in settings)


def of_variables(variables: Iterable[Setting]) -> list[Setting]:
    """The variables with SPRING_KAFKA_PRODUCER_BATCHSIZE and …_BATCH_SIZE as
    spring.kafka.producer.batch-size; all others unchanged."""
    return [
        replace(variable, key=_of_variable(variable.key))
        if variable.key.startswith("SPRING_")
        else variable
        for variable in variables
    ]


def _of_variable(name: str) -> str:
    dotted = name.lower().replace("_", ".")
    plain = {
        (begin + own).replace("-", "").replace(".", ""): begin + own
        for role, keys in _KEYS.items()
        for begin in (BEGIN, f"{BEGIN}{role}.")
        for own in (_BOTH if begin == BEGIN else keys)
    }
    return plain.get(dotted.replace(".", ""), dotted)


def flat(document: Tree) -> list[Setting]:
    """A YAML document as .properties would write it: `on` becomes true, 30_000 a number."""
    return list(_flat("", document))


def _flat(path: str, tree: Any) -> Iterator[Setting]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _flat(f"{path}.{key}" if path else str(key), value)
    elif isinstance(tree, list) and all(isinstance(item, Text) for item in tree):
        line = tree[0].line if tree else 0
        yield Setting(key=path, value=",".join(tree), line=line)
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _flat(f"{path}[{number}]", value)
    else:
        yield Setting(key=path, value=tree.as_java_has_it, line=tree.line)


def profiles(documents: list[list[Setting]]) -> tuple[dict[str, list[Setting]], list[Setting]]:
    """The settings by profile, `default` if there is none: those that always hold, then the
    profile's own. And the conditions that are not understood; their documents are not read."""
    named: list[tuple[str, list[Setting]]] = []
    unread: list[Setting] = []
    for document in documents:
        by_name = {_relaxed(s.key): s for s in document}
        asked = next((by_name[_relaxed(key)] for key in _PROFILE if _relaxed(key) in by_name), None)
        other = by_name.get(_relaxed(_PLATFORM))
        if asked and set(asked.value) & set("&()"):
            other = other or asked
        if other:
            unread.append(other)
        else:
            named.append((asked.value if asked else "", document))
    names = {name for asked, _ in named for name in re.findall(r"[^\s!,|]+", asked)}
    always = [s for asked, document in named if not asked for s in document]
    first = _words(always, *_ACTIVE) or {DEFAULT}
    return {
        name: [s for asked, document in named if _holds(asked, active) for s in document]
        for name in (DEFAULT, *sorted(names - {DEFAULT}))
        for active in [_with_groups(always, first if name == DEFAULT else {name})]
    }, unread


def names_active(documents: list[list[Setting]]) -> bool:
    """Whether a file itself says which profiles are active."""
    return any(_words(document, *_ACTIVE) for document in documents)


def reads_more(setting: Setting) -> bool:
    """Whether a setting makes Spring read other files."""
    return _relaxed(setting.key).startswith(tuple(map(_relaxed, _OTHER_FILES)))


def _words(settings: Iterable[Setting], *keys: str) -> set[str]:
    """The profiles that these keys list, also as a YAML list."""
    begins = tuple(_relaxed(key) for key in keys)
    values = (s.value for s in settings if _relaxed(s.key).partition("[")[0] in begins)
    return {word.strip() for value in values for word in value.split(",") if word.strip()}


def _with_groups(settings: list[Setting], active: set[str]) -> set[str]:
    """These profiles and those of their groups."""
    return active.union(*(_words(settings, _GROUP + name) for name in active))


def _holds(asked: str, active: set[str]) -> bool:
    """Whether a document holds with these profiles: `prod`, `!dev`, `prod, dev`."""
    words = [word.strip() for word in re.split("[|,]", asked)]
    return not asked or any(
        word[1:].strip() not in active if word.startswith("!") else word in active for word in words
    )


def clients(settings: list[Setting], role: str) -> tuple[list[Setting], list[Setting]]:
    """The settings of one kind of client in Kafka's names, the later ones winning; and the keys
    that are not read."""
    by_name = {_relaxed(s.key): s.value for s in settings}

    def lookup(name: str) -> str | None:
        return by_name.get(_relaxed(name))

    resolver = Resolver(dialect="spring", lookup=lookup)
    layers: tuple[list[Setting], ...] = ([], [], [], [])
    others = []
    for s in settings:
        place = _place(s.key, role)
        if place is None:
            others.append(s)
            continue
        layer, kafka, plain = place
        layers[layer].append(_as_kafkas(resolver.resolved(s), kafka, plain))
    return [s for layer in layers for s in layer], others


def _as_kafkas(setting: Setting, key: str, plain: Callable[[str], str]) -> Setting:
    """The setting under Kafka's name with Kafka's value, or with the problem if it has none."""
    own = replace(setting, key=key, name=setting.key)
    if own.problem:
        return own
    try:
        return replace(own, value=plain(own.value))
    except ValueError as error:
        return replace(own, problem=str(error))


def _place(key: str, role: str) -> tuple[int, str, Callable[[str], str]] | None:
    """A key's layer, Kafka's name for it, and how to write its value plainly; None: it is not this
    client's."""
    private = re.fullmatch(rf"{BEGIN}(?:{role}\.)?(ssl\..+|jaas\..+)", key, re.IGNORECASE)
    if private:
        return 0, private[1].replace("jaas.", "sasl.jaas."), str
    for layer, begin, own in (
        (3, f"{BEGIN}{role}.properties", None),
        (2, f"{BEGIN}{role}.", _KEYS[role]),
        (1, f"{BEGIN}properties", None),
        (0, BEGIN, _BOTH),
    ):
        if own is None and (name := _in_map(key, begin)):
            return layer, name, str
        for spelled, which in (own or {}).items():
            if _relaxed(key) == _relaxed(begin + spelled):
                return layer, which.kafka, which.plain
    return None


def _in_map(key: str, begin: str) -> str | None:
    """A key of a map with Kafka's own names: `…properties.acks`, `…properties[acks]`."""
    if not key.lower().startswith(begin):
        return None
    rest = key[len(begin) :]
    if rest.startswith("."):
        rest = rest[1:]
    elif not rest.startswith("["):
        return None
    return rest[1:-1] if rest.startswith("[") and rest.endswith("]") else rest


def _relaxed(key: str) -> str:
    """The same text for all spellings that Spring treats as equal."""
    return re.sub(r"[-_]", "", key).lower()
