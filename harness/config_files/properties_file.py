"""Reads Java's .properties files with the library `javaproperties`: UTF-8, with or without a byte
order mark, or Latin-1, as java.util.Properties does.

Spring's may hold several documents, separated by `#---` or `!---`: `documents`. Source:
java.util.Properties.load; Spring Boot, "Working With Multi-Document Files".
"""

from __future__ import annotations

from pathlib import Path

import javaproperties

from harness.config_files.settings import ConfigFileError, Setting

_BLANKS = "".join(map(chr, range(33)))  # what Kafka takes off a value (String.trim)
_PARTS = ("#---", "!---")


def read_properties(path: Path) -> list[Setting]:
    """The settings of a file in their order, repeated ones too. Raises ConfigFileError."""
    return [setting for document in documents(path, text_of(path)) for setting in document]


def documents(path: Path, text: str) -> list[list[Setting]]:
    """The settings of the file's text for each of Spring's documents; one where nothing separates
    them. Raises ConfigFileError."""
    parts: list[list[Setting]] = [[]]
    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                setting = Setting(key=element.key, value=element.value.strip(_BLANKS), line=line)
                parts[-1].append(setting)
            elif element.source.strip() in _PARTS:
                parts.append([])
            line += element.source.count("\n")
    except javaproperties.InvalidUEscapeError as error:
        raise ConfigFileError(
            f"{path}, line {line}: {error.escape} is not a \\uXXXX escape: double the backslash"
        ) from None
    return parts


def text_of(path: Path) -> str:
    """The text of a file. Raises ConfigFileError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigFileError(f"{path} cannot be read: {error.strerror}") from None
    if b"\0" in data:
        raise ConfigFileError(f"{path} is not a text file in UTF-8: save it as one")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
