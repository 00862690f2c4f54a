"""What a number and a text of somebody else's history may be, in whichever form it is told.

    an offset    a whole number from 0 to 2^48 - 1: partition and offset are one number of 64 bits
    a time       a whole number of nanoseconds from 0 to 2^62, which is in the year 2116
    a text       of Unicode: no half of a pair of surrogates, which no file can hold

What is out of bounds is Wrong: the end of a sentence that begins with a file and a line.
"""

from __future__ import annotations

from typing import Final

MOST_PARTITIONS: Final = 1000
LAST_OFFSET: Final = 2**48 - 1
LAST_NS: Final = 2**62
_SHOWN: Final = 60  # characters


class Wrong(Exception):
    """Why a line is none of ours."""


def whole(value: object, name: str, most: int, least: int = 0) -> int:
    """The number, if it is one within its bounds. Raises Wrong."""
    if type(value) is not int or value < least:
        raise Wrong(f"its {name} is {shown(value)}, expected is a whole number from {least} on")
    if value > most:
        raise Wrong(f"its {name} is {shown(value)}, expected is at most {most}")
    return value


def text(value: object, name: str) -> str:
    """The text, if it is one. Raises Wrong."""
    if not isinstance(value, str):
        raise Wrong(f"its {name} is {shown(value)}, expected is a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Wrong(f"its {name} {shown(value)} is no text of Unicode") from None
    return value


def shown(value: object) -> str:
    """A value as a sentence has it: its beginning, whatever it is."""
    try:
        words = repr(value)
    except RecursionError:  # what was read at some depth is written some steps deeper
        words = type(value).__name__
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 3]}…"
