"""The clients' configurations, complete, in layers: what decides loss or duplicates is explicit.

Of a client the later layer wins, in librdkafka's keys; addresses are the harness's:

    1. the defaults of one client: the Java client's, which most teams run, or librdkafka's
    2. the scenario's section; where a file is brought, of its times alone (`.ms`, but linger.ms),
       and its transactional.id where the scenario needs one
    3. the file that was brought
    4. --set, a campaign's `set`, the axes of a matrix

So acks, retries, idempotence, isolation, … come from the file or its client, and a scenario that
was made short stays short. A time of the scenario that contradicts one of the file's gives way.

As in the Java client, idempotence gives way when nobody asked for it by name and acks, retries or
in-flight requests rule it out (KIP-679); librdkafka, which is not idempotent unless asked, lowers
in-flight requests where it is (KIP-98).

With a `transactional.id` each producer gets one of its own: `ID-<number of the producer>`. In any
value `{index}` stands for the worker's number.
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

# Java's names of what is set explicitly, whoever's defaults hold.
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
    """A client's, in librdkafka's names."""
    return {
        name: _typed(key.java_default if client == JAVA else key.librdkafka_default)
        for key in KEYS[role]
        if key.java in _EXPLICIT[role]
        for name in key.librdkafka
    }


DEFAULTS: Final[dict[ClientName, dict[Role, Config]]] = {
    client: {role: _defaults(client, role) for role in ROLES} for client in CLIENTS
}
# How long a broker may wait for the replicas, which Java has no key of its own for.
DEFAULTS[LIBRDKAFKA]["producer"]["request.timeout.ms"] = 30000
# With a transactional.id. What may not take longer than a transaction: librdkafka refuses that.
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
# Beside these where no file is brought.
OWN_WITHOUT_FILE: dict[Role, Config] = {
    "producer": {},
    "consumer": {"isolation.level": "read_committed", "auto.offset.reset": "earliest"},
}
_LARGEST_MESSAGE = "1000000"  # which a consumer has in librdkafka alone
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

# What librdkafka refuses where the first is above the second, and Java's client does not: the one
# that nobody named gives way.
_FITTED: dict[Role, tuple[tuple[str, str], ...]] = {
    "producer": (("reconnect.backoff.ms", "reconnect.backoff.max.ms"),),
    "consumer": (
        ("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
        ("session.timeout.ms", "max.poll.interval.ms"),
        ("message.max.bytes", "fetch.max.bytes"),
    ),
}
# With group.protocol=consumer the brokers say these (KIP-848).
_OF_BROKERS: Final = (HEARTBEAT, "session.timeout.ms")

SCENARIO: Final = "scenario"
SET: Final = "--set"
HARNESS: Final = "harness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of one kind of client, in any of librdkafka's names."""

    scenario: Mapping[str, Any] = field(default_factory=dict)
    file: Mapping[str, Any] | None = None  # None: none is brought
    lines: Mapping[str, str] = field(default_factory=dict)  # of the file's: "FILE, line N"
    set: Mapping[str, Any] = field(default_factory=dict)
    client: ClientName = JAVA
    transactional: bool = True  # whether the scenario's transactional.id is needed beside a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Layered:
    """A complete configuration without addresses, and where each key comes from."""

    config: Config
    layers: dict[str, str]
    kept: Config  # of the scenario, beside a file
    replaced: Config  # of the scenario, with its values: the file or its client has others
    fitted: dict[str, str]  # beside a file, what was changed -> the key that it has to fit


def layered(role: Role, asked: Asked) -> Layered:
    """The configuration of a kind of client."""
    own, given = by_one_name(asked.scenario), by_one_name(asked.set)
    brought = by_one_name(asked.file or {})
    kept = own if asked.file is None else _kept(role, own, {**brought, **given}, asked)
    named = {**kept, **brought, **given}
    ours = {**OWN[role], **(OWN_WITHOUT_FILE[role] if asked.file is None else {})}
    defaults = DEFAULTS[asked.client][role]
    config = {**defaults, **ours, **named}
    if role == "producer" and asked.client == JAVA and _DELIVERY not in named:
        config[_DELIVERY] = _javas_delivery(config)
    fitted = _fitted(role, config, named) if asked.file is not None else {}
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


