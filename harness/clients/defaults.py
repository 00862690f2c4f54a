"""Builds the clients' complete configurations in layers: what decides loss or duplicates is
explicit.

The later layer wins, in librdkafka's keys; the harness sets addresses:

    1. the defaults of one client: the Java client's, which most teams run, or librdkafka's
    2. the scenario's section; beside a file only its times (`.ms`, but not linger.ms), and its
       transactional.id if the scenario needs one
    3. the user's file
    4. --set, a campaign's `set`, the axes of a matrix

So acks, retries, idempotence, isolation, … come from the file or its client, and a short scenario
stays short. A time of the scenario that contradicts one of the file's gives way.

As in the Java client, idempotence gives way when nobody set it by name and acks, retries or
in-flight requests rule it out (KIP-679). librdkafka is not idempotent by default; where it is, it
lowers in-flight requests (KIP-98).

Each producer gets a `transactional.id` of its own: `ID-<number of the producer>`. In any value
`{index}` stands for the worker's number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from harness.clients.java_keys import KEYS, ROLES, Role
from harness.model.client_settings import (
    IN_FLIGHT,
    acks_of,
    by_one_name,
    in_flight_of,
    of_classic_protocol,
    retries_of,
)
from harness.model.kafka_text import same_text

Config = dict[str, Any]
ClientName = Literal["java", "librdkafka"]
JAVA: Final = "java"
LIBRDKAFKA: Final = "librdkafka"
CLIENTS: Final[dict[ClientName, str]] = {JAVA: "the Java client", LIBRDKAFKA: "librdkafka"}

# Java's names of the settings that are always explicit.
_EXPLICIT: dict[Role, tuple[str, ...]] = {
    "producer": (
        *("acks", "enable.idempotence", "retries", "retry.backoff.ms", "retry.backoff.max.ms"),
        *("max.in.flight.requests.per.connection", "linger.ms", "batch.size"),
        *("request.timeout.ms", "delivery.timeout.ms", "compression.type"),
    ),
    "consumer": (
        *("isolation.level", "auto.offset.reset", "fetch.max.wait.ms", "fetch.min.bytes"),
        "check.crcs",
    ),
}


def _typed(text: str) -> str | int | bool:
    return int(text) if text.isdecimal() else {"true": True, "false": False}.get(text, text)


def _defaults(client: ClientName, role: Role) -> Config:
    """A client's defaults, in librdkafka's names."""
    return {
        name: _typed(key.java_default if client == JAVA else key.librdkafka_default)
        for key in KEYS[role]
        if key.java in _EXPLICIT[role]
        for name in key.librdkafka
    }


DEFAULTS: Final[dict[ClientName, dict[Role, Config]]] = {
    client: {role: _defaults(client, role) for role in ROLES} for client in CLIENTS
}
# How long a broker may wait for the replicas; Java has no key of its own for it.
DEFAULTS[LIBRDKAFKA]["producer"]["request.timeout.ms"] = 30000
# With a transactional.id librdkafka refuses these above the transaction's timeout.
WITHIN_A_TRANSACTION = ("message.timeout.ms", "socket.timeout.ms")
TRANSACTION_TIMEOUT_MS = 60000
# The harness's own, below the file. A restarted broker must be found again within the run, not
# within the default ten seconds; how a group commits is workload.commit.
OWN: dict[Role, Config] = {
    "producer": {
        "broker.address.family": "v4",
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
    },
    "consumer": {
        "broker.address.family": "v4",
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "enable.auto.commit": False,
        "fetch.error.backoff.ms": 100,
    },
}
# Further ones without a user's file.
OWN_WITHOUT_FILE: dict[Role, Config] = {
    "producer": {},
    "consumer": {"isolation.level": "read_committed", "auto.offset.reset": "earliest"},
}
_LARGEST_MESSAGE = "1000000"  # of a consumer; only librdkafka has it
_DELIVERY: Final = "message.timeout.ms"
WITHIN_DELIVERY: Final = ("linger.ms", "request.timeout.ms")  # what a send in Java has time for
HEARTBEAT: Final = "heartbeat.interval.ms"
# The first may not be longer than the second; heartbeats must be shorter.
_ORDERED: dict[Role, tuple[tuple[str, str], ...]] = {
    "producer": (
        ("linger.ms", "message.timeout.ms"),
        ("request.timeout.ms", "message.timeout.ms"),
        ("socket.timeout.ms", "message.timeout.ms"),
        ("message.timeout.ms", "transaction.timeout.ms"),
        ("socket.timeout.ms", "transaction.timeout.ms"),
        ("retry.backoff.ms", "retry.backoff.max.ms"),
        ("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
    ),
    "consumer": (
        (HEARTBEAT, "session.timeout.ms"),
        ("session.timeout.ms", "max.poll.interval.ms"),
        ("fetch.wait.max.ms", "socket.timeout.ms"),
        ("retry.backoff.ms", "retry.backoff.max.ms"),
        ("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
    ),
}

# librdkafka, unlike Java's client, refuses the first above the second: the unnamed one gives way.
_FITTED: dict[Role, tuple[tuple[str, str], ...]] = {
    "producer": (("reconnect.backoff.ms", "reconnect.backoff.max.ms"),),
    "consumer": (
        ("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
        ("session.timeout.ms", "max.poll.interval.ms"),
        ("message.max.bytes", "fetch.max.bytes"),
    ),
}
# With group.protocol=consumer the brokers set these (KIP-848).
_OF_BROKERS: Final = (HEARTBEAT, "session.timeout.ms")

SCENARIO: Final = "scenario"
SET: Final = "--set"
HARNESS: Final = "harness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The settings for one kind of client, layer by layer, in any of librdkafka's names."""

    scenario: Mapping[str, Any] = field(default_factory=dict)
    file: Mapping[str, Any] | None = None  # None: none is brought
    lines: Mapping[str, str] = field(default_factory=dict)  # of the file's: "FILE, line N"
    set: Mapping[str, Any] = field(default_factory=dict)
    client: ClientName = JAVA
    transactional: bool = True  # a file needs the scenario's transactional.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Layered:
    """A complete configuration without addresses, and the origin of each key."""

    config: Config
    layers: dict[str, str]
    kept: Config  # of the scenario, beside a file
    replaced: Config  # of the scenario, with its values: the file or its client has others
    fitted: dict[str, str]  # beside a file, what was changed -> the key that it has to fit


