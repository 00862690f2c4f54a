"""A configuration file, read for what it is.

    my.properties                  keys as Kafka has them
    application.properties, .yml   Spring Boot's spring.kafka.*                for clients
    docker-compose.yml             a service's KAFKA_X, KAFKA_CFG_X            for brokers, clients
    kafka.env                      the same variables, a line each             for brokers, clients
    strimzi.yaml                   spec.kafka.config of a Kafka                for brokers
    topic.yaml                     spec of a KafkaTopic                        for the topic

Where a file has several of them (services, profiles, resources) that differ in more than ids and
addresses, `FILE:NAME` says which. One note tells what was taken from where.
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
    """What a file says of these clients, brokers or of the topic. `in_vain`: keys in which two of
    them may differ, and be one all the same; `known`: what no key of an application's own ends in.
    Raises ConfigFileError for a file that is of another kind, or has several of them."""
    path, name = _parted(given)
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
    settings, notes = last_of_each(path, (each for part in parts for each in part))
    return FileSettings(path=path, settings=tuple(settings), notes=tuple(notes))


def _parted(given: Path) -> tuple[Path, str]:
    """FILE and NAME."""
    head, colon, name = str(given).rpartition(":")
    if colon and not given.exists() and Path(head).is_file():
        return Path(head), name
    return given, ""


def _trees(path: Path, text: str) -> list[Tree] | None:
    """The documents of a YAML file; None for one that neither its name nor what it says makes
    one. Raises ConfigFileError."""
    if path.suffix.lower() in _YAML:
        return read_yaml(path, text)
    if path.suffix.lower() in _NOT_YAML:
        return None
    try:
        trees = read_yaml(path, text)
    except ConfigFileError:
        return None
    nested = (each for tree in trees if isinstance(tree, dict) for each in tree.values())
    return trees if any(isinstance(each, dict | list) for each in nested) else None


def _in_yaml(path: Path, trees: list[Tree], whose: Whose) -> list[Candidate]:
    if compose.is_compose(trees) and whose != "topic":
        services = compose.services(path, trees)
        return [_of_variables(path, each, whose) for each in services]
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
    kind, place, found = kinds[whose]
    return [
        Candidate(name=name, where=f"{place} of the {kind} {name}", settings=settings)
        for name, settings in found(path, trees)
    ]


def _of_variables(path: Path, service: compose.Service, whose: Whose) -> Candidate:
    name, variables, wrong = service.name, service.variables, service.wrong
    where = f"environment of the service {name}" if name else "its variables"
    wrong = (*wrong, *environment.elsewhere(variables))
    if whose in CLIENTS and any(v.key.startswith("SPRING_") for v in variables):
        settings = spring.of_variables(variables)
        notes = (*environment.profiles_in(path, variables), *_untold(path, settings))
        return replace(_of_spring(name, where, settings, whose), wrong=wrong, notes=notes)
    settings, others = environment.kafkas(variables)
    unread = tuple(f"{each} (of the image)" for each in environment.of_image(others))
    if whose == "server" and any(
        each.key == "process.roles" and each.value == "controller" for each in settings
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
    found, unread = spring.profiles(once)
    notes = [
        f"{path}, line {each.line}: {each.key}={each.value}: what holds on that condition is not "
        "read: only a profile's name, !name and lists of these are understood"
        for each in unread
    ]
    return [
        replace(
            _of_spring(
                name,
                f"{spring.BEGIN}*" + ("" if len(found) == 1 else f" of the profile {name}"),
                all_,
                whose,
            ),
            notes=(*repeated, *notes, *_untold(path, all_)),
            first=spring.names_active(once),
        )
        for name, all_ in found.items()
    ]


def _untold(path: Path, settings: list[Setting]) -> list[str]:
    """A note on each setting that makes Spring read other files."""
    return [
        f"{path}, line {each.line}: {each.name or each.key}={each.value}: "
        f"{environment.NO_OTHER_FILE}"
        for each in settings
        if spring.reads_more(each)
    ]


def _of_spring(name: str, where: str, settings: list[Setting], whose: Whose) -> Candidate:
    own, others = spring.clients(settings, whose)
    begin = f"{spring.BEGIN}{whose}."
    unread = [each for each in others if each.key.lower().startswith(spring.BEGIN)]
    unknown = [e for e in unread if e.key.lower().startswith(begin) or not spring.is_own(e.key)]
    other = ("producer.", "consumer.")
    rest = [
        each.key
        for each in unread
        if each not in unknown and not each.key.removeprefix(spring.BEGIN).startswith(other)
    ]
    return Candidate(
        name=name,
        where=where,
        settings=own,
        unread=tuple(f"{key} (Spring's own)" for key in rest),
        unknown=tuple(unknown),
        strays=tuple(each for each in others if each not in unread),
        spring=True,
    )
