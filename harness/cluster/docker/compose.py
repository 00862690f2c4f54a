"""The docker backend's compose file, and what one run adds to it.

    docker-compose.yml          ZooKeepers and brokers
    docker-compose.kraft.yml    KRaft's controllers and brokers

Settings reach stock images as variables: `broker.id` is KAFKA_BROKER_ID, `tickTime` is
ZOOKEEPER_TICK_TIME; what a ZooKeeper image has no variable for is a system property in KAFKA_OPTS.
The levels of features that a disk is formatted with are in CLUSTER_FEATURES, which images/kafka/run
reads. A run's additions are a second file, in JSON, which is YAML too.

Only `up` needs the compose command, `docker compose` (v2) or `docker-compose` (v1); everything else
goes through the Docker engine itself.
Source: docs.confluent.io, Docker configuration parameters; compose-spec, merge.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.cluster import node_settings as node_config
from harness.cluster.nodes import CONTROLLER_PORT, ClusterError, Node, Role
from harness.cluster.ownership import LABEL
from harness.host import system_packages
from harness.model.sections.kafka_releases import Metadata
from harness.release import COMPOSE_FILE, KRAFT_COMPOSE_FILE

COMMANDS = (("docker", "compose"), ("docker-compose",))
ROLE_LABEL, RUN_LABEL = f"{LABEL}.role", f"{LABEL}.run"
# Where a node listens for clients outside, by its role.
PORTS: Mapping[Role, int] = {"zookeeper": 2181, "controller": CONTROLLER_PORT, "broker": 19092}
UP_LIMIT_S = 300.0


def holder_of(node: str) -> str:
    """The service that holds a node's network and process namespaces."""
    return f"net-{node}"


def file_of(metadata: Metadata) -> Path:
    """The compose file of a cluster, by who keeps its metadata."""
    return COMPOSE_FILE if metadata == "zookeeper" else KRAFT_COMPOSE_FILE


def environment(node: Node, settings: node_config.ClusterSettings) -> dict[str, str]:
    """The variables that give a node its settings, beyond what the compose file says."""
    layers = node_config.effective(settings)
    if node.role == "zookeeper":
        return _zookeepers(layers["zoo"])
    rack = {"broker.rack": node.rack} if node.rack else {}
    own = {**rack, **layers["controller" if node.role == "controller" else "server"]}
    levels = " ".join(f"{name}={level}" for name, level in settings.features.items())
    formatted = {"CLUSTER_FEATURES": levels} if levels else {}
    return {**formatted, **{f"KAFKA_{_variable(key)}": value for key, value in own.items()}}


def _zookeepers(zoo: Mapping[str, str]) -> dict[str, str]:
    options = [f"-Dzookeeper.{key}={value}" for key, value in zoo.items() if "." in key]
    named = {f"ZOOKEEPER_{_upper(key)}": value for key, value in zoo.items() if "." not in key}
    return {**named, "KAFKA_OPTS": " ".join(options)}


def additions(
    nodes: Sequence[Node], settings: node_config.ClusterSettings, run_id: str
) -> dict[str, Any]:
    """What a run adds to the compose file: its settings, its id; health it sees for itself."""
    labels = {RUN_LABEL: run_id}
    services: dict[str, Any] = {holder_of(node.name): {"labels": labels} for node in nodes}
    for node in nodes:
        services[node.name] = {
            "labels": {**labels, ROLE_LABEL: node.role},
            "environment": environment(node, settings),
            "healthcheck": {"interval": "24h"},  # compose v1 cannot take it away
        }
    return {"services": services}


def variables(nodes: Sequence[Node]) -> dict[str, str]:
    """The variables of addresses that the compose file is filled in with.

    Port 0 is any that is free: Docker chooses it when it starts the holder.
    """
    ports = {f"HARNESS_PORT_{node.name.upper()}": str(node.dial[1]) for node in nodes}
    return {"HARNESS_ADDRESS": nodes[0].dial[0], **ports}


def up(
    project: str, files: Sequence[Path], given: Mapping[str, str], services: Sequence[str] = ()
) -> None:
    """Start containers of a project, all or these; returns when they run. What runs already stays
    as it is, though a variable of its has another value by now. Raises ClusterError."""
    named = [word for file in files for word in ("-f", str(file))]
    argv = [*command(), "-p", project, *named, "up", "-d", "--no-recreate", *services]
    try:
        done = subprocess.run(
            argv,
            env={**_environment(), **given},
            capture_output=True,
            text=True,
            check=False,
            timeout=UP_LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"`{shlex.join(argv)}` did not end within {UP_LIMIT_S:g} s") from None
    if done.returncode != 0:
        said = "\n".join(f"  {line}" for line in done.stderr.strip().splitlines()[-8:])
        raise ClusterError(f"`{shlex.join(argv)}` failed:\n{said}")


def command() -> tuple[str, ...]:
    """Compose as this host has it. Raises ClusterError naming both when it has none."""
    for words in COMMANDS:
        if answers(words):
            return words
    raise ClusterError(
        "neither `docker compose` (v2) nor `docker-compose` (v1) is installed: install "
        "docker-compose-plugin or docker-compose"
    )


def answers(words: Sequence[str]) -> bool:
    """Whether this compose command works here."""
    if system_packages.program(words[0]) is None:
        return False
    version = subprocess.run(
        [*words, "version"], env=_environment(), capture_output=True, check=False
    )
    return version.returncode == 0


def write(file: Path, content: Mapping[str, Any]) -> None:
    """The additions as a file for compose, in which a dollar sign stands for itself."""
    file.write_text(json.dumps(content, indent=1).replace("$", "$$") + "\n")


def project_of(run_id: str, mark: str) -> str:
    """A project's name for a run: what compose allows, and not that of another run."""
    words = re.sub(r"[^a-z0-9]+", "-", run_id.lower()).strip("-")
    return f"kafka-harness-{words}-{mark}"


def is_project_of(run_id: str, project: str) -> bool:
    """Whether a project was named after this run."""
    name = project_of(run_id, "")
    return (
        project.startswith(name) and re.fullmatch(r"[0-9a-f]{4}", project[len(name) :]) is not None
    )


def _environment() -> dict[str, str]:
    """v1 is a Python program of the system's, which our own packages would break."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def _variable(key: str) -> str:
    return key.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _upper(key: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", key).upper()
