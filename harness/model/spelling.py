"""Finds the known word that a misspelled one is most like.

A slip is an unknown word within two edits of a known one: a letter too many, missing or wrong, or
two neighbours swapped (Damerau and Levenshtein's distance, its "optimal string alignment").

    num.partitons    1 edit from num.partitions     =>  a slip
    my.plugin.key    far from every known key       =>  none
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

SLIP_EDITS = 2
_SHORT = 8  # letters: such words are like others by chance


def edits(word: str, other: str) -> int:
    """The number of edits between two words."""
    above: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word):
        twice_above, above, row = above, row, [i + 1]
        for j, theirs in enumerate(other):
            fewest = min(above[j] + (letter != theirs), above[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and word[i - 1] == theirs:
                fewest = min(fewest, twice_above[j - 1] + 1)
            row.append(fewest)
    return row[-1]


def slip(word: str, known: Collection[str]) -> str | None:
    """The known word of which an unknown one is a slip; None if there is none."""
    if word in known:
        return None
    near = [k for k in known if abs(len(k) - len(word)) <= SLIP_EDITS]
    fewest = min((edits(word, k) for k in near), default=SLIP_EDITS + 1)
    if fewest > SLIP_EDITS:
        return None
    alike = [k for k in near if edits(word, k) == fewest]
    return nearest(word, alike) or alike[0]


def is_known(key: str, known: Collection[str]) -> bool:
    """Whether `known` has the key, or its beginning with a final dot."""
    return key in known or any(key.startswith(k) for k in known if k.endswith("."))


def names(sentence: str, key: str) -> bool:
    """Whether a sentence has a key as a whole, not as a part of a longer one."""
    return re.search(rf"(?<![\w.]){re.escape(key)}(?![\w.]*\w)", sentence) is not None


def known_end(key: str, known: Collection[str]) -> str | None:
    """The known key that an unknown one is, or ends in, ignoring case and the ends of words, or a
    slip of one; None if there is none.

        spring.kafka.producer.acks  =>  acks        KAFKA_LINGER_MS, lingerMs  =>  linger.ms
    """
    plain = {_dotted(k): k for k in sorted(known) if not k.endswith(".")}
    joined = {_joined(k): k for k in plain.values()}
    parts = _dotted(key).split(".")
    ends = [".".join(parts[at:]) for at in range(len(parts))]
    for end in ends:
        if match := joined.get(_joined(end)):
            return match
    for end in ends:
        alike = [k for k in plain if k.count(".") == end.count(".")]
        slipped = slip(end, alike)
        # Short words are like others by chance.
        if slipped and edits(end, slipped) <= (SLIP_EDITS if "." in end else 1):
            return plain[slipped]
    match = slip(_joined(key), joined) if len(_joined(key)) > _SHORT else None
    return match and joined[match]


def most_of(key: str, known: Collection[str]) -> str | None:
    """The known key of which an unknown one is most: successive words of it, at least half of it or
    three of them. None if there is none.

        session-timeout  =>  session.timeout.ms        isolation  =>  isolation.level
    """
    words = _dotted(key)
    return next(
        (
            k
            for k in sorted(known, key=len)
            if f".{words}." in f".{k}."
            and words != k
            and (2 * len(words) >= len(k) or words.count(".") > 1)
        ),
        None,
    )


def _dotted(key: str) -> str:
    return key.lower().replace("_", ".").replace("-", ".")


def _joined(key: str) -> str:
    return _dotted(key).replace(".", "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that shares most letters with an unknown one."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str], before: str = "") -> str:
    """` (did you mean 'x'?)` if a known word is like `word`, else nothing. `before`: text in front
    of it."""
    close = nearest(word, known)
    return f" (did you mean {before + close!r}?)" if close else ""
