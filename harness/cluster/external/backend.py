"""The external backend: a Kafka that is somebody's and goes on without the harness.

    [backend.external]
    bootstrap = ["kafka-a.example.org:9092", "kafka-b.example.org:9092"]
    client = "client.properties"         # TLS and SASL: harness.cluster.client_security

Its brokers are hit by the user's own commands alone, which ask nothing of the cluster, and need
`--allow` with the first bootstrap server; workers and programs are hit as anywhere. `heal` carries
out the heal commands of a killed harness where they are allowed (harness.commands.heal), and with
--down removes the topics and the group that it left, once the command line allows each address and
the file with the credentials, which run.json names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.cluster.backend import Backend
from harness.cluster.capabilities import Cluster, Foreign, Secured
from harness.cluster.external.cluster import ExternalCluster, brokers_of, heal_topic, settings_of
from harness.cluster.nodes import ClusterError, Role
from harness.cluster.ownership import Orphan, guard
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import AttachPart, ExternalPart, Scenario


def make(_: RunFolder, record: RunRecord) -> Cluster:
    """The cluster that the bootstrap servers name. Raises ClusterError."""
    wanted = record.scenario.backend.external
    if record.hits_nodes:
        name = wanted.bootstrap[0]  # what --allow must say
        guard(name, ours=False, named=name, allowed=record.allow)
    settings = settings_of(wanted.client)
    nodes = brokers_of(record.scenario, wanted.bootstrap, settings)
    return ExternalCluster(nodes=nodes, client_settings=settings)


def capabilities(_: Scenario) -> frozenset[type]:
    """None for a fault to use."""
    return frozenset({Secured, Foreign})


def hits(_: Scenario) -> frozenset[Role]:
    """Its brokers are all that is known there, and workers are ours."""
    return frozenset({"broker", "client"})


def because(_: Scenario, __: type) -> str:
    """Why nothing can be done to its nodes."""
    return " in a cluster that is not the harness's own"


def refuses(scenario: Scenario) -> str | None:
    """Why a scenario cannot be run there, before anything starts."""
    problems = there_already(scenario, scenario.backend.external, "backend.external")
    return next(problems, None)


def there_already(scenario: Scenario, part: ExternalPart | AttachPart, where: str) -> Iterator[str]:
    """Why a scenario cannot be run on a cluster that is somebody's, which `part` tells of."""
    try:
        settings_of(part.client)
    except ClusterError as problem:
        yield str(problem)
    if not part.bootstrap:
        yield f'{where}.bootstrap: name at least one broker, as in ["host:9092"]'
    for endpoint in part.bootstrap:
        if not re.fullmatch(r".+:\d{1,5}", endpoint):
            yield f"{where}.bootstrap: {endpoint!r} is not host:port"
    for section in ("server", "broker", "controller", "features", "zoo"):
        for key in getattr(scenario.cluster, section):
            yield (
                f"cluster.{section}.{key}: the settings of this cluster are not the harness's: "
                "remove the key"
            )
    for key in ("kafka", "metadata"):
        if getattr(scenario.cluster, key):
            yield f"cluster.{key}: what this cluster runs is not the harness's: remove the key"
    if scenario.cluster.racks:
        yield "cluster.racks: the racks of this cluster are not the harness's: remove the key"
    told = [text for each in scenario.programs for text in (*each.command, *each.env.values())]
    topics = ["topic"] if told else []
    topics += ["outputs"] if scenario.outputs and scenario.outputs.topic else []
    for name in topics:
        if not any(f"{{{name}}}" in text for text in told):
            yield (
                f"programs: none of them is given {{{name}}}: write it into a command or env: "
                "the run's topics have names of their own in a cluster that is there"
            )
    if scenario.workload.read_via == "follower":
        yield 'workload.read_via = "follower" needs brokers that the harness has configured'


def image(_: Scenario) -> str:
    """Nobody knows what its brokers are made of."""
    return ""


def heal(orphan: Orphan) -> list[str]:
    """Tell what the run has left there; with `down`, remove it."""
    if orphan.record is None:
        raise ClusterError("external clusters have no label to be found by: give heal the run")
    return heal_topic(orphan, orphan.record.scenario.backend.external)


EXTERNAL = Backend(
    make=make,
    capabilities=capabilities,
    enclosed=False,
    heal=heal,
    hits=hits,
    because=because,
    refuses=refuses,
    image=image,
)