def _javas_delivery(config: Mapping[str, Any]) -> int:
    """How long Java's producer tries where nobody says (KafkaProducer.configureDeliveryTimeout)."""
    parts = [str(config[key]) for key in WITHIN_DELIVERY]
    least = int(DEFAULTS[JAVA]["producer"][_DELIVERY])
    return max(least, sum(map(int, parts))) if all(map(str.isdecimal, parts)) else least


def client_default(role: Role, key: str, client: ClientName) -> str:
    """A setting's default in a client, in librdkafka's unit; "none" where it has none."""
    if key in DEFAULTS[client][role]:
        return str(DEFAULTS[client][role][key])
    for each in KEYS[role]:
        if key in each.librdkafka:
            return (each.java_default if client == JAVA else each.librdkafka_default) or "none"
    return _LARGEST_MESSAGE if key == "message.max.bytes" else "none"


def is_time(key: str) -> bool:
    """Whether a key of librdkafka's is one of those by which a scenario is short."""
    return key.endswith(".ms") and key != "linger.ms"


def _kept(role: Role, own: Config, above: Config, asked: Asked) -> Config:
    """What of the scenario stays beside a file: times that do not contradict it, and a needed
    transactional.id."""
    kept = {key: value for key, value in own.items() if is_time(key)}
    if asked.transactional and "transactional.id" in own:
        kept["transactional.id"] = own["transactional.id"]
    if not of_classic_protocol(above):
        kept = {key: value for key, value in kept.items() if key not in _OF_BROKERS}
    for shorter, longer in _ORDERED[role]:
        for mine, theirs in ((shorter, longer), (longer, shorter)):
            if mine in kept and mine not in above and theirs in above:
                both = {mine: kept[mine], theirs: above[theirs]}
                if not _in_order(both[shorter], both[longer], strictly=shorter == HEARTBEAT):
                    del kept[mine]
    return kept


def _in_order(shorter: Any, longer: Any, *, strictly: bool) -> bool:
    try:
        return float(shorter) < float(longer) if strictly else float(shorter) <= float(longer)
    except ValueError:  # whoever knows the key's type refuses it
        return True


def _fitted(role: Role, config: Config, named: Mapping[str, Any]) -> dict[str, str]:
    """Make what nobody named fit what somebody did; what was changed, and for which key."""
    found = {}
    for shorter, longer in _FITTED[role]:
        if (shorter in named) == (longer in named):
            continue
        one, other = (shorter, longer) if shorter in named else (longer, shorter)
        both = {one: named[one], other: config.get(other, client_default(role, other, LIBRDKAFKA))}
        if not _in_order(both[shorter], both[longer], strictly=False):
            config[other] = both[one]
            found[other] = one
    session = config.get("session.timeout.ms")
    beat = config.get(HEARTBEAT, client_default(role, HEARTBEAT, LIBRDKAFKA))
    if "session.timeout.ms" in found and not _in_order(beat, session, strictly=True):
        config[HEARTBEAT] = max(1, int(str(session)) // 3)
        found[HEARTBEAT] = "session.timeout.ms"
    return found


def _within_a_transaction(config: Config, named: Collection[str]) -> dict[str, str]:
    """Shorten what may not take longer than a transaction and was not `named`; what was changed,
    and for which key."""
    if "transactional.id" not in config:
        return {}
    found, limit = {}, "transaction.timeout.ms"
    timeout = config.setdefault(limit, TRANSACTION_TIMEOUT_MS)
    for key in WITHIN_A_TRANSACTION:
        if key not in named and not _in_order(config[key], timeout, strictly=False):
            config[key] = int(timeout)
            found[key] = limit
    return found


def _fit_together(config: Config, named: Mapping[str, Any], client: ClientName) -> None:
    """What a client does by itself with settings that nobody named."""
    in_flight = "max.in.flight.requests.per.connection"
    if client == LIBRDKAFKA:
        if "enable.idempotence" not in named and "transactional.id" in named:
            config["enable.idempotence"] = True
        if in_flight not in named and config["enable.idempotence"] is True:
            config[in_flight] = IN_FLIGHT
    elif "enable.idempotence" not in named and not may_be_idempotent(config):
        config["enable.idempotence"] = False


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
    told = str(config["transactional.id"])
    return told.replace(INDEX, str(number)) if INDEX in told else f"{told}-{number}"


def of_one(config: Mapping[str, Any], number: int, slot: int) -> Config:
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
