"""Reads a configuration file, of whichever kind it is.

    my.properties                  Kafka's own keys
    application.properties, .yml   Spring Boot's spring.kafka.*                for clients
    docker-compose.yml             a service's KAFKA_X, KAFKA_CFG_X            for brokers, clients
    kafka.env                      the same variables, a line each             for brokers, clients
    strimzi.yaml                   spec.kafka.config of a Kafka                for brokers
    topic.yaml                     spec of a KafkaTopic                        for the topic

If a file has several services, profiles or resources that differ in more than ids and addresses,
`FILE:NAME` says which. A note says what was read from where.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

from harness.config_files import compose, environment, spring, strimzi
from harness.config_files.candidates import CLIENTS, READABLE, Candidate, Choice, word_of
from harness.config_files.properties_file import documents, text_of
from harness.config_files.settings import (
    ConfigFileError,
    FileSettings,
    Setting,
    Whose,
    last_of_each,
)
from harness.config_files.yaml_file import Tree, read_yaml

_YAML, _NOT_YAML = (".yml", ".yaml", ".json"), (".properties", ".env")


def read_config_file(
    given: Path, whose: Whose, in_vain: Collection[str] = (), known: Collection[str] = ()
) -> FileSettings:
    """The settings of a file for these clients, for brokers or for the topic. `in_vain`: keys
    without effect, in which two candidates may differ; `known`: an application's own keys end in
    none of these. Raises ConfigFileError for a file of another kind, or with several candidates."""
    path, name = _path_and_name(given)
    text = text_of(path)  # once: it may be a pipe
    choice = Choice(path=path, name=name, whose=whose, in_vain=in_vain, known=known)
    if (trees := _trees(path, text)) is not None:
        return choice.of(_in_yaml(path, trees, whose))
    if (variables := environment.variables_of(path, text)) is not None:
        alone = compose.Service(name="", variables=variables)
        return choice.of([_of_variables(path, alone, whose)])
    parts = documents(path, text)
    if whose in CLIENTS and any(map(spring.is_spring, parts)):
        return choice.of(_of_profiles(path, parts, whose))
    if name:
        raise ConfigFileError(f"{path} is a .properties file, and has nothing called {name}")
    settings, notes = last_of_each(path, (s for part in parts for s in part))
    return FileSettings(path=path, settings=tuple(settings), notes=tuple(notes))


def _path_and_name(given: Path) -> tuple[Path, str]:
    """FILE and NAME of `FILE:NAME`."""
    head, colon, name = str(given).rpartition(":")
    if colon and not given.exists() and Path(head).is_file():
        return Path(head), name
    return given, ""


def _trees(path: Path, text: str) -> list[Tree] | None:
    """The documents of a YAML file; None if neither its name nor its content is YAML. Raises
    ConfigFileError."""
    if path.suffix.lower() in _YAML:
        return read_yaml(path, text)
    if path.suffix.lower() in _NOT_YAML:
        return None
    try:
        trees = read_yaml(path, text)
    except ConfigFileError:
        return None
    nested = (value for tree in trees if isinstance(tree, dict) for value in tree.values())
    return trees if any(isinstance(value, dict | list) for value in nested) else None


def _in_yaml(path: Path, trees: list[Tree], whose: Whose) -> list[Candidate]:
    if compose.is_compose(trees) and whose != "topic":
        services = compose.services(path, trees)
        return [_of_variables(path, service, whose) for service in services]
    if strimzi.resources(trees):
        return _of_strimzi(path, trees, whose)
    parts = [spring.flat(tree) for tree in trees]
    if whose in CLIENTS and any(map(spring.is_spring, parts)):
        return _of_profiles(path, parts, whose)
    raise ConfigFileError(
        f"{path} says nothing of a {word_of(whose)} in a form that is known: give {READABLE}"
    )


def _of_strimzi(path: Path, trees: list[Tree], whose: Whose) -> list[Candidate]:
    kinds: dict[str, tuple[str, str, Callable[..., Iterator[tuple[str, list[Setting]]]]]] = {
        "server": (strimzi.KAFKA, "spec.kafka.config", strimzi.brokers),
        "topic": (strimzi.TOPIC, "spec", strimzi.topics),
    }
    if whose not in kinds:
        raise ConfigFileError(
            f"{path}: a resource of Strimzi has no {whose}'s settings: give the {whose}'s own file"
        )
    kind, place, read = kinds[whose]
    return [
        Candidate(name=name, where=f"{place} of the {kind} {name}", settings=settings)
        for name, settings in read(path, trees)
    ]


def _of_variables(path: Path, service: compose.Service, whose: Whose) -> Candidate:
    name, variables, wrong = service.name, service.variables, service.wrong
    where = f"environment of the service {name}" if name else "its variables"
    wrong = (*wrong, *environment.unread_sentences(variables))
    if whose in CLIENTS and any(v.key.startswith("SPRING_") for v in variables):
        settings = spring.of_variables(variables)
        notes = (*environment.profile_notes(path, variables), *_other_file_notes(path, settings))
        return replace(_of_spring(name, where, settings, whose), wrong=wrong, notes=notes)
    settings, others = environment.kafka_settings(variables)
    unread = tuple(f"{key} (of the image)" for key in environment.image_keys(others))
    if whose == "server" and any(
        s.key == "process.roles" and s.value == "controller" for s in settings
    ):
        settings, wrong = [], ()  # a controller is no broker
    return Candidate(
        name=name,
        where=where,
        settings=settings,
        unread=unread,
        wrong=wrong,
        strays=tuple(others),
    )


def _of_profiles(path: Path, parts: list[list[Setting]], whose: Whose) -> list[Candidate]:
    once, repeated = list[list[Setting]](), list[str]()
    for part in parts:
        settings, notes = last_of_each(path, part)
        once.append(settings)
        repeated += notes
    by_profile, unread = spring.profiles(once)
    notes = [
        f"{path}, line {s.line}: {s.key}={s.value}: what holds on that condition is not "
        "read: only a profile's name, !name and lists of these are understood"
        for s in unread
    ]
    return [
        replace(
            _of_spring(
                name,
                f"{spring.BEGIN}*" + ("" if len(by_profile) == 1 else f" of the profile {name}"),
                all_,
                whose,
            ),
            notes=(*repeated, *notes, *_other_file_notes(path, all_)),
            first=spring.names_active(once),
        )
        for name, all_ in by_profile.items()
    ]


def _other_file_notes(path: Path, settings: list[Setting]) -> list[str]:
    """A note on each setting that makes Spring read other files."""
    return [
        f"{path}, line {s.line}: {s.name or s.key}={s.value}: {environment.NO_OTHER_FILE}"
        for s in settings
        if spring.reads_more(s)
    ]


def _of_spring(name: str, where: str, settings: list[Setting], whose: Whose) -> Candidate:
    own, others = spring.clients(settings, whose)
    begin = f"{spring.BEGIN}{whose}."
    unread = [s for s in others if s.key.lower().startswith(spring.BEGIN)]
    unknown = [s for s in unread if s.key.lower().startswith(begin) or not spring.is_own(s.key)]
    other = ("producer.", "consumer.")
    rest = [
        s.key
        for s in unread
        if s not in unknown and not s.key.removeprefix(spring.BEGIN).startswith(other)
    ]
    return Candidate(
        name=name,
        where=where,
        settings=own,
        unread=tuple(f"{key} (Spring's own)" for key in rest),
        unknown=tuple(unknown),
        strays=tuple(s for s in others if s not in unread),
        spring=True,
    )
