"""A user's own .properties files, read with line numbers, and server.properties checked.

The format is Java's, by the library `javaproperties`; a key that is set twice is refused, where
Java would silently take the later one: an experiment should not depend on that.

A broker ignores a key that it does not know, with a warning in its log. Here a key that looks like
a misspelling is refused, and Kafka itself says which keys there are, out of its jars.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import javaproperties

SLIP = 0.85  # difflib's likeness above which an unknown key is taken for a misspelled one


class PropertiesError(Exception):
    """A file of the user's cannot be used; one sentence with file, line or key, and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of a file."""

    key: str
    value: str
    line: int  # where it begins, from 1


def read(path: Path) -> list[Setting]:
    """The settings of a .properties file (UTF-8) in their order. Raises PropertiesError."""
    settings: dict[str, Setting] = {}
    line = 1
    try:
        with path.open(encoding="utf-8") as file:
            for element in javaproperties.parse(file):
                if isinstance(element, javaproperties.KeyValue):
                    setting = Setting(key=element.key, value=element.value.strip(), line=line)
                    if first := settings.setdefault(setting.key, setting):
                        _refuse_second(path, first, setting)
                line += element.source.count("\n")
    except OSError as error:
        raise PropertiesError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PropertiesError(f"{path} is not a text file in UTF-8: save it as one") from None
    except javaproperties.InvalidUEscapeError as error:
        raise PropertiesError(
            f"{path}, line {line}: {error.escape} is not a \\uXXXX escape: double the backslash"
        ) from None
    return list(settings.values())


def nearest(key: str, known: Collection[str], likeness: float = 0.6) -> str | None:
    """The known key most like `key`, None if none is."""
    return next(iter(difflib.get_close_matches(key, sorted(known), n=1, cutoff=likeness)), None)


def _refuse_second(path: Path, first: Setting, second: Setting) -> None:
    if first is not second:
        raise PropertiesError(
            f"{path}, line {second.line}: {second.key} is set in line {first.line} already: "
            "remove one of the two"
        )
