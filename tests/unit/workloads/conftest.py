"""What the tests of workers share: a mock Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.mock_kafka import MockKafka


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> Iterator[MockKafka]:
    cluster = MockKafka(partitions=getattr(request, "param", 1))
    yield cluster
    cluster.close()
