"""Fetches the Kafka of a run when it is first needed: its jars, and what lets nodes start faster.

The scenario names the release. A user's own build, and Kafka in containers, need no fetching.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rich.console import Console

from harness.cluster.backends import BACKENDS
from harness.cluster.local.backend import storage_of
from harness.distribution import class_archives, kafka_home
from harness.distribution.kafka_home import KafkaHome
from harness.distribution.known_keys import known_keys
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.model.scenario import ScenarioError
from harness.model.sections.cluster import ClusterPart
from harness.model.sections.kafka_releases import (
    DEFAULT,
    Metadata,
    cannot_be,
    unpinned,
)
from harness.run.progress import Screen
from harness.scenario import file
from harness.scenario.prepare import Request


def fetch_kafka(request: Request, console: Console) -> None:
    """Fetch the release of a run, unless it is here or this host does not start it. Does not
    validate the request. Raises KafkaHomeError."""
    backend = BACKENDS.get(request.backend)
    if backend is None or not backend.enclosed or request.kafka_home is not None:
        return
    with suppress(ScenarioError):
        wanted = file.open_scenario(request.scenario, request.settings).shape().cluster
        release = wanted.release
        if release == DEFAULT or (unpinned(release) and not request.unpinned):
            return
        if cannot_be(release, wanted.kept_by, wanted.voters) is None:
            kafka_home.fetch(release, Screen(console).say)


def make_ready(home: KafkaHome, wanted: ClusterPart, say: Callable[[str], None]) -> None:
    """Make class archives and a formatted disk for a Kafka without them. Raises HostError; without
    archives nodes start more slowly."""
    java = find_java()
    storage_of(home, java, wanted)
    class_archives.ensure(home, java, say, metadata=wanted.kept_by)


def have(release: str, metadata: Metadata, say: Callable[[str], None]) -> None:
    """Fetch and make all that runs of a release need. Raises KafkaHomeError."""
    home = kafka_home.fetch(release, say)
    try:
        class_archives.ensure(home, find_java(), say, metadata=metadata)
        known_keys(home, find_java)  # the first scenario need not wait for the answer
    except HostError as error:
        say(str(error))
