"""Refuses Kafka releases and keys of [cluster] that a scenario cannot have, with the remedy.

kafka = "2.8", metadata = "kraft"           KRaft came with 3.3
[cluster.features] with 3.7                 levels can be named from 3.9 on
[cluster.server] broker.id                  is set by the harness
[cluster.server] zookeeper.… with KRaft     does nothing
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.cluster.node_settings import OWNED_BY_HARNESS
from harness.model.sections.cluster import ClusterPart
from harness.model.sections.kafka_releases import cannot_be, without_feature
from harness.scenario.kafka.modes import mode_of, without_effect


def release_problems(cluster: ClusterPart) -> Iterator[str]:
    """Impossible releases, and keys that the harness sets or that do nothing."""
    if why := cannot_be(cluster.release, cluster.kept_by, cluster.voters):
        yield f"cluster.kafka: {why}"
    elif not cluster.has_zookeeper and (why := without_feature(cluster.release, cluster.features)):
        yield f"cluster.features: {why}: remove it, or set a later cluster.kafka"
    if cluster.kept_by == "kraft-combined" and cluster.controllers > cluster.brokers:
        yield (
            f"cluster.controllers is {cluster.controllers} but cluster.brokers is "
            f"{cluster.brokers}, and brokers are the controllers: lower the one or raise the other"
        )
    mode = mode_of(cluster)
    owned = OWNED_BY_HARNESS["server" if mode == "zookeeper" else "kraft"]
    for section in ("server", "broker", "controller"):
        for key in getattr(cluster, section):
            if key in owned:
                yield f"cluster.{section}.{key} is set by the harness: remove it"
            elif why := without_effect(key, mode):
                yield f"cluster.{section}.{key} does nothing: {why}: remove it"
    for key in cluster.zoo:
        if key in OWNED_BY_HARNESS["zoo"] or key.startswith("server."):
            yield f"cluster.zoo.{key} is set by the harness: remove it"
