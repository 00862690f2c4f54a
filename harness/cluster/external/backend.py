"""A Kafka that is somebody's: reached by its bootstrap servers, never started and never ended.

    [backend.external]
    bootstrap = ["kafka-a.example.org:9092", "kafka-b.example.org:9092"]
    client = "client.properties"         # TLS and SASL: harness.cluster.client_security

The brokers are those that its metadata names, kafka<broker.id>; the workers live on the harness's
host and address each. Two things are made there and removed at the end: the run's topic, under a
name that nobody has, and its consumer group if it has one. Nothing else is touched.

Faults are the user's own commands only (verb `command`), and need `--allow` with the first
bootstrap server. `heal` carries out the heal commands of a killed harness (harness.commands.run),
and with --down removes the topic and the group that it left.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from harness.clients.properties import PropertiesError
from harness.cluster import client_security
from harness.cluster.admin import Admin
from harness.cluster.capabilities import Cluster
from harness.cluster.exec.host_processes import Here
from harness.cluster.nodes import ClusterError, Node
from harness.cluster.ownership import Orphan

# What the harness's own brokers are configured with, and a topic among others must be by itself.
KEEPS_ALL = {"cleanup.policy": "delete", "retention.ms": -1, "retention.bytes": -1}


@dataclass(kw_only=True)
class ExternalCluster(Cluster):
    """A cluster that is there: Cluster, Secured, Foreign."""

    nodes: tuple[Node, ...]
    client_settings: Mapping[str, str] = field(repr=False)
    client_address: str = ""
    topic_config: Mapping[str, Any] = field(default_factory=lambda: dict(KEEPS_ALL))
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._here = Here()

    def start(self) -> None:
        """It runs."""

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker on this host."""
        return self._here.spawn(argv, log=log)

    def close(self) -> None:
        """Let it be."""
        self._here.close()


def settings_of(file: str) -> dict[str, str]:
    """The client settings in that file, read anew each time; none without one. Raises
    ClusterError."""
    if not file:
        return {}
    try:
        return client_security.read(Path(file).expanduser(), os.environ)
    except PropertiesError as error:
        raise ClusterError(str(error)) from None


def brokers_of(
    scenario: Mapping[str, Any], bootstrap: Sequence[str], settings: Mapping[str, str]
) -> tuple[Node, ...]:
    """The cluster's brokers. Raises ClusterError when they cannot be told, or are too few."""
    from harness.cluster.view.discovery import discovered  # noqa: PLC0415  see harness.cluster.link

    nodes = discovered(bootstrap, settings)
    wanted = scenario["cluster"]["brokers"]
    if len(nodes) < wanted:
        raise ClusterError(
            f"the cluster has {len(nodes)} brokers ({', '.join(node.name for node in nodes)}), and "
            f"the scenario's cluster.brokers is {wanted}: set it to what is there"
        )
    known = {node.name for node in nodes}
    for target in (fault["target"] for fault in faults_of(scenario)):
        if re.fullmatch(r"kafka\d+", target) and target not in known:
            raise ClusterError(f"there is no {target}, only {', '.join(sorted(known))}")
    return nodes


def refuses(scenario: Mapping[str, Any]) -> str | None:
    """Why a scenario cannot be run there, before anything starts."""
    problems = there_already(scenario, scenario["backend"]["external"], "backend.external")
    return next(chain(problems, _problems(scenario)), None)


def there_already(
    scenario: Mapping[str, Any], part: Mapping[str, Any], where: str
) -> Iterator[str]:
    """Why a scenario cannot be run on a cluster that is somebody's, which `part` tells of."""
    try:
        settings_of(part["client"])
    except ClusterError as problem:
        yield str(problem)
    if not part["bootstrap"]:
        yield f'{where}.bootstrap: name at least one broker, as in ["host:9092"]'
    for endpoint in part["bootstrap"]:
        if not re.fullmatch(r".+:\d{1,5}", endpoint):
            yield f"{where}.bootstrap: {endpoint!r} is not host:port"
    for section in ("server", "zoo"):
        if settings := scenario["cluster"][section]:
            key = next(iter(settings))
            yield (
                f"cluster.{section}.{key}: the cluster is there, and its settings are not the "
                "harness's: remove the key"
            )
    if scenario["workload"]["read_via"] == "follower":
        yield 'workload.read_via = "follower" needs brokers that the harness has configured'


def _problems(scenario: Mapping[str, Any]) -> Iterator[str]:
    for fault in faults_of(scenario):
        if fault["verb"] != "command":
            yield (
                f"{fault['verb']} cannot be done to a cluster that is not the harness's own: "
                'only verb = "command" can, with commands of yours'
            )
        if fault["target"].startswith("zk"):
            yield f"{fault['target']}: only brokers are known there"


def faults_of(scenario: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Every entry that may become a fault."""
    return (*scenario["faults"], *(scenario["mixed"] or {"faults": ()})["faults"])


def name_of(scenario: Mapping[str, Any]) -> str:
    """What --allow must say: the first bootstrap server."""
    return str(scenario["backend"]["external"]["bootstrap"][0])


def heal(orphan: Orphan) -> list[str]:
    """Tell what the run has left there; with `down`, remove it."""
    if not orphan.record:
        raise ClusterError("a cluster that is not ours has no labels: give the run instead")
    return heal_topic(orphan, orphan.record["scenario"]["backend"]["external"])


def heal_topic(orphan: Orphan, part: Mapping[str, Any]) -> list[str]:
    """What heal does about the run's topic and group in the cluster that `part` tells of."""
    topic = orphan.cluster.get("topic")
    if topic is None:
        return ["nothing to heal: the run had made nothing"]
    if not orphan.down:
        return [f"topic {topic} stays if the run could not remove it: heal with --down does"]
    from harness.cluster.view.discovery import discovered  # noqa: PLC0415

    settings = settings_of(part["client"])
    return Admin(discovered(part["bootstrap"], settings), settings).remove(
        topic, orphan.cluster.get("group")
    )
