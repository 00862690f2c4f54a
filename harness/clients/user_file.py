"""Reads a user's own client configuration, in the Java client's names or in librdkafka's.

    acks=all                     acks=all
    request.timeout.ms=15000  -> request.timeout.ms=15000, socket.timeout.ms=15000
    buffer.memory=33554432    -> queue.buffering.max.kbytes=32768
    key.serializer=...        -> left out: the harness writes its own keys and values
    max.block.ms=60000        -> the workload's own: how long a send waits for room in the queue
    linger.mss=5              -> refused: did you mean linger.ms?

A file with a key that only librdkafka has is librdkafka's and passes unchanged; any other is the
Java client's and is translated. The two are not mixed: `request.timeout.ms` and
`metadata.max.age.ms` mean different things in them. A key of the other kind of client is left out:
one file may serve both.

The release's jars check the values of Java's keys, librdkafka checks all. One note names every key
that was left out, with the reason, and never its value, which may be a secret. Keys that neither
client knows are refused, all at once. Only if the file names a class that is not Kafka's own may an
unknown key be that class's, and a note says so; not if it ends in a key that a client, a broker or
a topic knows (`spring.kafka.producer.acks`), or in a slip of one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.clients.defaults import CLIENTS, JAVA, LIBRDKAFKA, ClientName
from harness.clients.differences import change, java_refusals, replacement_notes
from harness.clients.java_keys import (
    BLOCKS,
    COMPRESSION_LEVELS,
    JAVAS_LATER,
    KEYS,
    LEFT_OUT,
    LIBRDKAFKAS_VALUES,
    PRIVATE,
    VALUES,
    Role,
    keys_of,
    librdkafkas_names,
    of_java_alone,
    of_librdkafka_alone,
    other_role_of,
)
from harness.clients.librdkafka import complaint_of_librdkafka, limit_of, not_a_number
from harness.clients.plugins import all_keys, may_be_a_plugins
from harness.config_files.placeholders import template_in
from harness.config_files.read import read_config_file
from harness.config_files.settings import (
    ConfigFileError,
    FileSettings,
    Setting,
    foreign_class,
    left_out_note,
    reason_for,
)
from harness.distribution.documented import Documented, wrong_value
from harness.model.bounds import ACKS, MOST
from harness.model.client_settings import ALIASES
from harness.model.spelling import known_end, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """A user's file in librdkafka's keys."""

    config: dict[str, str]
    lines: dict[str, str]  # where each of these stands: "FILE, line N"
    notes: tuple[str, ...]  # sentences on what was left out or changed
    client: ClientName  # whose defaults lie below
    spring: bool = False
    max_block_ms: int | None = None  # how long a send waits for room in the queue, if it is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is known beyond a client's file."""

    client: ClientName | None = None  # whose defaults hold; None: as the file's names tell
    foreign: bool = False  # the cluster is somebody's: TLS and SASL have a file of their own
    values: Mapping[str, Documented] = field(default_factory=dict)  # of Java's keys, if known
    others: Collection[str] = ()  # the keys of brokers and topics, if known
    given: Collection[str] = ()  # librdkafka's keys that --set overrules


def read(path: Path, role: Role, beside: Beside | None = None) -> ClientConfig:
    """The producer's or consumer's configuration in `path`. Raises ConfigFileError with a sentence
    for each wrong line."""
    beside = beside or Beside()
    file = read_config_file(path, role, (*LEFT_OUT, *PRIVATE), keys_of(role))
    client, of_both = _client_of(file, beside.client)
    reading = _Reading(file=file, role=role, client=client, beside=beside)
    left_out, of_plugin = reading.left_out()
    used: list[tuple[Setting, dict[str, str]]] = []
    wrong, overruled, blocks_ms = list(file.wrong), False, ""
    for setting in file.settings:
        if setting.key in left_out or setting in of_plugin:
            continue
        if setting.key == BLOCKS:
            wrong += reading.problems_of_blocking(setting)
            blocks_ms = setting.value
            continue
        if reading.is_overruled(setting):
            overruled = True
            continue
        why = reading.refusal(setting)
        if why is None:
            try:
                used.append((setting, reading.plain(setting)))
            except ValueError as error:
                why = str(error)
        wrong += [f"{file.place(setting)}: {why}"] if why else []
    wrong += reading.complaints(used)
    if wrong:
        raise ConfigFileError(*wrong)
    config = _merge(plain for _, plain in used)
    notes = [
        *file.notes,
        *([] if used or overruled else [_NOTHING.format(path=file.path, role=role)]),
        *left_out_note(file.path, left_out),
        *(f"{file.where(setting)}: {why}" for setting, why in of_plugin.items()),
        *reading.strays(),
        *(java_refusals(file, used, role) if client == JAVA else ()),
        *([_OF_BOTH.format(path=file.path)] if of_both else []),
    ]
    for setting, _ in used:
        if client == JAVA and (changed := change(setting, config, role)):
            notes.append(
                f"{file.path}: {setting.label}={setting.value} becomes librdkafka's {changed}"
            )
    notes += replacement_notes(file, used)
    lines = {
        name: f"{file.path.name}, line {setting.line}" for setting, plain in used for name in plain
    }
    return ClientConfig(
        config=config,
        lines=lines,
        notes=tuple(notes),
        client=client,
        spring=file.spring,
        max_block_ms=min(int(blocks_ms), MOST) if blocks_ms else None,
    )


