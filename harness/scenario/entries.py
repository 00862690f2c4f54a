"""Names an entry of a list of tables in a sentence for the user.

    faults, 0         first [[faults]] (kill leader)
    mixed.faults, 11  12th [[mixed.faults]] (pause any)

`--set` counts from 0, as in faults.0.at_s; people do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
# What names an entry: a fault by its verb and its target, a campaign's cell by its name.
_NAMED_BY = (("verb", "target"), ("name",), ("scenario",))


def entry_name(section: str, number: int, entry: Any) -> str:
    """The entry of that number, from 0; `entry` is its table, or the model of it."""
    fields = entry if isinstance(entry, Mapping) else getattr(entry, "__dict__", {})
    for keys in _NAMED_BY:
        words = [str(fields[key]) for key in keys if fields.get(key)]
        if words:
            return f"{ordinal(number)} [[{section}]] ({' '.join(words)})"
    return f"{ordinal(number)} [[{section}]]"


def ordinal(number: int) -> str:
    """`first` for 0."""
    if number < len(_WORDS):
        return _WORDS[number]
    count = number + 1
    teen = count % 100 in (11, 12, 13)
    return f"{count}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(count % 10, 'th')}"
