"""Chooses which service, profile or resource of a file is meant, and writes the notes on it.

Those that are equal but for ids and addresses count as one; otherwise `FILE:NAME` says which.
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
# Keys in which two nodes of one cluster, or two instances of one service, differ.
_OF_ONE = ("broker.rack", "client.id", "client.rack", "process.roles")
# Keys that every broker has.
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
    """One service, profile or resource of a file that has settings."""

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
    """Which candidate of a file is meant."""

    path: Path
    name: str
    whose: Whose
    in_vain: Collection[str]
    known: Collection[str]

    def of(self, in_file: list[Candidate]) -> FileSettings:
        """The settings of that candidate. Raises ConfigFileError."""
        path, whose = self.path, word_of(self.whose)
        candidates = [c for c in in_file if c.settings] or [
            c for c in in_file if c.wrong or c.unknown
        ]
        if not candidates and in_file and in_file[0].spring:
            candidates = in_file[:1]  # of the other kind of client alone
        names = [c.name for c in candidates]
        if self.name:
            candidates = [c for c in candidates if c.name == self.name]
        elif self.whose == "server":  # a tool beside the brokers has KAFKA_ names as well
            elsewhere = [c for c in in_file if c.wrong]
            candidates = [c for c in candidates if _is_broker(c)] or elsewhere or candidates
        elif self.whose in CLIENTS:  # an application beside its brokers
            candidates = [c for c in candidates if not _is_broker(c)] or candidates
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
        if len({self._but_for_ids(c) for c in candidates}) > 1:
            self._refuse_several([c.name for c in candidates])
        return self._file_settings(candidates[0])

    def _file_settings(self, chosen: Candidate) -> FileSettings:
        path = self.path
        meant = [s for s in chosen.unknown if self._means(s.key)]
        unread = (
            *chosen.unread,
            *(f"{s.key} (the application's)" for s in chosen.unknown if s not in meant),
        )
        note = f"{path}: {_count(len({s.key for s in chosen.settings}))} from {chosen.where}"
        if unread:
            note += f"; not read: {', '.join(unread)}"
        settings, repeated = last_of_each(path, chosen.settings, _NEARER)
        used = (s for s in settings if not is_known(s.key, self.in_vain))
        assumed = {text: s.line for s in used for text in s.assumed}
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
        """The right name for a key below spring.kafka. that is not Spring's; None: it is the
        application's own."""
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
        several = ", ".join(f"{path}:{name}" for name in names)
        raise ConfigFileError(
            f"{path} has several {whose}s, with settings that differ: give one of {several}"
        )

    def _but_for_ids(self, candidate: Candidate) -> frozenset[tuple[str, str]]:
        """What two candidates must have in common to count as one."""
        return frozenset({("", str(bool(candidate.wrong)))}) | frozenset(
            (setting.key, setting.value)
            for setting in {setting.key: setting for setting in candidate.settings}.values()
            if not is_known(setting.key, _OF_ONE) and not is_known(setting.key, self.in_vain)
        )


def _is_broker(candidate: Candidate) -> bool:
    return any(is_known(setting.key, _OF_A_BROKER) for setting in candidate.settings)


def _count(number: int) -> str:
    return f"{number} key{'' if number == 1 else 's'}"


def word_of(whose: Whose) -> str:
    """The word for these settings' owner in a sentence."""
    return "broker" if whose == "server" else whose
