"""What an image's name tells of the Kafka in it."""

from __future__ import annotations

import pytest

from harness.model.sections.image_names import is_ours, line_in


@pytest.mark.parametrize(
    ("image", "line"),
    [
        ("confluentinc/cp-kafka:4.1.4", "1.1"),
        ("confluentinc/cp-kafka:5.4.12", "2.4"),
        ("confluentinc/cp-kafka:5.5.15", "2.5"),
        ("confluentinc/cp-kafka:6.0.1", "2.6"),
        ("confluentinc/cp-kafka:6.2.15", "2.8"),
        ("confluentinc/cp-kafka:7.0.0", "3.0"),
        ("confluentinc/cp-kafka:7.9.4", "3.9"),
        ("confluentinc/cp-kafka:8.1.0", "4.1"),
        ("confluentinc/cp-kafka:3.3.1", None),
        ("registry.example.org:5000/cp-server:7.5.0", "3.5"),
        ("kafka-harness/kafka:3.9.2", "3.9"),
        ("apache/kafka:3.9.0@sha256:0123", "3.9"),
        ("apache/kafka:v3.10", "3.10"),
        ("apache/kafka:latest", None),
        ("apache/kafka", None),
        ("registry.example.org:5000/kafka", None),
    ],
)
def test_an_image_tells_its_kafka_by_its_tag(image: str, line: str | None) -> None:
    assert line == line_in(image)


@pytest.mark.parametrize(
    ("image", "ours"),
    [
        ("kafka-harness/kafka:4.4.0", True),
        ("registry.example.org:5000/kafka-harness/kafka:4.4.0@sha256:01", True),
        ("my-kafka-harness/kafka:4.4.0", False),
        ("apache/kafka:4.4.0", False),
    ],
)
def test_our_own_images_are_known_in_any_registry(image: str, ours: bool) -> None:
    assert ours == is_ours(image)
