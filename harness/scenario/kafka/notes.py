"""Notes on settings of a scenario that mean something else with KRaft.

    topic.leader = "controller"              any broker, where the controller is none
    unclean.leader.election.enable = true    nothing below 3.9: controllers do not look at it
    [cluster.broker] min.insync.replicas     nothing with eligible leader replicas: only the
                                             controllers' value counts, as it always does for
                                             sessions and unclean elections

Source: KAFKA-12670 (unclean elections by configuration, 3.9); KIP-966; tried on 4.0.2 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.model.kafka_text import kafka_text
from harness.model.scenario import Scenario
from harness.model.sections.kafka_releases import UNCLEAN_SINCE, numbers
from harness.scenario.entries import entry_name
from harness.scenario.kafka.modes import UNCLEAN, counts_in

Origins = Mapping[str, Mapping[str, str]]  # section -> key -> where its value comes from


def kraft_notes(chosen: Scenario, origins: Origins) -> Iterator[str]:
    """The notes; none for a cluster with ZooKeeper."""
    cluster, topic = chosen.cluster, chosen.topic
    if cluster.has_zookeeper:
        return
    if topic.leader == "controller" and cluster.kept_by == "kraft":
        yield (
            'topic.leader = "controller" is any broker here: the controller is none of them '
            '(cluster.metadata = "kraft")'
        )
    for where in _unclean(chosen, origins) if numbers(cluster.release) < UNCLEAN_SINCE else ():
        yield (
            f"{where} does nothing: the controllers of Kafka {cluster.release} do not look at it, "
            'from 3.9 on they do; the verb elect has how = "unclean"'
        )
    for section, other in (("broker", "controllers"), ("controller", "brokers")):
        for key in getattr(cluster, section):
            if not counts_in(section, key, cluster):
                yield (
                    f"{_label(section, key, origins)} does nothing: Kafka {cluster.release} takes "
                    f"it from the {other}' file: set it in cluster.server, which both have"
                )


def _unclean(chosen: Scenario, origins: Origins) -> Iterator[str]:
    """The places that controllers could look at and that allow unclean elections."""
    cluster = chosen.cluster
    sections = {
        section: getattr(cluster, section) for section in ("server", "broker", "controller")
    }
    for section, settings in {"topic": chosen.topic.config, **sections}.items():
        counts = section == "topic" or counts_in(section, UNCLEAN, cluster)
        if counts and kafka_text(settings.get(UNCLEAN, False)) == "true":
            yield _label(section, UNCLEAN, origins)
    drawn = chosen.mixed.faults if chosen.mixed else ()
    for name, faults in (("faults", chosen.faults), ("mixed.faults", drawn)):
        for number, fault in enumerate(faults):
            if kafka_text(fault.options.get(UNCLEAN, False)) == "true":
                yield f"{entry_name(name, number, fault)}: {UNCLEAN}"


def _label(section: str, key: str, origins: Origins) -> str:
    """A key, with its place if that is a file's line."""
    path = "topic.config" if section == "topic" else f"cluster.{section}"
    place = origins.get(section, {}).get(key, "")
    return f"{path}.{key}{f' ({place})' if ', line ' in place else ''}"
