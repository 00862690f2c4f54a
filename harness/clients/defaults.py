"""The clients' configurations, complete: whatever decides loss or duplicates is set explicitly.

Three layers, the later one wins: the Java client's defaults (which most teams run), the scenario's
keys, the user's own file. Keys are librdkafka's. Addresses are the harness's.

With a `transactional.id` each producer gets one of its own: `ID-<number of the producer>`.

As in the Java client, idempotence gives way when nobody asked for it by name and acks, retries or
in-flight requests rule it out (KIP-679).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model.client_settings import ACKS, IN_FLIGHT, RETRIES, acks_of, by_one_name

Config = dict[str, Any]

PRODUCER_DEFAULTS: Config = {
    "acks": ACKS,
    "enable.idempotence": True,
    "retries": RETRIES,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1000,
    "max.in.flight.requests.per.connection": IN_FLIGHT,
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
# With a transactional.id. What may not take longer than a transaction: librdkafka refuses that.
WITHIN_A_TRANSACTION = ("message.timeout.ms", "socket.timeout.ms")
TRANSACTION_TIMEOUT_MS = 60000
# A restarted broker must be found again within the run, not within the default ten seconds.
CONNECTION: Config = {
    "broker.address.family": "v4",
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
}


def producer_config(scenario: Mapping[str, Any], user: Mapping[str, Any]) -> Config:
    """The producer's configuration without addresses."""
    asked = {**by_one_name(scenario), **by_one_name(user)}
    config = {**CONNECTION, **PRODUCER_DEFAULTS, **asked}
    if "enable.idempotence" not in asked and not may_be_idempotent(config):
        config["enable.idempotence"] = False
    if "transactional.id" in config:
        timeout = config.setdefault("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS)
        for key in WITHIN_A_TRANSACTION:
            if key not in asked:
                config[key] = min(config[key], int(timeout))
    return config


def transaction_problem(producer: Mapping[str, Any]) -> str | None:
    """What rules out a producer's transactions, with the remedy; None where there are none, or
    nothing does (KIP-98)."""
    config = by_one_name(producer)
    if "transactional.id" not in config:
        return None
    acks = acks_of(config)
    if not str(config["transactional.id"]):
        return "transactional.id is empty: give it a name, or remove it"
    if acks != "all":
        return f"transactional.id needs acks=all, but acks is {acks}: change one of them"
    if int(config.get("retries", 1)) == 0:
        return "transactional.id needs retries > 0: raise retries, or remove the id"
    if str(config.get("enable.idempotence", True)).lower() == "false":
        return (
            "transactional.id needs enable.idempotence=true, and at most 5 "
            "max.in.flight.requests.per.connection: change one of them"
        )
    return None


def transactional_id(config: Mapping[str, Any], number: int) -> str | None:
    """The transactional.id of the producer of that number; None without transactions."""
    if "transactional.id" not in config:
        return None
    return f"{config['transactional.id']}-{number}"


def of_one(config: Mapping[str, Any], number: int) -> Config:
    """The configuration of the producer of that number."""
    own = transactional_id(config, number)
    return {**config, "transactional.id": own} if own else dict(config)


def consumer_config(scenario: Mapping[str, Any], user: Mapping[str, Any]) -> Config:
    """The consumer's configuration without addresses."""
    return {**CONNECTION, **CONSUMER_DEFAULTS, **by_one_name(scenario), **by_one_name(user)}


def may_be_idempotent(config: Mapping[str, Any]) -> bool:
    """Whether a producer of that configuration can be idempotent (KIP-98, KIP-679)."""
    return (
        acks_of(config) == "all"
        and int(config["retries"]) > 0
        and int(config["max.in.flight.requests.per.connection"]) <= 5
    )
