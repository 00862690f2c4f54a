"""Checks a number and a text of an imported line.

A text is of Unicode: no file can hold half of a pair of surrogates.
"""

from __future__ import annotations

from harness.model.runs.imported_history import shown


class LineError(Exception):
    """What is wrong with a line: the end of a sentence that begins with its file and number."""


def whole(value: object, name: str, most: int, least: int = 0) -> int:
    """The value, if it is a whole number within its bounds. Raises LineError."""
    if type(value) is not int or value < least:
        raise LineError(f"its {name} is {shown(value)}, expected is a whole number from {least} on")
    if value > most:
        raise LineError(f"its {name} is {shown(value)}, expected is at most {most}")
    return value


def text(value: object, name: str) -> str:
    """The value, if it is a text. Raises LineError."""
    if not isinstance(value, str):
        raise LineError(f"its {name} is {shown(value)}, expected is a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise LineError(f"its {name} {shown(value)} is no text of Unicode") from None
    return value