def layer_config(role: Role, asked: Asked) -> Layered:
    """The configuration of a kind of client."""
    own, given = by_one_name(asked.scenario), by_one_name(asked.set)
    brought = by_one_name(asked.file or {})
    kept = own if asked.file is None else _keep_beside_file(role, own, {**brought, **given}, asked)
    named = {**kept, **brought, **given}
    ours = {**OWN[role], **(OWN_WITHOUT_FILE[role] if asked.file is None else {})}
    defaults = DEFAULTS[asked.client][role]
    config = {**defaults, **ours, **named}
    if role == "producer" and asked.client == JAVA and _DELIVERY not in named:
        config[_DELIVERY] = _java_delivery(config)
    fitted = _fit_unnamed(role, config, named) if asked.file is not None else {}
    if role == "producer":
        _fit_together(config, named, asked.client)
        bendable = named.keys() - (brought.keys() - given.keys() if asked.client == JAVA else ())
        fitted |= _within_a_transaction(config, bendable)
    origin = {
        **dict.fromkeys(config, f"default of {CLIENTS[asked.client]}"),
        **dict.fromkeys(ours, HARNESS),
        **dict.fromkeys(kept, SCENARIO),
        **{key: asked.lines.get(key, "file") for key in brought},
        **dict.fromkeys(given, SET),
    }
    for key, other in fitted.items():
        fits = f"to fit {other}"
        origin[key] = f"{origin[key]}, {fits}" if key in brought else fits
    gone = {
        key: value
        for key, value in own.items()
        if key not in kept and not same_text(value, config.get(key))
    }
    overlaid = {k: v for k, v in kept.items() if k in brought and not same_text(v, brought[k])}
    return Layered(
        config=config,
        layers=origin,
        kept={k: v for k, v in kept.items() if k not in brought and k not in given}
        if asked.file is not None
        else {},
        replaced={**gone, **overlaid} if asked.file is not None else {},
        fitted=fitted if asked.file is not None else {},
    )


def _java_delivery(config: Mapping[str, Any]) -> int:
    """How long Java's producer tries by default (KafkaProducer.configureDeliveryTimeout)."""
    parts = [str(config[key]) for key in WITHIN_DELIVERY]
    least = int(DEFAULTS[JAVA]["producer"][_DELIVERY])
    return max(least, sum(map(int, parts))) if all(map(str.isdecimal, parts)) else least


def client_default(role: Role, key: str, client: ClientName) -> str:
    """A setting's default in a client, in librdkafka's unit; "none" where it has none."""
    if key in DEFAULTS[client][role]:
        return str(DEFAULTS[client][role][key])
    for known in KEYS[role]:
        if key in known.librdkafka:
            return (known.java_default if client == JAVA else known.librdkafka_default) or "none"
    return _LARGEST_MESSAGE if key == "message.max.bytes" else "none"


def is_time(key: str) -> bool:
    """Whether a key of librdkafka's is one of the times that make a scenario short."""
    return key.endswith(".ms") and key != "linger.ms"


