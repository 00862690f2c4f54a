"""Writes a setting's value as Kafka's own files and requests do."""

from __future__ import annotations


def kafka_text(value: object) -> str:
    """The value as text, booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same_text(one: object, other: object) -> bool:
    """Whether two values are the same to Kafka, which takes TRUE for true."""
    return kafka_text(one).lower() == kafka_text(other).lower()
