"""What a configuration file of the user's says: its settings, each with its line.

    Setting(key="min.insync.replicas", value="2", line=17, name="KAFKA_MIN_INSYNC_REPLICAS")

Also what is done alike with all of them: errors that name file, line and remedy, all of a file's at
once; notes on keys that have no effect; classes that are not Kafka's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.model import spelling

# Of whom a file is asked: the options --producer-config, --consumer-config, --server-properties and
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
    def told(self) -> str:
        """The key as a sentence has it: `KAFKA_ACKS (acks)`."""
        return f"{self.name} ({self.key})" if self.name else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """What a file says of whom it was asked of; each key once."""

    path: Path
    settings: tuple[Setting, ...]
    notes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()  # a sentence for each line that cannot be used
    spring: bool = False  # of a Spring application, whose client is Java's
    strays: tuple[Setting, ...] = ()  # what else the file sets, which is not read

    def place(self, setting: Setting) -> str:
        """`FILE, line N`."""
        return f"{self.path}, line {setting.line}"

    def found(self, setting: Setting) -> str:
        """`FILE, line N: KEY`."""
        return f"{self.place(setting)}: {setting.told}"


def last_of_each(
    path: Path, settings: Iterable[Setting], why: str = "the last line of a repeated key counts"
) -> tuple[list[Setting], list[str]]:
    """Each key as the last setting has it, and a note on each that is there before. `why` the last
    one counts: as Java reads a .properties file."""
    last: dict[str, Setting] = {}
    notes = []
    for setting in settings:
        if first := last.pop(setting.key, None):
            notes.append(
                f"{path}, line {setting.line}: {setting.told} replaces that of line {first.line}: "
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
    """Why a key is treated otherwise; one in `reasons` that ends in a dot stands for all keys that
    begin so."""
    return next((why for each, why in reasons.items() if spelling.is_known(key, (each,))), None)


def foreign_class(settings: Mapping[str, Any]) -> str | None:
    """A class in these settings that is not Kafka's or ZooKeeper's own, and may have its own keys;
    None if there is none."""
    named = (name for key, value in settings.items() for name in classes_in(key, value))
    return next((name for name in named if not name.startswith(_APACHES)), None)


def classes_in(key: str, value: object, *, is_known: bool = False) -> list[str]:
    """The classes that a setting names. `is_known`: Kafka looks for whatever stands there."""
    if not (is_known or _NAMES_A_CLASS.search(key)):
        return []
    names = [name for part in str(value).split(",") if (name := part.strip())]
    return names if is_known else [name for name in names if _CLASS.fullmatch(name)]


def left_out_note(path: Path, left_out: Mapping[str, str]) -> list[str]:
    """One note that names every key that a file has in vain, by reason; never a value."""
    by_reason: dict[str, list[str]] = {}
    for key, reason in left_out.items():
        by_reason.setdefault(reason, []).append(key)
    told = [f"{', '.join(keys)} ({reason})" for reason, keys in by_reason.items()]
    return [f"{path}: left out: {'; '.join(told)}"] if told else []
