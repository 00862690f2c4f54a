"""The clients' configurations, complete: whatever decides loss or duplicates is set explicitly.

Three layers, the later one wins: the Java client's defaults (which most teams run), the scenario's
keys, the user's own file. Keys are librdkafka's. Addresses are the harness's.

As in the Java client, idempotence gives way when nobody asked for it by name and acks, retries or
in-flight requests rule it out (KIP-679).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Config = dict[str, Any]

PRODUCER_DEFAULTS: Config = {
    "acks": "all",
    "enable.idempotence": True,
    "retries": 2147483647,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1000,
    "max.in.flight.requests.per.connection": 5,
    "linger.ms": 0,
    "batch.size": 16384,
    "request.timeout.ms": 30000,
    "message.timeout.ms": 120000,
    "socket.timeout.ms": 30000,
    "compression.type": "none",
}
CONSUMER_DEFAULTS: Config = {
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 500,
    "fetch.min.bytes": 1,
    "fetch.error.backoff.ms": 100,
    "check.crcs": True,
}
# One name for each setting: librdkafka knows several by two.
ALIASES = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "delivery.timeout.ms": "message.timeout.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
}
HARNESS_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")
# A restarted broker must be found again within the run, not within the default ten seconds.
CONNECTION: Config = {
    "broker.address.family": "v4",
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
}


def producer_config(scenario: Mapping[str, Any], user: Mapping[str, Any]) -> Config:
    """The producer's configuration without addresses."""
    asked = {**_plain(scenario), **_plain(user)}
    config = {**CONNECTION, **PRODUCER_DEFAULTS, **asked}
    if "enable.idempotence" not in asked and not _may_be_idempotent(config):
        config["enable.idempotence"] = False
    return config


def consumer_config(scenario: Mapping[str, Any], user: Mapping[str, Any]) -> Config:
    """The consumer's configuration without addresses."""
    return {**CONNECTION, **CONSUMER_DEFAULTS, **_plain(scenario), **_plain(user)}


def _plain(config: Mapping[str, Any]) -> Config:
    return {ALIASES.get(key, key): value for key, value in config.items()}


def _may_be_idempotent(config: Config) -> bool:
    return (
        str(config["acks"]) in ("all", "-1")
        and int(config["retries"]) > 0
        and int(config["max.in.flight.requests.per.connection"]) <= 5
    )
