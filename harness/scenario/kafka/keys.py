"""Checks Kafka's own keys in a scenario: refuses keys and values that this release does not know.

    cluster.server.num.partitons = 3     refused: did you mean num.partitions?
    cluster.server.num.io.threads = "x"  refused: not a value of type int in [1,...]
    cluster.server.linger.ms = 5         refused; passes if cluster.allow_keys names it
    cluster.server.my.plugin.key = 1     passes, with a note, beside metric.reporters = "my.A"

A broker ignores an unknown key, and the run would be another experiment. So the jars of the release
must know each key of [cluster.server], [cluster.zoo] and [topic.config]
(harness.distribution.known_keys), whether it comes from the scenario, from --set or from a
server.properties. A key within two edits of a known one is always refused, and so is a key of a
client, a broker or a topic in the wrong place, alone or as the end of a longer key. Any other
unknown key passes if `cluster.allow_keys` names it, or if a class that is not Kafka's own is
configured and may have its own keys. Where the cluster's release is not that of the jars, a note
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.clients.java_keys import LEFT_OUT, ROLES, keys_of
from harness.clients.plugins import may_be_a_plugins
from harness.cluster.backend import Backend
from harness.cluster.nodes import ClusterError
from harness.config_files.placeholders import is_provided, template_in
from harness.config_files.settings import classes_in, foreign_class
from harness.distribution.documented import is_class, wrong_value
from harness.distribution.kafka_home import KafkaHome
from harness.distribution.known_keys import Keys, KnownKeys, has_class, known_keys
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.model.kafka_text import kafka_text
from harness.model.scenario import Scenario
from harness.model.sections.image_names import line_in
from harness.model.sections.kafka_releases import cannot_be
from harness.model.spelling import did_you_mean, is_known, known_end, slip
from harness.scenario.kafka.modes import mode_of, without_effect

# Where keys stand in the user's files: section -> key -> "FILE, line N: KEY".
Lines = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFindings:
    """What is wrong with the keys, and notes on them; a sentence each."""

    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of Kafka's own keys."""

    name: str  # "cluster.server"
    whose: str  # "a broker's key of Kafka 3.9.2"
    settings: Mapping[str, Any]
    known: Keys
    lacking: Callable[[str], bool] = field(default=lambda _: False)  # a class that no jar has


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The Kafka of a run, as far as it is known."""

    known: KnownKeys | None  # None: not known
    home: KafkaHome | None = None
    why: str = ""  # not known

    @property
    def others(self) -> frozenset[str]:
        """The keys of brokers and topics."""
        return frozenset((*self.known.server, *self.known.topic)) if self.known else frozenset()

    def lacks(self, name: str) -> bool:
        """Whether its class path is known, and has no such class."""
        return self.home is not None and not has_class(self.home, name)


def release_on(
    backend: Backend, scenario: Scenario, home: Callable[[], KafkaHome], *, needed: bool = True
) -> Release:
    """The Kafka that a scenario runs with on that backend. `home`: finds the jars to ask."""
    if not needed:
        return Release(known=None)
    try:
        if why := _other_release(backend, scenario):
            return Release(known=None, why=why)
        jars = home()
        known = known_keys(jars, find_java)
    except (ClusterError, HostError) as error:
        return Release(known=None, why=str(error))
    return Release(known=known, home=jars if backend.image is None else None)


def has_keys(scenario: Scenario) -> bool:
    """Whether it sets any key of Kafka's own."""
    return any(_settings(scenario).values())


def check_keys(scenario: Scenario, release: Release, lines: Lines) -> KeyFindings:
    """The findings on a scenario's keys and values with that Kafka."""
    used = [name for name, settings in _settings(scenario).items() if settings]
    if not used:
        return KeyFindings()
    if release.known is None:
        names = ", ".join(used)
        return KeyFindings(
            notes=(f"the keys of {names} were not checked for typing errors: {release.why}",)
        )
    return key_findings(_sections(scenario, release), scenario.cluster.allow_keys, lines)


def _other_release(backend: Backend, scenario: Scenario) -> str | None:
    """Why the pinned release's keys may not be those of this cluster; None where they are."""
    if backend.image is None:
        return None
    image = backend.image(scenario)
    if not image:
        return "the release of a cluster that is not the harness's own is unknown"
    line = _line_of(scenario)
    if line_in(image) == line:
        return None
    return f"the image {image} is not named as one of Kafka {line}, whose keys are known"


def _line_of(scenario: Scenario) -> str:
    return ".".join(scenario.cluster.release.split(".")[:2])


