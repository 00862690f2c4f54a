"""One Kubernetes for all tests here; without one they are skipped, or fail where it is required."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.distribution import kafka_home
from harness.host import system_packages
from harness.host.java import find_java
from tests.support.labs.kubernetes_lab import Kubernetes, kubernetes, missing


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """Where the tests' runs go."""
    if why := missing():
        if system_packages.required("kubernetes"):
            pytest.fail(f"kubernetes is required: {why}")
        pytest.skip(why)
    home, java = kafka_home.find_kafka(), find_java()
    roles: dict[str, kafka_home.Role] = {"zk": "zookeeper", "kafka": "kafka"}
    archives = {name: kafka_home.class_archive(home, java, role) for name, role in roles.items()}
    folder: Path = tmp_path_factory.mktemp("overlay")
    with kubernetes(folder, home.libs, archives) as given:
        yield given
