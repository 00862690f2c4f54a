"""One Kubernetes for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.distribution import kafka_home
from harness.host.java import find_java
from tests.support.labs.kubernetes_lab import Kubernetes, kubernetes, missing
from tests.support.needs import lacks

# What the nodes of each StatefulSet are started for, by the folder of k8s.
ROLES: dict[str, dict[str, kafka_home.Role]] = {
    "base": {"zk": "zookeeper", "kafka": "kafka"},
    "kraft": {"controller": "kraft-controller", "kafka": "kraft-broker"},
}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """Where the tests' runs go."""
    if why := missing():
        lacks("kubernetes", why)
    home, java = kafka_home.find_kafka(), find_java()
    archives = {
        base: {name: kafka_home.class_archive(home, java, role) for name, role in roles.items()}
        for base, roles in ROLES.items()
    }
    with kubernetes(tmp_path_factory.mktemp("overlays"), home.libs, archives) as given:
        yield given