def other_kafka(backend: Backend, scenario: Scenario) -> str | None:
    """Why that backend's containers do not run the Kafka that a scenario names, or cannot keep its
    metadata as the scenario wants, with the remedy; None if they do, or if the image's name does
    not say."""
    cluster = scenario.cluster
    if backend.image is None:
        return None
    try:
        image = backend.image(scenario)
    except ClusterError:  # whoever starts it says so
        return None
    line = line_in(image)
    if line in (None, _line_of(scenario)):
        return None
    if not cluster.kafka:  # it runs what the image has
        impossible = cannot_be(line, cluster.kept_by, cluster.voters)
        return impossible and f'the image {image} is Kafka {line}: set cluster.kafka = "{line}"'
    return (
        f'cluster.kafka is "{cluster.kafka}", and the image {image} is Kafka {line}: make one '
        f"with `kafka-harness image --kafka {cluster.release}` and name it in "
        "backend.docker.image or in the manifests of backend.kubernetes.manifests"
    )


def key_findings(
    sections: tuple[Section, ...], allowed: tuple[str, ...], lines: Lines
) -> KeyFindings:
    """The findings on these sections' keys and values."""
    wrong, notes = [], []
    all_keys = {key for section in sections for key in section.known}
    for section in sections:
        if not section.known and section.settings:
            notes.append(f"the keys of {section.name} were not checked: the jars do not name them")
            continue
        places = lines.get(section.name, {})
        plugin = foreign_class(section.settings)
        for key, value in section.settings.items():
            place = places.get(key, f"{section.name}.{key}")
            if is_known(key, section.known):
                providers = () if key in places else _providers(section.settings)
                wrong += [
                    f"{place}{why}" for why in _value_problems(section, key, value, providers)
                ]
                continue
            passes = key in allowed or (plugin is not None and may_be_a_plugins(key, all_keys))
            if why := _refusal(section, key, sections, passes=passes, in_file=key in places):
                wrong.append(f"{place} is not {section.whose}{why}")
            elif key not in allowed:
                notes.append(f"{place} is not {section.whose}, taken for one of {plugin}")
    return KeyFindings(wrong=tuple(wrong), notes=tuple(notes))


def _providers(settings: Mapping[str, Any]) -> list[str]:
    """The providers that Kafka asks for values while it starts (KIP-421)."""
    return [name.strip() for name in str(settings.get("config.providers", "")).split(",")]


def _value_problems(
    section: Section, key: str, value: Any, providers: Collection[str]
) -> Iterable[str]:
    """What is wrong with a known key's value."""
    text, documented = kafka_text(value), section.known.get(key)
    if is_provided(text, providers):
        return
    if why := documented and wrong_value(text, documented):
        yield f" = {text}: {why}"
    elif template := template_in(text, providers):
        yield f" = {text}: {template} is a template's: write the value that it stands for"
    for name in classes_in(key, text, is_known=is_class(key, documented)):
        if section.lacking(name):
            yield f": the class {name} is in none of the jars, and no broker would start: remove it"


def _refusal(
    section: Section, key: str, sections: tuple[Section, ...], *, passes: bool, in_file: bool
) -> str | None:
    """Why an unknown key is refused; None if it passes."""
    if right := slip(key, {known for known in section.known if not known.endswith(".")}):
        return f": did you mean {'' if in_file else f'{section.name}.'}{right}?"
    if passes:
        return None
    others = [other.name for other in sections if key in other.known]
    if others:
        return f": move it to {others[0]}"
    end = known_end(key, section.known)
    for role in ROLES:
        theirs = known_end(key, keys_of(role))
        if theirs and not end:
            where = f"the file of --{role}-config" if in_file else f"workload.{role}"
            ends = "" if theirs == key else f"ends in {theirs}, "
            return f" but {ends}a {role}'s: move it to {where}, or remove it"
    if key in LEFT_OUT:
        return " but a client's: remove it"
    hint = f" (did you mean {end!r}?)" if end else did_you_mean(key, section.known)
    return f"{hint}: remove it, or name it in cluster.allow_keys"


def _settings(scenario: Scenario) -> dict[str, Mapping[str, Any]]:
    return {
        "cluster.server": scenario.cluster.server,
        "cluster.broker": scenario.cluster.broker,
        "cluster.controller": scenario.cluster.controller,
        "cluster.zoo": scenario.cluster.zoo,
        "topic.config": scenario.topic.config,
    }


def _sections(scenario: Scenario, release: Release) -> tuple[Section, ...]:
    """The sections without keys of the other mode, which have a note of their own."""
    known, mode = release.known, mode_of(scenario.cluster)
    assert known is not None
    of_brokers = (f"a broker's key of Kafka {known.kafka}", known.server)
    of = {
        "cluster.server": of_brokers,
        "cluster.broker": of_brokers,
        "cluster.controller": (f"a controller's key of Kafka {known.kafka}", known.server),
        "cluster.zoo": (f"a key of ZooKeeper {known.zookeeper}", known.zoo),
        "topic.config": (f"a topic's key of Kafka {known.kafka}", known.topic),
    }
    return tuple(
        Section(
            name=name,
            whose=of[name][0],
            settings={k: v for k, v in settings.items() if without_effect(k, mode) is None},
            known=of[name][1],
            lacking=release.lacks,
        )
        for name, settings in _settings(scenario).items()
    )
