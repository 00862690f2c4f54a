"""A record's value on the wire: the decimal digits of its number, padded with spaces, no key.

Anybody can read it with a console consumer; int() alone parses it.
"""

from __future__ import annotations

LARGEST = 2**63 - 1


def of(value: int, width: int) -> bytes:
    """The payload of `value`, at least `width` bytes long."""
    return (b"%d" % value).ljust(width)


def parse(payload: bytes | str | None) -> int | None:
    """The value in a payload; None when no producer of ours has written it."""
    try:
        value = int(payload)  # type: ignore[arg-type]  # None and nonsense end below
    except (TypeError, ValueError):
        return None
    return value if 0 <= value <= LARGEST else None
