"""One Kubernetes for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.distribution import kafka_home
from harness.host.java import find_java
from tests.support.labs.kubernetes_lab import Kubernetes, kubernetes, missing
from tests.support.needs import lacks


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """Where the tests' runs go."""
    if why := missing():
        lacks("kubernetes", why)
    home, java = kafka_home.find_kafka(), find_java()
    roles: dict[str, kafka_home.Role] = {"zk": "zookeeper", "kafka": "kafka"}
    archives = {name: kafka_home.class_archive(home, java, role) for name, role in roles.items()}
    folder: Path = tmp_path_factory.mktemp("overlay")
    with kubernetes(folder, home.libs, archives) as given:
        yield given
