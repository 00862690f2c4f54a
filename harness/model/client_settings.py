"""Settings of Kafka's clients that decide promises: one name for each, and their defaults.

{"request.required.acks": -1}    =>  acks "all"
{}                               =>  acks "all", retries 2147483647, 5 in flight, as in the Java
                                     client
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ACKS, RETRIES, IN_FLIGHT = "all", 2147483647, 5  # where nobody says otherwise
# One name for each setting: librdkafka knows several by two.
ALIASES = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "delivery.timeout.ms": "message.timeout.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
}


# What promises depend on, and librdkafka takes in several spellings.
_BOOLEANS = ("enable.idempotence", "enable.auto.commit", "check.crcs", "allow.auto.create.topics")
_SPELLED = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def by_one_name(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with one name for each setting, and one spelling of acks and booleans."""
    plain = {ALIASES.get(key, key): value for key, value in config.items()}
    if str(plain.get("acks")) == "-1":
        plain["acks"] = "all"
    spelled = {k: _SPELLED.get(str(plain[k]).lower(), plain[k]) for k in _BOOLEANS if k in plain}
    return {**plain, **spelled}


def acks_of(producer: Mapping[str, Any]) -> str:
    """A producer's acks: "0", "1" or "all"."""
    acks = str(by_one_name(producer).get("acks", ACKS))
    return "all" if acks == "-1" else acks


def retries_of(producer: Mapping[str, Any]) -> int:
    """How often a producer sends an unanswered request again."""
    return int(by_one_name(producer).get("retries", RETRIES))


def leaves_one_copy(producer: Mapping[str, Any]) -> bool:
    """Whether each send leaves one record at most after the one that was acknowledged.

    librdkafka also repeats sends without counting, but only answered ones: such a copy lies before.
    """
    idempotent = str(producer.get("enable.idempotence", False)).lower() == "true"
    return idempotent or "transactional.id" in producer or retries_of(producer) == 0


def timeout_ms_of(producer: Mapping[str, Any]) -> float:
    """After how long a producer gives a send up, in ms; 0: not told."""
    return float(by_one_name(producer).get("message.timeout.ms", 0))


def in_flight_of(producer: Mapping[str, Any]) -> int:
    """How many unanswered requests a producer sends to a broker."""
    return int(by_one_name(producer).get("max.in.flight.requests.per.connection", IN_FLIGHT))


def of_one_generation(consumer: Mapping[str, Any]) -> bool:
    """Whether a group's members share one generation, and each is its own owner: not with the
    protocol in which each has an epoch of its own (KIP-848), nor where a static member's successor
    takes over in the same generation (KIP-345)."""
    return of_classic_protocol(consumer) and not consumer.get("group.instance.id")


def of_classic_protocol(consumer: Mapping[str, Any]) -> bool:
    """Whether members themselves set the length of their session (not with KIP-848)."""
    return str(consumer.get("group.protocol", "classic")).lower() == "classic"


EARLIEST, LATEST = "earliest", "latest"
# librdkafka's other words for these.
_RESETS = {
    **dict.fromkeys(("smallest", "beginning"), EARLIEST),
    **dict.fromkeys(("largest", "end"), LATEST),
}


def resets_of(consumer: Mapping[str, Any]) -> str | None:
    """auto.offset.reset in Java's words, which says where a consumer without a position goes on;
    None: not told."""
    reset = consumer.get("auto.offset.reset")
    return None if reset is None else _RESETS.get(str(reset), str(reset))
