"""A user's own server.properties: which keys pass, which belong to the harness."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from pathlib import Path

from harness.clients.properties import SLIP, PropertiesError, nearest, read
from harness.cluster.node_settings import OWNED_BY_HARNESS
from harness.distribution.kafka_home import KafkaHome
from harness.host.java import Java

_PLAINTEXT = "a run's nodes and clients use plaintext connections"


_ZOOKEEPER = "this cluster uses ZooKeeper, and the key belongs to KRaft"


_OWN_ADDRESS = "the harness sets broker ids, addresses and directories"


# What a user may not set, with the reason; one that ends in a dot stands for all that begin so.
_REFUSED = {
    **dict.fromkeys(OWNED_BY_HARNESS["server"], _OWN_ADDRESS),
    **dict.fromkeys(("advertised.", "log.dir", "broker.id.generation.enable"), _OWN_ADDRESS),
    **dict.fromkeys(
        ("ssl.", "sasl.", "security.", "listener.", "inter.broker.listener.name"), _PLAINTEXT
    ),
    **dict.fromkeys(
        ("zookeeper.ssl.", "zookeeper.set.acl", "control.plane.listener.name"), _PLAINTEXT
    ),
    **dict.fromkeys(
        ("process.roles", "node.id", "controller.quorum.", "metadata.log."), _ZOOKEEPER
    ),
    **dict.fromkeys(("controller.listener.names", "zookeeper.metadata.migration."), _ZOOKEEPER),
}


def read_server_properties(path: Path, known: Collection[str]) -> dict[str, str]:
    """The broker settings of a user's server.properties, checked against the `known` keys.

    `known`: see server_keys. A key that is neither known nor like a known one is kept: it may
    belong to a plug-in. Raises PropertiesError.
    """
    settings = read(path)
    for setting in settings:
        where = f"{path}, line {setting.line}: {setting.key}"
        if reason := _refusal(setting.key):
            raise PropertiesError(f"{where} cannot be set, because {reason}: remove the line")
        if setting.key not in known and (right := nearest(setting.key, known, SLIP)):
            raise PropertiesError(f"{where} is not a key of this Kafka: did you mean {right}?")
    return {setting.key: setting.value for setting in settings}


def server_keys(home: KafkaHome, java: Java) -> frozenset[str]:
    """Every broker key that this Kafka documents, asked of its own jars: 0.4 s.

    Empty if it does not answer, which only turns the check for slips off.
    """
    quick = ("-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
    command = [str(java.path), *quick, "-cp", home.class_path, "kafka.server.KafkaConfig"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return frozenset(re.findall(r'<h4><a id="([^"]+)">', asked.stdout))


def _refusal(key: str) -> str | None:
    return next(
        (
            reason
            for refused, reason in _REFUSED.items()
            if key == refused or (refused.endswith(".") and key.startswith(refused))
        ),
        None,
    )
