"""Asks librdkafka itself about a configuration: makes a client that connects to nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer

from harness.clients.java_keys import Role

# Settings with which a client fails before it prints anything.
_REFUSED: Final = {"reconnect.backoff.ms": 2, "reconnect.backoff.max.ms": 1}
_OUTSIDE = re.compile(r"outside allowed range (-?\d+)\.\.(-?\d+)")
# Keys whose values may begin with a digit, and be none.
_TEXTS: Final = ("transactional.id", "client.rack", "group.instance.id", "group.remote.assignor")


def complaint_of_librdkafka(
    config: Mapping[str, Any], role: Role, *, of_each: bool = False
) -> str | None:
    """Why librdkafka refuses to make a client of `config`; None if it does not. `of_each`: only
    complaints about a single setting, whatever the others are."""
    quiet = {**config, "log_level": 0}
    if quiet.pop("debug", None) is not None:  # it would fill the terminal
        quiet |= {"debug": config["debug"], **_REFUSED} if of_each else {}
    try:
        if role == "producer":
            Producer(quiet)
        else:
            Consumer({"group.id": "check", **quiet}).close()
    except KafkaException as error:
        words, of_all = str(error.args[0].str()).strip(), f"Failed to create {role}: "
        together = words.startswith(of_all) and not _OUTSIDE.search(words)
        return None if of_each and together else words.removeprefix(of_all)
    return None


def limit_of(complaint: str, value: str) -> str | None:
    """The nearest value that librdkafka takes if it complains that this one is out of range; None
    for any other complaint."""
    limits = _OUTSIDE.search(complaint)
    if limits is None:
        return None
    least, most = limits.groups()
    return least if float(value) < float(least) else most


def not_a_number(key: str, value: object) -> str | None:
    """Why a value is wrong of which librdkafka would read only the first digits; None if it is
    right."""
    text = str(value)
    if key in _TEXTS or not re.match(r"[+-]?\d", text) or re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return None
    return "not a number: write it without a unit"
