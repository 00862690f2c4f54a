"""What librdkafka itself says of a configuration: it makes a client, and talks to nobody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer

from harness.clients.java_keys import Role

# Keys whose values may begin with a digit, and be none.
_TEXTS: Final = ("transactional.id", "client.rack", "group.instance.id", "group.remote.assignor")


def complaint_of_librdkafka(
    config: Mapping[str, Any], role: Role, *, of_each: bool = False
) -> str | None:
    """Why librdkafka would refuse to make a client of `config`; None if it would not. `of_each`:
    only what it says of a setting whatever the others are."""
    try:
        if role == "producer":
            Producer({**config, "log_level": 0})
        else:
            Consumer({"group.id": "check", **config, "log_level": 0}).close()
    except KafkaException as error:
        told, of_all = str(error.args[0].str()).strip(), f"Failed to create {role}: "
        return None if of_each and told.startswith(of_all) else told.removeprefix(of_all)
    return None


def not_a_number(key: str, value: object) -> str | None:
    """Why a value that librdkafka reads the first digits of cannot be meant; None where it can."""
    text = str(value)
    if key in _TEXTS or not re.match(r"[+-]?\d", text) or re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return None
    return "not a number: write it without a unit"
