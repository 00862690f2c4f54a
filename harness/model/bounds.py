"""Bounds of stored values: types that a run's own values always fit, and others do not.

Whoever reads a run years later, or somebody else's, relies on them: a time has at most 64 bits, a
name is a word, a setting that promises depend on can be understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from harness.model.client_settings import by_one_name

MOST = 10**12  # of what is counted
LAST_NS = 2**62  # 146 years after the host's start
LONGEST_S = 10**9
ACKS = ("0", "1", "-1", "all")
NUMBERS = (
    "min.insync.replicas",
    "replica.lag.time.max.ms",
    "zookeeper.session.timeout.ms",
    "broker.session.timeout.ms",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.timeout.ms",
)
VERSIONS = (
    "inter.broker.protocol.version",
    "log.message.format.version",
    "message.format.version",
)


def _utc(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or not 2000 <= moment.year < 2200:
        raise ValueError("Input should be a time in ISO 8601, of this century or the next")
    return text


def utc_of(text: str) -> datetime:
    """A time of a record; in UTC where it names no zone. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Time = Annotated[int, Field(ge=0, le=LAST_NS)]  # ns
Number = Annotated[int, Field(ge=0, le=MOST)]
Measure = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[^\x00-\x20\x7f/]{1,200}$")]
Utc = Annotated[str, AfterValidator(_utc)]
RunId = Annotated[str, Field(pattern=r"^([^\x00-\x1f\x7f/]{1,200}/[^\x00-\x1f\x7f/]{1,200})?$")]
Address = Annotated[str, Field(pattern=r"^[^\x00-\x20\x7f]{0,300}:[0-9]{1,5}$")]


# Settings that promises, or how a report puts them, depend on.


def _whole(value: object, most: int) -> bool:
    text = str(value).strip()
    return re.fullmatch(r"-?\d{1,19}", text) is not None and -1 <= int(text) <= most


def problem_of_producer(producer: Mapping[str, Any]) -> str | None:
    """Why a producer's configuration cannot be understood for promises: the key, and what is
    wrong."""
    config = by_one_name(producer)
    if "acks" in config and str(config["acks"]) not in ACKS:
        return f"acks: Input should be one of {', '.join(ACKS)}, got {_short(config['acks'])}"
    for key in ("retries", "max.in.flight.requests.per.connection", "message.timeout.ms"):
        if key in config and not _whole(config[key], 2**31 - 1):
            return f"{key}: Input should be a whole number, got {_short(config[key])}"
    return None


def problem_of_settings(settings: Mapping[str, Any]) -> str | None:
    """The same for a topic's or a broker's settings."""
    for key in NUMBERS:
        if key in settings and not _whole(settings[key], 2**63 - 1):
            return f"{key}: Input should be a whole number, got {_short(settings[key])}"
    for key in VERSIONS:
        if key in settings and not re.match(r"\d{1,4}(\.\d{1,4})+(-|$)", str(settings[key])):
            return f"{key}: Input should be a version, got {_short(settings[key])}"
    return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