_NOTHING = "{path} sets nothing of a {role}: its client's defaults hold"
_OF_BOTH = (
    "{path}: its names are both clients', so it is read as the Java client's, whose defaults hold; "
    "--client-defaults librdkafka, if it is for a client that is built on librdkafka"
)


def _client_of(file: FileSettings, asked: ClientName | None) -> tuple[ClientName, bool]:
    """The client whose names a file has, and whether they fit both clients and nobody says which.
    Raises ConfigFileError for names of both, and for names of a client other than the one
    `asked`."""
    settings = {s.key: s for s in file.settings}
    theirs = of_librdkafka_alone(settings, left_out=False)
    theirs += [k for k, s in settings.items() if s.value in LIBRDKAFKAS_VALUES.get(k, ())]
    javas = of_java_alone(settings, left_out=False) or (list(settings) if file.spring else [])
    if theirs and javas:
        one, other = settings[theirs[0]], settings[javas[0]]
        raise ConfigFileError(
            f"{file.path} mixes librdkafka's names ({one.label}, line {one.line}) with the Java "
            f"client's ({other.label}, line {other.line}): use the names of one of them"
        )
    if not theirs and not javas:  # what is left out tells as well
        theirs = of_librdkafka_alone(settings, left_out=True)
        javas = [] if theirs else of_java_alone(settings, left_out=True)
    of_one = theirs or javas
    client: ClientName = LIBRDKAFKA if theirs else JAVA
    if of_one and asked not in (None, client):
        raise ConfigFileError(
            f"{file.where(settings[of_one[0]])} is a name of {CLIENTS[client]}, but the client's "
            f"defaults are to be those of {CLIENTS[asked or JAVA]}: use its names, or "
            f"--client-defaults {client}"
        )
    return (client, False) if of_one else (asked or JAVA, asked is None and bool(settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One file for one kind of client."""

    file: FileSettings
    role: Role
    client: ClientName
    beside: Beside

    def left_out(self) -> tuple[dict[str, str], dict[Setting, str]]:
        """The keys without effect, each with the reason; and the settings that probably belong to a
        class that is not Kafka's own."""
        reasons = LEFT_OUT if self.beside.foreign else {**LEFT_OUT, **PRIVATE}
        settings = self.file.settings
        codec = next((s.value for s in settings if s.key == "compression.type"), "none")
        plugin = foreign_class({s.key: s.value for s in settings})
        left_out, of_plugin = dict[str, str](), dict[Setting, str]()
        for setting in settings:
            key = setting.key
            if key == BLOCKS and self.blocks:
                continue
            if reason := reason_for(key, reasons):
                left_out[key] = reason
            elif COMPRESSION_LEVELS.get(key, codec) != codec and self.role == "producer":
                left_out[key] = f"compression.type is {codec}"
            elif key not in self._known() and (other := other_role_of(key, self.role)):
                left_out[key] = f"a {other}'s key"
            elif plugin and self._may_be_a_plugins(key):
                of_plugin[setting] = f"taken for a key of {plugin}, {_NOT_HERE}"
        return left_out, of_plugin

    @property
    def blocks(self) -> bool:
        """Whether it is of a client that waits while its queue is full."""
        return self.client == JAVA and self.role == "producer"

    def problems_of_blocking(self, setting: Setting) -> list[str]:
        """What is wrong with its time."""
        why = self._problem_of_value(setting)
        if why is None and not setting.value.isdecimal():
            why = f"{setting.label}={setting.value}: not a whole number"
        return [f"{self.file.place(setting)}: {why}"] if why else []

    def _may_be_a_plugins(self, key: str) -> bool:
        """Whether no client, broker or topic knows the key, and it ends in none that they know,
        except in one that has no effect in a client's file."""
        if key in self._known() or reason_for(key, PRIVATE):
            return False
        return may_be_a_plugins(key, self.beside.others)

    def strays(self) -> list[str]:
        """A note on each further key of the file that ends like a key of this client."""
        own = self._known() - LEFT_OUT.keys()
        ends = {s: known_end(s.key, own) for s in self.file.strays}
        return [
            f"{self.file.where(s)}: not read, though it ends in {end}: give it as {end}, in a "
            f"file of its own, if it is the {self.role}'s"
            for s, end in ends.items()
            if end is not None
        ]

    def _known(self) -> set[str]:
        """The keys that the file may have in its dialect."""
        if self.client == LIBRDKAFKA:
            return {*librdkafkas_names(self.role), *LEFT_OUT}
        levels = COMPRESSION_LEVELS if self.role == "producer" else ()
        return {*(key.java for key in KEYS[self.role]), *JAVAS_LATER, *LEFT_OUT, *levels}

    def refusal(self, setting: Setting) -> str | None:
        """Why a setting cannot be used; None if it can."""
        key = setting.key
        if self.beside.foreign and reason_for(key, PRIVATE):
            return (
                f"{setting.label} cannot be used here, because this file's settings are stored "
                "with the run: move TLS and SASL to the file that backend.external.client (or "
                "backend.kubernetes.attach.client) names"
            )
        if key in self._known():
            return self._problem_of_value(setting)
        if key in self.beside.others:
            return f"{setting.label} is a broker's or a topic's key, and this file is for the " + (
                f"{self.role}: move it to the file of --server-properties or --topic-config"
            )
        right = nearest(key, sorted(self._known())) or known_end(key, all_keys(self.beside.others))
        hint = f"did you mean {right}?" if right else "remove the line"
        return f"{setting.label} is not a {self.role} key that the harness knows: {hint}"

    def _problem_of_value(self, setting: Setting) -> str | None:
        place = f"{setting.label}={setting.value}"
        if setting.problem:
            return f"{place}: {setting.problem}"
        if template := template_in(setting.value):
            return f"{place}: {template} is a template's: write the value that it stands for"
        if setting.key == "acks" or ALIASES.get(setting.key) == "acks":
            values = ", ".join(ACKS)
            return None if setting.value in ACKS else f"{place}: give one of {values}"
        documented = self.beside.values.get(setting.key) if self.client == JAVA else None
        if why := documented and wrong_value(setting.value, documented):
            return f"{place}: {why}"
        if why := not_a_number(setting.key, setting.value):
            return f"{place}: {why}"
        return None

    def plain(self, setting: Setting) -> dict[str, str]:
        """A setting in librdkafka's keys and units, one name for each. Raises ValueError."""
        if self.client == LIBRDKAFKA or setting.key in JAVAS_LATER:
            return {ALIASES.get(setting.key, setting.key): setting.value}
        if setting.key in COMPRESSION_LEVELS:
            return {"compression.level": setting.value}
        key = next(key for key in KEYS[self.role] if key.java == setting.key)
        words = VALUES.get(key.java, {})
        parts = [words.get(word.strip(), word.strip()) for word in setting.value.split(",")]
        if key.java == "partition.assignment.strategy":
            parts = _assignors(setting, parts)
        if key.java == "delivery.timeout.ms" and setting.value == "0":
            raise ValueError(f"{setting.label}=0 is for ever in librdkafka, and at once in Java")
        value = ",".join(parts)
        if key.java == "metadata.recovery.strategy" or value.lower() in ("true", "false"):
            value = value.lower()
        if key.unit > 1:
            if not value.isdecimal():
                raise ValueError(f"{setting.label}={setting.value}: not a whole number")
            value = str(max(1, int(value) // key.unit))
        return {ALIASES.get(name, name): value for name in key.librdkafka}

    def is_overruled(self, setting: Setting) -> bool:
        """Whether --set has another value for a valid key of the file."""
        if setting.key not in self._known():
            return False
        of_java = {key.java: key.librdkafka for key in KEYS[self.role]}
        names = of_java.get(setting.key, (setting.key,)) if self.client == JAVA else (setting.key,)
        return all(ALIASES.get(name, name) in self.beside.given for name in names)

    def complaints(self, used: list[tuple[Setting, dict[str, str]]]) -> list[str]:
        """librdkafka's complaints about each setting alone; replaces a value of Java's that is out
        of range by the limit."""
        if not complaint_of_librdkafka(_merge(p for _, p in used), self.role, of_each=True):
            return []
        sentences = []
        for setting, plain in used:
            for name, value in list(plain.items()):
                complaint = complaint_of_librdkafka({name: value}, self.role, of_each=True)
                limit = limit_of(complaint, value) if complaint and self.client == JAVA else None
                if limit is not None:
                    plain[name] = limit
                elif complaint:
                    place = self.file.place(setting)
                    sentences.append(f"{place}: {setting.label}={setting.value}: {complaint}")
        return sentences


def _assignors(setting: Setting, names: list[str]) -> list[str]:
    """The strategies that librdkafka has; of two protocols the one with which a group of Java's
    clients begins. Raises ValueError."""
    strategies = [*VALUES["partition.assignment.strategy"].values()]
    for name in names:
        if name not in strategies:
            raise ValueError(
                f"{setting.label}={name}: librdkafka has {', '.join(strategies)} alone"
            )
    eager = [name for name in names if name != _COOPERATIVE]
    return eager or names


_COOPERATIVE = "cooperative-sticky"
_NOT_HERE = "which cannot run in the harness's client"


def _merge(plain: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {key: value for part in plain for key, value in part.items()}
