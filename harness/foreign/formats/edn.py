"""The EDN in which Jepsen writes a history: enough of it to read an operation, and no more.

    {:index 1, :type :ok, :process 0, :f :send, :value [[:send 2 [13 7]]]}
    =>  {"index": 1, "type": "ok", "process": 0, "f": "send", "value": [["send", 2, [13, 7]]]}

    [{:index 0, …}
     {:index 1, …}]    =>  with `elements`, one map after the other, with its line

Maps, vectors, lists, sets, keywords, symbols, texts, numbers, nil and booleans. A keyword or symbol
becomes a Name, which is a str and no text: `:a` and "a" are two values. A tag
(`#jepsen.history.Op`) is passed over. The tests use edn_format; it builds its parser anew at each
call, which is too slow for millions of lines.

A map with a key twice is refused, and so is one with two keys that are one to Python: 1, 1.0 and
true, `:a` and "a".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

DEEPEST: Final = 50
LONGEST_NUMBER: Final = 30
_TOKEN: Final = re.compile(
    r'[\s,]*(?:;[^\n]*)?[\s,]*("(?:[^"\\]|\\.)*"|#\{|#[A-Za-z][\w.*+!?/-]*|[\[\](){}]|[^\s,"\[\](){};]+)'
)
_NUMBER: Final = re.compile(r"[+-]?\d+N?", re.ASCII)
_FLOAT: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?M?", re.ASCII)
_CLOSES: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_WORDS: Final = {"nil": None, "true": True, "false": False}


class EdnError(ValueError):
    """A text is no EDN, or uses a part of EDN that is not read here."""

    line = 1  # of the text


class Name(str):
    """A keyword's name, or a symbol."""

    __slots__ = ()


def loads(text: str) -> Any:
    """The one value in a text. Raises EdnError."""
    tokens = _tokens(text)
    value = _value(next(tokens, None), tokens, 0)
    if next(tokens, None) is not None:
        raise EdnError("more than one value")
    return value


def elements(text: str) -> Iterator[tuple[int, Any]]:
    """The values in the one vector or list of a text, each with the line on which it ends. Raises
    EdnError."""
    read = [0]  # the place up to which tokens were read
    tokens = _tokens(text, read)
    line, counted = 1, 0
    try:
        closes = _CLOSES[next(tokens)]
        while (token := next(tokens, None)) != closes:
            value = _value(token, tokens, 1)
            line, counted = line + text.count("\n", counted, read[0]), read[0]
            yield line, value
        if next(tokens, None) is not None:
            raise EdnError("more than one value")
    except EdnError as error:
        error.line = line + text.count("\n", counted, read[0])
        raise


def _tokens(text: str, read: list[int] | None = None) -> Iterator[str]:
    """The tokens of a text; `read[0]` becomes the place behind the last one."""
    at, end = 0, len(text.rstrip(" \t\r\n,"))
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None:
            raise EdnError("not EDN")
        at = token.end()
        if read is not None:
            read[0] = at
        yield token[1]


def _value(token: str | None, tokens: Iterator[str], depth: int) -> Any:
    if token is None or depth > DEEPEST:
        raise EdnError("cut short" if token is None else "too deep")
    if token in _CLOSES:
        return _collection(token, tokens, depth)
    if token.startswith(":"):
        return Name(token[1:])
    if token.startswith('"'):
        return _text(token)
    if token.startswith("#"):
        if not token[1:2].isalpha():  # #_ and ##, which no history of Jepsen's has
            raise EdnError(f"{token[:20]}, which is not read here")
        return _value(next(tokens, None), tokens, depth + 1)
    return _word(token)


def _word(token: str) -> Any:
    if token in ("]", ")", "}"):
        raise EdnError("a bracket that nothing opens")
    if _NUMBER.fullmatch(token) and len(token) < LONGEST_NUMBER:
        return int(token.rstrip("N"))
    if _FLOAT.fullmatch(token):
        return float(token.rstrip("M"))
    return _WORDS[token] if token in _WORDS else Name(token)


def _collection(opened: str, tokens: Iterator[str], depth: int) -> Any:
    items = []
    while (token := next(tokens, None)) != _CLOSES[opened]:
        items.append(_value(token, tokens, depth + 1))
    if opened != "{":
        return items
    if len(items) % 2:
        raise EdnError("a map with a key without value")
    try:
        pairs = dict(zip(items[::2], items[1::2], strict=True))
    except TypeError:
        raise EdnError("a map whose keys are no plain values") from None
    if len(pairs) * 2 < len(items):
        raise EdnError("a map with a key twice")
    return pairs


def _text(token: str) -> str:
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        raise EdnError("a text with an escape that is none") from None
