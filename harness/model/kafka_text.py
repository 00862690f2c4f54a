"""A setting's value as Kafka's own files and requests have it."""

from __future__ import annotations


def kafka_text(value: object) -> str:
    """The value as text: booleans are lower case there."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same_text(one: object, other: object) -> bool:
    """Whether two values are the same to Kafka, which has TRUE for true."""
    return kafka_text(one).lower() == kafka_text(other).lower()
