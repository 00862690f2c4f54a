"""Checks a key's value by what a release's jars document: its type and its valid values.

    int       [1,...]                             num.io.threads
    boolean                                       unclean.leader.election.enable
    string    [uncompressed, zstd, lz4, …]        compression.type
    int       [1,...,9] or -1                     compression.gzip.level

It does not check any other text ("non-empty string", a sentence). Source: Kafka's ConfigDef
(`parseType`, `Range`, `ValidString`, `ValidList`), as toHtml prints it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BITS = {"short": 16, "int": 32, "long": 64}
_RANGE = re.compile(r"\[([^,\]]*),\.\.\.(?:,([^,\]]*))?\](?: or (-?\d+))?")
_LIST = re.compile(r"(\(case insensitive\) )?\[([^\]]*)\]")
_LONGEST = 200  # letters of a list of values
_VERSION = re.compile(r"-IV\d+$")


class Documented(NamedTuple):
    """The documentation of one key's values."""

    type: str  # boolean, string, int, short, long, double, list, class, password
    valid: str = ""  # as the page has it

    @property
    def words(self) -> str:
        """`int in [1,...]`."""
        limits = _RANGE.fullmatch(self.valid) or _LIST.fullmatch(self.valid)
        valid = self.valid
        if len(valid) > _LONGEST:  # all versions that there were
            first, *_, last = valid.split(", ")
            valid = f"{first}, …, {last}"
        return f"{self.type} in {valid}" if limits else self.type


def is_class(key: str, of: Documented | None) -> bool:
    """Whether Kafka loads a class of each name in the value."""
    return of is not None and (of.type == "class" or key.endswith((".class.name", "reporters")))


def wrong_value(value: object, of: Documented) -> str | None:
    """Why a value cannot be that key's; None if it can."""
    text = str(value).strip()
    if of.type == "boolean":
        good = text.lower() in ("true", "false")
    elif of.type in _BITS:
        good = _is_whole(text, _BITS[of.type]) and _in_range(int(text), of.valid)
    elif of.type == "double":
        good = _is_number(text) and _in_range(float(text), of.valid)
    elif of.type == "list":
        good = all(_is_listed(part.strip(), of.valid) for part in text.split(",") if part.strip())
    else:
        good = of.type != "string" or _is_listed(text, of.valid)
    return None if good else f"not a value of type {of.words}"


def _is_whole(text: str, bits: int) -> bool:
    most = 2 ** (bits - 1)
    return re.fullmatch(r"[+-]?\d{1,20}", text) is not None and -most <= int(text) < most


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)  # not NaN
    except ValueError:
        return False


def _in_range(number: float, valid: str) -> bool:
    limits = _RANGE.fullmatch(valid)
    if limits is None:
        return True
    least, most, beside = limits.groups()
    if beside is not None and number == float(beside):
        return True
    above = not least or number >= float(least)
    return above and (not most or number <= float(most))


def _is_listed(text: str, valid: str) -> bool:
    listed = _LIST.fullmatch(valid)
    if listed is None or _RANGE.fullmatch(valid) or ":" in valid:
        return True
    words = {word.strip() for word in listed[2].split(",")}
    words |= {_VERSION.sub("", word) for word in words}  # 3.9 stands for 3.9-IV0
    if listed[1]:
        return text.lower() in {word.lower() for word in words}
    return text in words
