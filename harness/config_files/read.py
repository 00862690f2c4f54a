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
from dataclasses import dataclass, replace
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
from harness.model.spelling import did_you_mean, is_known, known_end, most_of

_YAML, _NOT_YAML = (".yml", ".yaml", ".json"), (".properties", ".env")
_CLIENTS = ("producer", "consumer")
_NEARER = "what is nearer to the client wins, then what stands later"
# What two nodes of one cluster differ in, or two instances of one service, beside what nobody uses.
_OF_ONE = ("broker.rack", "client.id", "client.rack", "process.roles")
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
    unknown: tuple[Setting, ...] = ()  # below spring.kafka., and not Spring's
    strays: tuple[Setting, ...] = ()
    notes: tuple[str, ...] = ()
    spring: bool = False
    first: bool = False  # the first of the file's is meant, unless one is named


def read_config_file(
    given: Path, whose: Whose, in_vain: Collection[str] = (), known: Collection[str] = ()
) -> FileSettings:
    """What a file says of these clients, brokers or of the topic. `in_vain`: keys in which two of
    them may differ, and be one all the same; `known`: what no key of an application's own ends in.
    Raises ConfigFileError for a file that is of another kind, or has several of them."""
    path, name = _parted(given)
    text = text_of(path)  # once: it may be a pipe
    choice = _Choice(path=path, name=name, whose=whose, in_vain=in_vain, known=known)
    if (trees := _trees(path, text)) is not None:
        return choice.of(_in_yaml(path, trees, whose))
    if (variables := environment.variables_of(path, text)) is not None:
        alone = compose.Service(name="", variables=variables)
        return choice.of([_of_variables(path, alone, whose)])
    parts = documents(path, text)
    if whose in _CLIENTS and any(map(spring.is_spring, parts)):
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


def _in_yaml(path: Path, trees: list[Tree], whose: Whose) -> list[_Candidate]:
    if compose.is_compose(trees) and whose != "topic":
        services = compose.services(path, trees)
        return [_of_variables(path, each, whose) for each in services]
    if strimzi.resources(trees):
        return _of_strimzi(path, trees, whose)
    parts = [spring.flat(tree) for tree in trees]
    if whose in _CLIENTS and any(map(spring.is_spring, parts)):
        return _of_profiles(path, parts, whose)
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


def _of_variables(path: Path, service: compose.Service, whose: Whose) -> _Candidate:
    name, variables, wrong = service.name, service.variables, service.wrong
    where = f"environment of the service {name}" if name else "its variables"
    wrong = (*wrong, *environment.elsewhere(variables))
    if whose in _CLIENTS and any(v.key.startswith("SPRING_") for v in variables):
        settings = spring.of_variables(variables)
        notes = (*environment.profiles_in(path, variables), *_untold(path, settings))
        return replace(_of_spring(name, where, settings, whose), wrong=wrong, notes=notes)
    settings, others = environment.kafkas(variables)
    unread = tuple(f"{each} (of the image)" for each in environment.of_image(others))
    if whose == "server" and any(
        each.key == "process.roles" and each.value == "controller" for each in settings
    ):
        settings, wrong = [], ()  # a controller is no broker
    return _Candidate(
        name=name,
        where=where,
        settings=settings,
        unread=unread,
        wrong=wrong,
        strays=tuple(others),
    )


def _of_profiles(path: Path, parts: list[list[Setting]], whose: Whose) -> list[_Candidate]:
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
        f"{path}, line {each.line}: {each.name or each.key}={each.value}: no other file is read: "
        "write what it brings into this one"
        for each in settings
        if spring.reads_more(each)
    ]


