"""The docker backend: a compose project of the run's own, removed by its harness or by `heal`."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from harness.cluster.backend import Backend
from harness.cluster.capabilities import Cluster, Companions, Links, Operated, Processes, Restarts
from harness.cluster.container_limits import not_in_containers
from harness.cluster.docker import compose, images
from harness.cluster.docker.cluster import START_LIMIT_S, DockerCluster
from harness.cluster.docker.engine import Engine, connect
from harness.cluster.node_settings import UP, settings_of
from harness.cluster.nodes import ClusterError, Node, in_racks, to_come
from harness.cluster.ownership import Orphan, check_own, guard
from harness.cluster.sidecar import heartbeat
from harness.host.python_packages import install_command
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import ClusterRecord, RunRecord
from harness.model.scenario import ClusterPart, Scenario
from harness.waiting import wait_until

SDK = "docker~=7.1"  # as pyproject.toml asks for it


def docker_nodes(wanted: ClusterPart, address: str) -> tuple[Node, ...]:
    """The nodes of a cluster to come, dialled at `address`; their ports there, and their addresses
    among each other, are known once their holders run."""
    nodes = to_come(wanted, compose.PORTS)
    return in_racks([replace(node, dialled=(address, 0)) for node in nodes], wanted.racks)


def make(folder: RunFolder, record: RunRecord) -> Cluster:
    """The cluster of a run, whose project's name is on record before anything starts."""
    wanted = record.scenario.cluster
    engine = Engine(connect(), compose.project_of(folder.run_id, secrets.token_hex(2)))
    folder.update(cluster=ClusterRecord(project=engine.project))
    image = record.scenario.backend.docker.image
    return DockerCluster(
        nodes=docker_nodes(wanted, engine.host),
        engine=engine,
        logs=folder.logs,
        run_id=folder.run_id,
        images=images.variables(wanted, image),
        settings=settings_of(record.scenario),
        keep_data_in=folder.path / "data" if record.keep else None,
        versions={"docker": engine.version, **images.of_nodes(wanted, image)},
    )


def capabilities(_: Scenario) -> frozenset[type]:
    """What a container beside each node can do."""
    return frozenset({Processes, Restarts, Links, Companions, Operated})


def refuses(scenario: Scenario) -> str | None:
    """Why a scenario cannot be run here, before anything starts."""
    wanted = scenario.cluster
    if why := not_in_containers(wanted):
        return why
    if wanted.has_zookeeper and (wanted.zookeepers, wanted.brokers) != (3, 3):
        return (
            "docker-compose.yml has 3 ZooKeepers and 3 brokers: "
            "set cluster.zookeepers and cluster.brokers to 3"
        )
    if not wanted.has_zookeeper and (wanted.controllers, wanted.brokers) != (3, 3):
        return (
            "docker-compose.kraft.yml has 3 controllers and 3 brokers: "
            "set cluster.controllers and cluster.brokers to 3"
        )
    return images.problem(wanted, scenario.backend.docker.image)


def absent(_: Mapping[str, Any]) -> str | None:
    """Why Docker is not available. May raise ClusterError with the reason instead."""
    if why := without_sdk():
        return why
    connect()
    compose.command()
    return None


def without_sdk() -> str | None:
    """The sentence that says that the SDK is missing, if it is."""
    if find_spec("docker") is None:
        return f"the Python package docker is missing: {install_command(SDK)}"
    return None


def image(scenario: Scenario) -> str:
    """The image of its brokers."""
    return images.of_nodes(scenario.cluster, scenario.backend.docker.image)["kafka"]


def containers(record: RunRecord) -> list[str]:
    """The ids of the run's containers."""
    project = (record.cluster or ClusterRecord()).project
    return [container.id for container in Engine(connect(), project or "").services().values()]


# After a harness that was killed


def heal(orphan: Orphan) -> list[str]:
    """Undo what is left in force in a project whose harness is gone; start what is down."""
    if why := without_sdk():
        raise ClusterError(why)
    project = orphan.name or orphan.cluster.project
    if project is None:
        return ["nothing to heal: the run ended before it started a cluster"]
    named = orphan.run_id is None or compose.is_project_of(orphan.run_id, project)
    remedy = f"if it is to be healed, name it: `heal --cluster {shlex.quote(project)}`"
    check_own(f"the project {project}", own=named, remedy=remedy)
    engine = Engine(connect(), project)
    services = engine.services()
    if not services:
        return [f"nothing to heal: Docker has no container of the project {project}"]
    guard(project, ours=engine.is_ours(), named=None, allowed=())
    marks = {container.labels.get(compose.RUN_LABEL) for container in services.values()}
    marked = orphan.run_id is None or marks == {orphan.run_id}
    check_own(f"the project {project}", own=marked, remedy=remedy)
    done, prefix = list[str](), compose.holder_of("")
    for name in sorted(services):
        holds, node = name.startswith(prefix), name.removeprefix(prefix)
        lines = engine.run(name, heartbeat.command("undo")).splitlines() if holds else []
        done += [f"{node}: {line}" for line in lines]
    down = [name for name in sorted(services) if engine.pid(name) is None]
    roles = {name: services[name].labels.get(compose.ROLE_LABEL, "") for name in down}
    for name in down:  # all before any is waited for: controllers come up as a majority
        engine.start(name)
    done += [f"{name}: started again, {_stay_up(engine, name, roles[name])}" for name in down]
    done = done or [f"nothing to heal: no fault is in force in the project {project}"]
    if orphan.down:
        engine.remove()
        done.append(f"removed the project {project}")
    return done


def _stay_up(engine: Engine, name: str, role: str) -> str:
    """Start a node again until it stays: a broker ends itself while its old session lives. An older
    harness's container does not name its role; any role's line counts."""
    starts, logged = 1, UP.get(role) or [words for lines in UP.values() for words in lines]

    def up() -> bool:
        nonlocal starts
        if engine.pid(name) is None:
            engine.start(name)
            starts += 1
        log = engine.log(name, since_start=True).decode(errors="replace")
        return any(words in log for words in logged)

    wait_until(up, timeout_s=START_LIMIT_S, what=f"{name} to stay up", every_s=0.5)
    return "at once" if starts == 1 else f"{starts} times until it stayed"


DOCKER = Backend(
    make=make,
    capabilities=capabilities,
    enclosed=False,
    refuses=refuses,
    heal=heal,
    absent=absent,
    image=image,
    containers=containers,
)
