"""The images of a run's containers, by the Kafka that the scenario runs.

    backend.docker.image, HARNESS_KAFKA_IMAGE, …    what somebody has chosen
    ZooKeeper, Kafka 3.9                            Confluent's 7.9, as docker-compose.yml has them
    KRaft, Kafka 3.7 and later                      Apache's image of that release
    any other                                       there is none: `kafka-harness image` makes it

Features that a cluster is formatted with reach the start script of the harness's own images alone.
Source: hub.docker.com/r/apache/kafka; KIP-975, KIP-1028.
"""

from __future__ import annotations

import os
import re

from harness.model.sections.cluster import ClusterPart
from harness.model.sections.image_names import APACHES, APACHES_SINCE, OURS, is_ours
from harness.model.sections.kafka_releases import numbers
from harness.release import COMPOSE_FILE, KRAFT_COMPOSE_FILE

KAFKA, ZOOKEEPER, HOLDER = "HARNESS_KAFKA_IMAGE", "HARNESS_ZOOKEEPER_IMAGE", "HARNESS_HOLDER_IMAGE"
VARIABLES = (KAFKA, ZOOKEEPER, HOLDER)


def variables(cluster: ClusterPart, image: str) -> dict[str, str]:
    """What the compose file's variables of images are set to, where neither the environment nor
    the file's own defaults hold; `image` is backend.docker.image."""
    if image:
        return dict.fromkeys(VARIABLES, image)
    if cluster.has_zookeeper or os.environ.get(KAFKA):
        return {}
    return {KAFKA: f"{APACHES}:{cluster.release}"}


def of_nodes(cluster: ClusterPart, image: str) -> dict[str, str]:
    """The images of the nodes: `kafka` and, where there is one, `zookeeper` -> image."""
    file = COMPOSE_FILE if cluster.has_zookeeper else KRAFT_COMPOSE_FILE
    defaults = dict(re.findall(r"\$\{(HARNESS_\w+_IMAGE):-([^}]+)\}", file.read_text()))
    images = {name: os.environ.get(name) or default for name, default in defaults.items()}
    images |= variables(cluster, image)
    kinds = {"kafka": KAFKA} | ({"zookeeper": ZOOKEEPER} if cluster.has_zookeeper else {})
    return {kind: images[name] for kind, name in kinds.items()}


def problem(cluster: ClusterPart, image: str) -> str | None:
    """Why the nodes cannot be made of an image, with the remedy; None where they can."""
    kafka, release = of_nodes(cluster, image)["kafka"], cluster.release
    own = f"{OURS}:{release}"
    remedy = (
        f"make one with `kafka-harness image --kafka {release}` and add "
        f"--set backend.docker.image={own}"
    )
    if kafka.startswith(f"{APACHES}:") and numbers(release) < APACHES_SINCE:
        return f"there is no {kafka}, Apache's images begin with 3.7: {remedy}"
    if cluster.features and not is_ours(kafka):
        return (
            f"cluster.features: {kafka} does not format disks with levels of features: remove "
            f"them, or {remedy}"
        )
    return None
