"""Which of those that a file has settings of is meant, and what is said of it.

Services, profiles and resources that are equal but for ids and addresses are one; of others
`FILE:NAME` says which.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.config_files import spring
from harness.config_files.settings import (
    ConfigFileError,
    FileSettings,
    Setting,
    Whose,
    last_of_each,
)
from harness.model.spelling import did_you_mean, is_known, known_end, most_of

CLIENTS: Final = ("producer", "consumer")
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
READABLE = (
    "a .properties file, Spring's application.yml, a Compose file, an env file with KAFKA_ names, "
    "or a resource of Strimzi"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which of those that a file has settings of is meant."""

    path: Path
    name: str
    whose: Whose
    in_vain: Collection[str]
    known: Collection[str]

    def of(self, found: list[Candidate]) -> FileSettings:
        """The settings of that one. Raises ConfigFileError."""
        path, whose = self.path, word_of(self.whose)
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
        elif self.whose in CLIENTS:  # an application beside its brokers
            candidates = [each for each in candidates if not _is_broker(each)] or candidates
        if not names:
            raise ConfigFileError(f"{path} has no settings of a {whose}: give {READABLE} that has")
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

    def _told(self, chosen: Candidate) -> FileSettings:
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
        whose, path = word_of(self.whose), self.path
        if len(set(names)) < len(names):
            raise ConfigFileError(
                f"{path} has several {whose}s that are called {names[0]}, with settings that "
                "differ: leave one of them"
            )
        several = ", ".join(f"{path}:{each}" for each in names)
        raise ConfigFileError(
            f"{path} has several {whose}s, with settings that differ: give one of {several}"
        )

    def _but_for_ids(self, candidate: Candidate) -> frozenset[tuple[str, str]]:
        """What two of them must have alike to be one."""
        return frozenset({("", str(bool(candidate.wrong)))}) | frozenset(
            (each.key, each.value)
            for each in {each.key: each for each in candidate.settings}.values()
            if not is_known(each.key, _OF_ONE) and not is_known(each.key, self.in_vain)
        )


def _is_broker(candidate: Candidate) -> bool:
    return any(is_known(each.key, _OF_A_BROKER) for each in candidate.settings)


def _count(number: int) -> str:
    return f"{number} key{'' if number == 1 else 's'}"


def word_of(whose: Whose) -> str:
    """Whose settings those are, as a sentence has it."""
    return "broker" if whose == "server" else whose
