"""The image of the nodes: which Kafka it can be of."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.nodes import ClusterError
from harness.distribution.kafka_home import KafkaHome
from harness.setup import kafka_image


def test_a_kafka_without_zookeeper_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    home = KafkaHome(libs=tmp_path, version="4.4.0", archives=tmp_path)

    with pytest.raises(ClusterError, match=r"Kafka 4\.4\.0 has no ZooKeeper.*--kafka 3\.9"):
        kafka_image.make(home, print)
