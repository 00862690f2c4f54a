"""A user's own .properties files, read with line numbers.

The format is Java's, by the library `javaproperties`, in UTF-8 with or without a byte order mark. A
key that is set twice is refused, where Java would silently take the later one: an experiment should
not depend on that. All that is wrong with a file is told at once, a line each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import javaproperties

_NAMES_A_CLASS = re.compile(
    r"(class(es|Name|\.name)?|reporters|serializer|[Ff]actory|strategy|assignors?)$|^authProvider\."
)
_CLASS = re.compile(r"\w+(\.\w+)*\.[A-Z][\w$]*")
_APACHES = ("org.apache.kafka.", "kafka.", "org.apache.zookeeper.")


class PropertiesError(Exception):
    """A file of the user's cannot be used; each sentence names file, line or key, and remedy."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(listed(sentences))
        self.sentences = sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of a file."""

    key: str
    value: str
    line: int  # where it begins, from 1


def read(path: Path) -> list[Setting]:
    """The settings of a .properties file in their order. Raises PropertiesError."""
    settings, twice = read_all(path)
    if twice:
        raise PropertiesError(*twice)
    return settings


def read_all(path: Path) -> tuple[list[Setting], list[str]]:
    """The settings of a .properties file in their order, each once, and a sentence for each that
    is set again. Raises PropertiesError for what is no such file."""
    settings: dict[str, Setting] = {}
    twice = []
    line = 1
    try:
        with path.open(encoding="utf-8-sig") as file:
            for element in javaproperties.parse(file):
                if isinstance(element, javaproperties.KeyValue):
                    setting = Setting(key=element.key, value=element.value.strip(), line=line)
                    first = settings.setdefault(setting.key, setting)
                    twice += [] if first is setting else [_set_again(path, first, setting)]
                line += element.source.count("\n")
    except OSError as error:
        raise PropertiesError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PropertiesError(f"{path} is not a text file in UTF-8: save it as one") from None
    except javaproperties.InvalidUEscapeError as error:
        raise PropertiesError(
            f"{path}, line {line}: {error.escape} is not a \\uXXXX escape: double the backslash"
        ) from None
    return list(settings.values()), twice


def listed(sentences: Iterable[str]) -> str:
    """One sentence as it is, several as one message with a line each."""
    lines = list(sentences)
    if len(lines) == 1:
        return lines[0]
    return "\n".join([f"{len(lines)} errors:", *(f"  {line}" for line in lines)])


def reason_for(key: str, reasons: Mapping[str, str]) -> str | None:
    """Why a key is treated otherwise; one in `reasons` that ends in a dot stands for all keys that
    begin so."""
    return next(
        (
            reason
            for each, reason in reasons.items()
            if key == each or (each.endswith(".") and key.startswith(each))
        ),
        None,
    )


def foreign_class(settings: Mapping[str, Any]) -> str | None:
    """A class in these settings that is not Kafka's or ZooKeeper's own, and may have its own keys;
    None if there is none."""
    named = (
        name.strip()
        for key, value in settings.items()
        if _NAMES_A_CLASS.search(key)
        for name in str(value).split(",")
    )
    return next((n for n in named if _CLASS.fullmatch(n) and not n.startswith(_APACHES)), None)


def left_out_note(path: Path, left_out: Mapping[str, str]) -> list[str]:
    """One note that names every key that a file has in vain, by reason; never a value."""
    by_reason: dict[str, list[str]] = {}
    for key, reason in left_out.items():
        by_reason.setdefault(reason, []).append(key)
    told = [f"{', '.join(keys)} ({reason})" for reason, keys in by_reason.items()]
    return [f"{path}: left out: {'; '.join(told)}"] if told else []


def _set_again(path: Path, first: Setting, second: Setting) -> str:
    return (
        f"{path}, line {second.line}: {second.key} is set in line {first.line} already: "
        "remove one of the two"
    )
