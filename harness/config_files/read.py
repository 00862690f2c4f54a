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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.config_files import compose, environment, spring, strimzi
from harness.config_files.properties_file import documents, text_of
from harness.config_files.settings import (
    ConfigFileError,
    FileSettings,
    Setting,
    Whose,
    last_of_each,
)
from harness.config_files.yaml_file import Tree, read_yaml
from harness.model.spelling import did_you_mean, is_known

_YAML = (".yml", ".yaml")
# What two nodes of one cluster differ in, or two instances of one service.
_OF_ONE = (
    *("advertised.", "bootstrap.servers", "broker.id", "broker.rack", "client.id", "client.rack"),
    *("host.name", "listeners", "log.dir", "log.dirs", "metadata.log.dir", "node.id", "port"),
    "zookeeper.connect",
)
# What every broker has.
_OF_A_BROKER = (
    "advertised.",
    "broker.id",
    "listeners",
    "node.id",
    "process.roles",
    "zookeeper.connect",
)
_READABLE = (
    "a .properties file, Spring's application.yml, a Compose file, an env file with KAFKA_ names, "
    "or a resource of Strimzi"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """One of those that a file has settings of."""

    name: str
    where: str  # "environment of the service kafka1"
    settings: list[Setting]
    unread: tuple[str, ...] = ()  # keys beside them, each with the reason in brackets
    wrong: tuple[str, ...] = ()
    strays: tuple[Setting, ...] = ()
    spring: bool = False


def read_config_file(given: Path, whose: Whose) -> FileSettings:
    """What a file says of these clients, brokers or of the topic. Raises ConfigFileError for one
    that is of another kind, or has several of them."""
    path, name = _parted(given)
    text = text_of(path)  # once: it may be a pipe
    if path.suffix in _YAML:
        return _chosen(path, name, whose, _in_yaml(path, text, whose))
    if environment.is_env_file(text):
        variables = environment.read_env_file(path, text)
        return _chosen(path, name, whose, [_of_variables("", "its variables", variables, whose)])
    parts = documents(path, text)
    if whose in ("producer", "consumer") and any(map(spring.is_spring, parts)):
        return _chosen(path, name, whose, _of_profiles(parts, whose))
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


def _in_yaml(path: Path, text: str, whose: Whose) -> list[_Candidate]:
    trees = read_yaml(path, text)
    if compose.is_compose(trees) and whose != "topic":
        return [
            _of_variables(name, f"environment of the service {name}", variables, whose)
            for name, variables in compose.environments(path, trees)
        ]
    if strimzi.resources(trees):
        return _of_strimzi(path, trees, whose)
    parts = [spring.flat(tree) for tree in trees]
    if whose in ("producer", "consumer") and any(map(spring.is_spring, parts)):
        return _of_profiles(parts, whose)
    raise ConfigFileError(
        f"{path} says nothing of a {_word(whose)} in a form that is known: give {_READABLE}"
    )


def _of_strimzi(path: Path, trees: list[Tree], whose: Whose) -> list[_Candidate]:
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
        _Candidate(name=name, where=f"{place} of the {kind} {name}", settings=settings)
        for name, settings in found(path, trees)
    ]


def _of_variables(name: str, where: str, variables: list[Setting], whose: Whose) -> _Candidate:
    if whose in ("producer", "consumer") and any(v.key.startswith("SPRING_") for v in variables):
        return _of_spring(name, where, spring.of_variables(variables), whose)
    settings, others = environment.kafkas(variables)
    unread = tuple(f"{each} (of the image)" for each in environment.of_image(others))
    if whose == "server" and any(
        each.key == "process.roles" and each.value == "controller" for each in settings
    ):
        settings = []  # a controller is no broker
    return _Candidate(
        name=name, where=where, settings=settings, unread=unread, strays=tuple(others)
    )


def _of_profiles(parts: list[list[Setting]], whose: Whose) -> list[_Candidate]:
    found = spring.profiles(parts)
    return [
        _of_spring(
            name,
            f"{spring.BEGIN}*" + ("" if len(found) == 1 else f" of the profile {name}"),
            all_,
            whose,
        )
        for name, all_ in found.items()
    ]


def _of_spring(name: str, where: str, settings: list[Setting], whose: Whose) -> _Candidate:
    own, others = spring.clients(settings, whose)
    begin = f"{spring.BEGIN}{whose}."
    wrong = [each for each in others if each.key.lower().startswith(begin)]
    unread = [each for each in others if each.key.lower().startswith(spring.BEGIN)]
    other = ("producer.", "consumer.")
    rest = [e.key for e in unread if not e.key.removeprefix(spring.BEGIN).startswith(other)]
    return _Candidate(
        name=name,
        where=where,
        settings=own,
        unread=tuple(f"{key} (Spring's own)" for key in rest),
        wrong=tuple(
            f"line {each.line}: {each.key} is not a key of Spring's: "
            + (
                f"did you mean {right}?"
                if (right := spring.own_name(each.key, whose))
                else f"write {begin}properties.{each.key[len(begin) :].replace('-', '.')}, or "
                "remove it"
            )
            for each in wrong
        ),
        strays=tuple(each for each in others if each not in unread),
        spring=True,
    )


def _chosen(path: Path, name: str, whose: Whose, found: Iterable[_Candidate]) -> FileSettings:
    """The settings of the one that is meant. Raises ConfigFileError."""
    candidates = [each for each in found if each.settings or each.wrong]
    if whose == "server":  # a tool beside the brokers has KAFKA_ names as well
        candidates = [each for each in candidates if _is_broker(each)] or candidates
    if not candidates:
        raise ConfigFileError(
            f"{path} has no settings of a {_word(whose)}: give {_READABLE} that has"
        )
    names = [each.name for each in candidates]
    if name:
        candidates = [each for each in candidates if each.name == name]
        if not candidates:
            raise ConfigFileError(
                f"{path} has nothing called {name}{did_you_mean(name, names)}: there is "
                f"{', '.join(names)}"
            )
    if len({_but_for_ids(each) for each in candidates}) > 1:
        several = ", ".join(f"{path}:{each}" for each in names)
        raise ConfigFileError(
            f"{path} has several {_word(whose)}s, with settings that differ: give one of {several}"
        )
    return _told(path, candidates[0])


def _is_broker(candidate: _Candidate) -> bool:
    return any(is_known(each.key, _OF_A_BROKER) for each in candidate.settings)


def _told(path: Path, chosen: _Candidate) -> FileSettings:
    note = f"{path}: {_count(len(chosen.settings))} from {chosen.where}"
    if chosen.unread:
        note += f"; not read: {', '.join(chosen.unread)}"
    settings, repeated = last_of_each(path, chosen.settings)
    return FileSettings(
        path=path,
        settings=tuple(settings),
        notes=(note, *repeated),
        wrong=tuple(f"{path}, {sentence}" for sentence in chosen.wrong),
        strays=chosen.strays,
        spring=chosen.spring,
    )


def _count(number: int) -> str:
    return f"{number} key{'' if number == 1 else 's'}"


def _but_for_ids(candidate: _Candidate) -> frozenset[tuple[str, str]]:
    """What two of them must have alike to be one."""
    return frozenset(
        (each.key, each.value) for each in candidate.settings if not is_known(each.key, _OF_ONE)
    )


def _word(whose: Whose) -> str:
    return "broker" if whose == "server" else whose