def _of_spring(name: str, where: str, settings: list[Setting], whose: Whose) -> _Candidate:
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
    return _Candidate(
        name=name,
        where=where,
        settings=own,
        unread=tuple(f"{key} (Spring's own)" for key in rest),
        unknown=tuple(unknown),
        strays=tuple(each for each in others if each not in unread),
        spring=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """Which of those that a file has settings of is meant."""

    path: Path
    name: str
    whose: Whose
    in_vain: Collection[str]
    known: Collection[str]

    def of(self, found: list[_Candidate]) -> FileSettings:
        """The settings of that one. Raises ConfigFileError."""
        path, whose = self.path, _word(self.whose)
        candidates = [each for each in found if each.settings] or [
            each for each in found if each.wrong or each.unknown
        ]
        if not candidates and found and found[0].spring:
            candidates = found[:1]  # of the other kind of client alone
        names = [each.name for each in candidates]
        if self.name:
            candidates = [each for each in candidates if each.name == self.name]
        elif self.whose == "server":  # a tool beside the brokers has KAFKA_ names as well
            elsewhere = [each for each in found if each.wrong]
            candidates = [e for e in candidates if _is_broker(e)] or elsewhere or candidates
        elif self.whose in _CLIENTS:  # an application beside its brokers
            candidates = [each for each in candidates if not _is_broker(each)] or candidates
        if not names:
            raise ConfigFileError(f"{path} has no settings of a {whose}: give {_READABLE} that has")
        if not candidates:
            if not any(names):
                raise ConfigFileError(f"{path} has nothing called {self.name}: give {path} alone")
            raise ConfigFileError(
                f"{path} has nothing called {self.name}{did_you_mean(self.name, names)}: there is "
                f"{', '.join(names)}"
            )
        if not self.name and candidates[0].first:
            candidates = candidates[:1]
        if len({self._but_for_ids(each) for each in candidates}) > 1:
            self._refuse_several([each.name for each in candidates])
        return self._told(candidates[0])

    def _told(self, chosen: _Candidate) -> FileSettings:
        path = self.path
        meant = [each for each in chosen.unknown if self._means(each.key)]
        unread = (
            *chosen.unread,
            *(f"{each.key} (the application's)" for each in chosen.unknown if each not in meant),
        )
        note = f"{path}: {_count(len({each.key for each in chosen.settings}))} from {chosen.where}"
        if unread:
            note += f"; not read: {', '.join(unread)}"
        settings, repeated = last_of_each(path, chosen.settings, _NEARER)
        used = (each for each in settings if not is_known(each.key, self.in_vain))
        assumed = {text: each.line for each in used for text in each.assumed}
        taken = [
            f"{path}: {', '.join(f'{text} (line {line})' for text, line in assumed.items())}: no "
            "other file and no environment is read"
        ]
        return FileSettings(
            path=path,
            settings=tuple(settings),
            notes=(note, *chosen.notes, *repeated, *(taken if assumed else ())),
            wrong=tuple(
                f"{path}, {sentence}"
                for sentence in (*chosen.wrong, *map(self._not_springs, meant))
            ),
            strays=chosen.strays,
            spring=chosen.spring,
        )

    def _means(self, key: str) -> str | None:
        """What a key below spring.kafka. that is not Spring's is meant to be; None: it is one of
        the application's own."""
        if right := spring.own_name(key):
            return right
        begin = f"{spring.BEGIN}{self.whose}."
        own = key[len(begin) :] if key.lower().startswith(begin) else ""
        known = known_end(key, self.known) or (most_of(own, self.known) if own else None)
        return f"{begin}properties.{known}" if known else None

    def _not_springs(self, setting: Setting) -> str:
        return (
            f"line {setting.line}: {setting.key} is not a key of Spring's: did you mean "
            f"{self._means(setting.key)}?"
        )

    def _refuse_several(self, names: list[str]) -> None:
        whose, path = _word(self.whose), self.path
        if len(set(names)) < len(names):
            raise ConfigFileError(
                f"{path} has several {whose}s that are called {names[0]}, with settings that "
                "differ: leave one of them"
            )
        several = ", ".join(f"{path}:{each}" for each in names)
        raise ConfigFileError(
            f"{path} has several {whose}s, with settings that differ: give one of {several}"
        )

    def _but_for_ids(self, candidate: _Candidate) -> frozenset[tuple[str, str]]:
        """What two of them must have alike to be one."""
        return frozenset({("", str(bool(candidate.wrong)))}) | frozenset(
            (each.key, each.value)
            for each in {each.key: each for each in candidate.settings}.values()
            if not is_known(each.key, _OF_ONE) and not is_known(each.key, self.in_vain)
        )


def _is_broker(candidate: _Candidate) -> bool:
    return any(is_known(each.key, _OF_A_BROKER) for each in candidate.settings)


def _count(number: int) -> str:
    return f"{number} key{'' if number == 1 else 's'}"


def _word(whose: Whose) -> str:
    return "broker" if whose == "server" else whose
