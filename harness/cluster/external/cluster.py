"""A Kafka that is not ours: reached by its bootstrap servers, never started and never ended.

The brokers are those that its metadata names, kafka<broker.id>; the workers live on the harness's
host and address each. Two things are made there and removed at the end: the run's topic, under a
name that nobody has, and its consumer group if it has one. Nothing else is touched.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cluster import client_security
from harness.cluster.admin.admin import Admin
from harness.cluster.capabilities import Cluster
from harness.cluster.exec.host_processes import HostProcesses
from harness.cluster.nodes import ClusterError, Node, role_by_name
from harness.cluster.ownership import Orphan, check_own, check_reached
from harness.config_files.settings import ConfigFileError
from harness.model.scenario import AttachPart, ExternalPart, FaultPart, Scenario

# Settings of the harness's own brokers, which the topic on another cluster needs itself.
KEEPS_ALL = {"cleanup.policy": "delete", "retention.ms": -1, "retention.bytes": -1}


@dataclass(kw_only=True)
class ExternalCluster(Cluster):
    """A cluster that is not ours: Secured and Foreign, without capabilities on its nodes."""

    nodes: tuple[Node, ...]
    client_settings: Mapping[str, str] = field(repr=False)
    client_address: str = ""
    topic_config: Mapping[str, Any] = field(default_factory=lambda: dict(KEEPS_ALL))
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._host = HostProcesses()

    def start(self) -> None:
        """Nothing: it runs."""

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        """Start a worker on this host."""
        return self._host.spawn(argv, log=log)

    def close(self) -> None:
        """Nothing: it runs on."""
        self._host.close()


def settings_of(file: str) -> dict[str, str]:
    """The client settings in that file, read anew each time; none without one. Raises
    ClusterError."""
    if not file:
        return {}
    try:
        return client_security.read(Path(file).expanduser(), os.environ)
    except ConfigFileError as error:
        raise ClusterError(str(error)) from None


def brokers_of(
    scenario: Scenario, bootstrap: Sequence[str], settings: Mapping[str, str]
) -> tuple[Node, ...]:
    """The cluster's brokers. Raises ClusterError when they cannot be told, or are too few."""
    # Imported late: harness.cluster.view.connection says why.
    from harness.cluster.view.discovery import discovered  # noqa: PLC0415

    nodes, wanted = discovered(bootstrap, settings), scenario.cluster.brokers
    if len(nodes) < wanted:
        raise ClusterError(
            f"the cluster has {len(nodes)} brokers ({', '.join(node.name for node in nodes)}), and "
            f"the scenario's cluster.brokers is {wanted}: set cluster.brokers to {len(nodes)}"
        )
    names = {node.name for node in nodes}
    for fault in faults_of(scenario):
        if role_by_name(fault.target) == "broker" and fault.target not in names:
            raise ClusterError(
                f"there is no node {fault.target}; the cluster has {', '.join(sorted(names))}"
            )
    return nodes


def faults_of(scenario: Scenario) -> tuple[FaultPart, ...]:
    """Every entry that may become a fault."""
    return (*scenario.faults, *(scenario.mixed.faults if scenario.mixed else ()))


def heal_topic(orphan: Orphan, part: ExternalPart | AttachPart) -> list[str]:
    """What heal does about the run's topic and group in the cluster that `part` tells of."""
    topic = orphan.cluster.topic
    if topic is None:
        return ["nothing to heal: the run ended before it changed the cluster"]
    if not orphan.down:
        return [f"topic {topic} may still exist: heal --down removes it"]
    run_id, group = orphan.run_id or "", orphan.cluster.group
    remedy = "remove it with Kafka's own tools if it is to go"
    own = orphan.record and is_topic_of(run_id, orphan.record.scenario.topic.name, topic)
    check_own(f"topic {topic}", own=bool(own), remedy=remedy)
    outputs, part_of = orphan.cluster.outputs, orphan.record and orphan.record.scenario.outputs
    if outputs:
        ours = part_of and is_topic_of(run_id, part_of.topic, outputs)
        check_own(f"topic {outputs}", own=bool(ours), remedy=remedy)
    check_own(f"group {group}", own=group in (None, f"{run_id}/group"), remedy=remedy)
    check_reached([*part.bootstrap, *([part.client] if part.client else [])], orphan.allowed)
    from harness.cluster.view.discovery import discovered  # noqa: PLC0415

    settings = settings_of(part.client)
    admin = Admin(discovered(part.bootstrap, settings), settings)
    removed = admin.topics.remove(topic, group)
    return removed + (admin.topics.remove(outputs, None) if outputs else [])


def is_topic_of(run_id: str, wanted: str, topic: str) -> bool:
    """Whether a topic was named after this run, whose scenario has it as `wanted`."""
    name = re.escape(f"{wanted}-{run_id.rpartition('/')[2]}")
    return re.fullmatch(f"{name}-[0-9a-f]{{4}}", topic) is not None
