"""Records that are texts of the user's, and outputs that programs make of them.

    record = '{"order_id": $value}', value 7    =>  b'{"order_id": 7}'
    that text, read                             =>  7, and no other text is
    id = "json:/order_id", b'{"order_id": 7}'   =>  7: an output of record 7

A text tells its value and nothing else: not when its send was due, in which transaction it was, nor
whether it is as it was sent. It is a producer's if it is, byte by byte, what one sends for that
value. Of several texts (`record_file`) the value's sequence number says which one it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Message
from pydantic_core import from_json

from harness.history.record_format import SEQUENCE_BITS
from workloads.client.payload import LARGEST
from workloads.worker import Spec

VALUE = "$value"
_DIGITS = re.compile(rb"\d{1,19}")
_NUMBER = re.compile(r"\d{1,19}")


class Texts:
    """The records, keys and headers of a workload with texts."""

    def __init__(self, spec: Spec) -> None:
        lines = Path(spec.record_file).read_text().splitlines() if spec.record_file else ()
        around = (line.partition(VALUE) for line in lines or (spec.record,))
        self._around = [(before.encode(), after.encode()) for before, _, after in around]
        self._key, self._headers = spec.key, spec.headers

    def record(self, value: int) -> bytes:
        """The text of a value."""
        before, after = self._around[(value & ((1 << SEQUENCE_BITS) - 1)) % len(self._around)]
        return b"%b%d%b" % (before, value, after)

    @property
    def key(self) -> Callable[[int], bytes] | None:
        """The key of each value; None: no record has one."""
        words = self._key
        return (lambda value: words.replace(VALUE, str(value)).encode()) if words else None

    def headers(self, value: int) -> list[tuple[str, str | bytes | None]]:
        """The headers of a value's record."""
        return [(k, text.replace(VALUE, str(value))) for k, text in self._headers.items()]

    @cached_property
    def _begins(self) -> tuple[int, ...]:
        """Where a value may begin."""
        return tuple(sorted({len(before) for before, _ in self._around}))

    def value(self, text: bytes) -> int | None:
        """The value whose text this is; None: nobody's."""
        for begin in self._begins:
            digits = _DIGITS.match(text, begin)
            if digits and (value := int(digits[0])) <= LARGEST and self.record(value) == text:
                return value
        return None


def id_of(form: str) -> Callable[[Message], int | None]:
    """What reads the id of an output: `outputs.id`; None where it has none."""
    kind, _, what = form.partition(":")
    found: Callable[[Message], Any]
    if kind == "key":
        found = lambda message: message.key()  # noqa: E731
    elif kind == "header":
        found = lambda message: dict(message.headers() or ()).get(what)  # noqa: E731
    elif kind == "json":
        names = [n.replace("~1", "/").replace("~0", "~") for n in what.split("/")[1:]]
        found = lambda message: _pointed(message.value(), names)  # noqa: E731
    else:
        pattern = re.compile(what)
        found = lambda message: _matched(pattern, message.value())  # noqa: E731
    return lambda message: number_in(found(message))


def number_in(found: Any) -> int | None:
    """The value that an id is, as a number or its text; None: none."""
    if isinstance(found, bytes):
        found = found.decode(errors="replace")
    if isinstance(found, str):
        found = int(found) if _NUMBER.fullmatch(found.strip()) else None
    is_value = type(found) is int and 0 <= found <= LARGEST
    return found if is_value else None


def _pointed(text: Any, names: Sequence[str]) -> Any:
    """What the names of a JSON pointer (RFC 6901) mean in a text; None: nothing."""
    try:
        tree = from_json(text or b"null")
        for name in names:
            tree = tree[int(name)] if isinstance(tree, list) else tree[name]
    except (ValueError, LookupError, TypeError):
        return None
    return tree


def _matched(pattern: re.Pattern[str], text: Any) -> str | None:
    match = pattern.search((text or b"").decode(errors="replace"))
    return match[1] if match else None
