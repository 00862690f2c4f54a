"""A user's own server.properties: which of its keys the brokers get, and which are the harness's.

    num.io.threads=4                passes
    listeners=..., log.dirs=...     left out: one note names all such keys, and never a value

Whether Kafka knows a key is asked with those of the scenario (harness.scenario.kafka_keys).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.clients.properties import left_out_note, read_all, reason_for
from harness.cluster.node_settings import OWNED_BY_HARNESS

_PLAINTEXT = "a run's nodes and clients use plaintext connections"


_ZOOKEEPER = "this cluster uses ZooKeeper, and the key belongs to KRaft"


_OWN_ADDRESS = "the harness sets broker ids, addresses and directories"


# What a user may not set, with the reason; one that ends in a dot stands for all that begin so.
_LEFT_OUT = {
    **dict.fromkeys(OWNED_BY_HARNESS["server"], _OWN_ADDRESS),
    **dict.fromkeys(("advertised.", "log.dir", "broker.id.generation.enable"), _OWN_ADDRESS),
    **dict.fromkeys(
        ("ssl.", "sasl.", "security.", "listener.", "inter.broker.listener.name"), _PLAINTEXT
    ),
    **dict.fromkeys(
        ("zookeeper.ssl.", "zookeeper.set.acl", "control.plane.listener.name"), _PLAINTEXT
    ),
    # Secrets of what needs TLS or SASL, too.
    **dict.fromkeys(("delegation.token.", "password.encoder."), _PLAINTEXT),
    **dict.fromkeys(
        ("process.roles", "node.id", "controller.quorum.", "metadata.log."), _ZOOKEEPER
    ),
    **dict.fromkeys(("controller.listener.names", "zookeeper.metadata.migration."), _ZOOKEEPER),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFile:
    """The broker settings of a user's server.properties."""

    settings: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)  # key -> "FILE, line N: KEY"
    notes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()  # a sentence for each line that cannot be used

    @property
    def overrides(self) -> dict[str, str]:
        """As `--set` would lay them over a scenario."""
        return {f"cluster.server.{key}": value for key, value in self.settings.items()}


def read_server_properties(path: Path) -> ServerFile:
    """The file without what belongs to the harness; whether Kafka knows the keys is not asked here.

    Raises PropertiesError.
    """
    found, twice = read_all(path)
    left_out = {each.key: why for each in found if (why := reason_for(each.key, _LEFT_OUT))}
    kept = [each for each in found if each.key not in left_out]
    return ServerFile(
        settings={each.key: each.value for each in kept},
        lines={each.key: f"{path}, line {each.line}: {each.key}" for each in kept},
        notes=tuple(left_out_note(path, left_out)),
        wrong=tuple(twice),
    )