def _keep_beside_file(role: Role, own: Config, above: Config, asked: Asked) -> Config:
    """The scenario's settings that stay beside a file: times that do not contradict it, and a
    needed transactional.id."""
    kept = {key: value for key, value in own.items() if is_time(key)}
    if asked.transactional and "transactional.id" in own:
        kept["transactional.id"] = own["transactional.id"]
    if not of_classic_protocol(above):
        kept = {key: value for key, value in kept.items() if key not in _OF_BROKERS}
    for shorter, longer in _ORDERED[role]:
        for key, other in ((shorter, longer), (longer, shorter)):
            if key in kept and key not in above and other in above:
                both = {key: kept[key], other: above[other]}
                if not _in_order(both[shorter], both[longer], strictly=shorter == HEARTBEAT):
                    del kept[key]
    return kept


def _in_order(shorter: Any, longer: Any, *, strictly: bool) -> bool:
    try:
        return float(shorter) < float(longer) if strictly else float(shorter) <= float(longer)
    except ValueError:  # the check of the key's type refuses it
        return True


def _fit_unnamed(role: Role, config: Config, named: Mapping[str, Any]) -> dict[str, str]:
    """Change settings that nobody named to fit those that somebody did; returns each changed key
    with the key that it fits."""
    changed = {}
    for shorter, longer in _FITTED[role]:
        if (shorter in named) == (longer in named):
            continue
        one, other = (shorter, longer) if shorter in named else (longer, shorter)
        both = {one: named[one], other: config.get(other, client_default(role, other, LIBRDKAFKA))}
        if not _in_order(both[shorter], both[longer], strictly=False):
            config[other] = both[one]
            changed[other] = one
    session = config.get("session.timeout.ms")
    beat = config.get(HEARTBEAT, client_default(role, HEARTBEAT, LIBRDKAFKA))
    if "session.timeout.ms" in changed and not _in_order(beat, session, strictly=True):
        config[HEARTBEAT] = max(1, int(str(session)) // 3)
        changed[HEARTBEAT] = "session.timeout.ms"
    return changed


def _within_a_transaction(config: Config, named: Collection[str]) -> dict[str, str]:
    """Shorten times that exceed a transaction's and were not `named`; returns each changed key with
    the key that it fits."""
    if "transactional.id" not in config:
        return {}
    changed, limit = {}, "transaction.timeout.ms"
    timeout = config.setdefault(limit, TRANSACTION_TIMEOUT_MS)
    for key in WITHIN_A_TRANSACTION:
        if key not in named and not _in_order(config[key], timeout, strictly=False):
            config[key] = int(timeout)
            changed[key] = limit
    return changed


def _fit_together(config: Config, named: Mapping[str, Any], client: ClientName) -> None:
    """Set what a client sets by itself where nobody named it."""
    in_flight = "max.in.flight.requests.per.connection"
    if client == LIBRDKAFKA:
        if "enable.idempotence" not in named and "transactional.id" in named:
            config["enable.idempotence"] = True
        if in_flight not in named and config["enable.idempotence"] is True:
            config[in_flight] = IN_FLIGHT
    elif "enable.idempotence" not in named and not may_be_idempotent(config):
        config["enable.idempotence"] = False


def transaction_problem(producer: Mapping[str, Any]) -> str | None:
    """What rules out a producer's transactions, with the remedy; None if nothing does, or without
    transactions (KIP-98)."""
    config = by_one_name(producer)
    if "transactional.id" not in config:
        return None
    acks = acks_of(config)
    if not str(config["transactional.id"]):
        return "transactional.id is empty: give it a name, or remove it"
    if acks != "all":
        return f"transactional.id needs acks=all, but acks is {acks}: change one of them"
    if retries_of(config) == 0:
        return "transactional.id needs retries > 0: raise retries, or remove the id"
    if config.get("enable.idempotence") is False:
        return (
            "transactional.id needs enable.idempotence=true, and at most 5 "
            "max.in.flight.requests.per.connection: change one of them"
        )
    return None


INDEX: Final = "{index}"


def transactional_id(config: Mapping[str, Any], number: int) -> str | None:
    """The transactional.id of the producer of that number; None without transactions."""
    if "transactional.id" not in config:
        return None
    prefix = str(config["transactional.id"])
    return prefix.replace(INDEX, str(number)) if INDEX in prefix else f"{prefix}-{number}"


def worker_config(config: Mapping[str, Any], number: int, slot: int) -> Config:
    """The configuration of one worker: the producer of that number (among all that send), in that
    slot of its kind. A successor has its predecessor's."""
    own = transactional_id(config, number)
    plain = {
        key: value.replace(INDEX, str(slot)) if isinstance(value, str) else value
        for key, value in config.items()
    }
    return {**plain, "transactional.id": own} if own else plain


def may_be_idempotent(config: Mapping[str, Any]) -> bool:
    """Whether a producer of that configuration can be idempotent (KIP-98, KIP-679)."""
    can_retry, in_flight = retries_of(config) != 0, in_flight_of(config)
    return acks_of(config) == "all" and can_retry and in_flight <= IN_FLIGHT
