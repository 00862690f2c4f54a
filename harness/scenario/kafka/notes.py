"""What of a scenario means something else with KRaft than it says, a note each.

    topic.leader = "controller"              any broker, where the controller is none
    unclean.leader.election.enable = true    nothing below 3.9: controllers do not look at it
    [cluster.broker] min.insync.replicas     nothing where eligible leaders are kept: that of the
                                             controllers counts

Source: KAFKA-12670 (unclean elections by configuration, 3.9); KIP-966; tried on 4.0.2 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.kafka_text import kafka_text
from harness.model.scenario import Scenario
from harness.model.sections.kafka_releases import UNCLEAN_SINCE, numbers

_UNCLEAN, _MINIMUM = "unclean.leader.election.enable", "min.insync.replicas"


def kraft_notes(chosen: Scenario) -> Iterator[str]:
    """Nothing for a cluster with ZooKeeper."""
    cluster, topic = chosen.cluster, chosen.topic
    if cluster.has_zookeeper:
        return
    if topic.leader == "controller" and cluster.kept_by == "kraft":
        yield (
            'topic.leader = "controller" is any broker here: the controller is none of them '
            '(cluster.metadata = "kraft")'
        )
    set_ = {"topic.config": topic.config, "cluster.server": cluster.server}
    for where, settings in {**set_, "cluster.controller": cluster.controller}.items():
        allowed = kafka_text(settings.get(_UNCLEAN, False)) == "true"
        if allowed and numbers(cluster.release) < UNCLEAN_SINCE:
            yield (
                f"{where}.{_UNCLEAN} does nothing: the controllers of Kafka {cluster.release} do "
                'not look at it, from 3.9 on they do; the verb elect has how = "unclean"'
            )
    if _MINIMUM in cluster.broker and cluster.has_elr:
        yield (
            f"cluster.broker.{_MINIMUM} does nothing: Kafka {cluster.release} keeps eligible "
            "leader replicas, and the controllers' own counts: set it in cluster.server, or for "
            "the topic"
        )
