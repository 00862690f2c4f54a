"""The settings of a user's configuration file, each with its line.

    Setting(key="min.insync.replicas", value="2", line=17, name="KAFKA_MIN_INSYNC_REPLICAS")

Also what all kinds of files share: errors that name file, line and remedy, all of a file at once;
notes on keys without effect; classes that are not Kafka's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.model import spelling

# Whose settings a file has: --producer-config, --consumer-config, --server-properties,
# --topic-config.
Whose = Literal["producer", "consumer", "server", "topic"]

_NAMES_A_CLASS = re.compile(
    r"(class(es|Name|\.name)?|reporters|serializer|[Ff]actory|strategy|assignors?)$|^authProvider\."
)
_CLASS = re.compile(r"\w+(\.\w+)*\.[A-Z][\w$]*")
_APACHES = ("org.apache.kafka.", "kafka.", "org.apache.zookeeper.")


class ConfigFileError(Exception):
    """A file of the user's cannot be used; each sentence names file, line or key, and remedy."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(listed(sentences))
        self.sentences = sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of a file."""

    key: str  # as Kafka calls it
    value: str
    line: int  # where it begins, from 1
    name: str = ""  # what the file calls it, where that is another name
    problem: str = ""  # why its value cannot be known, with the remedy: matters where it is used
    assumed: tuple[str, ...] = ()  # "${X:1} is 1": what the file itself does not know

    @property
    def label(self) -> str:
        """The key in a sentence: `KAFKA_ACKS (acks)`."""
        return f"{self.name} ({self.key})" if self.name else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """The settings that a file has for one kind of reader; each key once."""

    path: Path
    settings: tuple[Setting, ...]
    notes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()  # a sentence for each line that cannot be used
    spring: bool = False  # of a Spring application, whose client is Java's
    strays: tuple[Setting, ...] = ()  # what else the file sets, which is not read

    def place(self, setting: Setting) -> str:
        """`FILE, line N`."""
        return f"{self.path}, line {setting.line}"

    def where(self, setting: Setting) -> str:
        """`FILE, line N: KEY`."""
        return f"{self.place(setting)}: {setting.label}"


def last_of_each(
    path: Path, settings: Iterable[Setting], why: str = "the last line of a repeated key counts"
) -> tuple[list[Setting], list[str]]:
    """The last setting of each key, and a note on each earlier one. `why` the last one counts: as
    Java reads a .properties file."""
    last: dict[str, Setting] = {}
    notes = []
    for setting in settings:
        if first := last.pop(setting.key, None):
            notes.append(
                f"{path}, line {setting.line}: {setting.label} replaces that of line {first.line}: "
                f"{why}"
            )
        last[setting.key] = setting
    return list(last.values()), notes


def listed(sentences: Iterable[str]) -> str:
    """One sentence as it is, several as one message with a line each."""
    lines = list(sentences)
    if len(lines) == 1:
        return lines[0]
    return "\n".join([f"{len(lines)} errors:", *(f"  {line}" for line in lines)])


def reason_for(key: str, reasons: Mapping[str, str]) -> str | None:
    """The reason for a key's treatment; a final dot in `reasons` stands for all keys that begin
    so."""
    return next((why for begin, why in reasons.items() if spelling.is_known(key, (begin,))), None)


def foreign_class(settings: Mapping[str, Any]) -> str | None:
    """A configured class that is not Kafka's or ZooKeeper's own, and may have its own keys; None if
    there is none."""
    named = (name for key, value in settings.items() for name in classes_in(key, value))
    return next((name for name in named if not name.startswith(_APACHES)), None)


def classes_in(key: str, value: object, *, is_known: bool = False) -> list[str]:
    """The classes that a setting names. `is_known`: Kafka takes any value of this key for a
    class."""
    if not (is_known or _NAMES_A_CLASS.search(key)):
        return []
    names = [name for part in str(value).split(",") if (name := part.strip())]
    return names if is_known else [name for name in names if _CLASS.fullmatch(name)]


def left_out_note(path: Path, left_out: Mapping[str, str]) -> list[str]:
    """One note that names every key of a file without effect, by reason; never a value."""
    by_reason: dict[str, list[str]] = {}
    for key, reason in left_out.items():
        by_reason.setdefault(reason, []).append(key)
    parts = [f"{', '.join(keys)} ({reason})" for reason, keys in by_reason.items()]
    return [f"{path}: left out: {'; '.join(parts)}"] if parts else []
