"""What holds of a client where nobody says otherwise, by client and release.

    java          as the Java client of Kafka 3.9 has it: the table of harness.clients.java_keys
    2.8           as Kafka's own Java client of that release had it
    librdkafka    as librdkafka has it, and all clients that are built on it

Java's producers asked the leader alone until 3.0, and are idempotent by themselves from there on
(KIP-679), but for 3.0.0 and 3.1.0 (KAFKA-13598); until 2.1 they did not retry (KIP-91). One that
asks for what an idempotent producer cannot have, as acks=1, is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.clients.defaults import may_be_idempotent
from harness.clients.java_keys import KEYS, Role
from harness.model.client_settings import by_one_name
from harness.model.untold import SETTINGS

LIBRDKAFKA = "librdkafka"
NEWEST = (3, 9)  # the release that the table is of
FIRST = (0, 11)
_ASKS_ALL, _RETRIES = (3, 0), (2, 1)
_FORGOT_IDEMPOTENCE = {(3, 0, 0), (3, 1, 0)}

Config = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client whose defaults hold."""

    words: str  # as a sentence has it
    release: tuple[int, ...] | None  # of Java's; None: librdkafka

    def config(self, role: Role, told: Mapping[str, object]) -> Config:
        """What a client of that role has that was told so: of the settings on which promises
        depend, those that were not told as well."""
        mine = {name for name, whose in SETTINGS.items() if whose == role}
        known: Config = {}
        for key in KEYS[role]:
            default = key.librdkafka_default if self.release is None else key.java_default
            if key.java in mine and default:
                known[key.java] = default
        known |= self._older() if role == "producer" else {}
        config = {**known, **by_one_name(told)}
        asked = "enable.idempotence" in told
        if role == "producer" and not asked and not may_be_idempotent(config):
            config["enable.idempotence"] = "false"
        return config

    def _older(self) -> Config:
        if self.release is None:
            return {}
        older: Config = {}
        if self.release < _ASKS_ALL:
            older |= {"acks": "1", "enable.idempotence": "false"}
        if self.release < _RETRIES:
            older["retries"] = "0"
        if self.release in _FORGOT_IDEMPOTENCE:
            older["enable.idempotence"] = "false"
        return older


def client_of(told: str) -> Client:
    """The client of that name. Raises ValueError with what it may be."""
    if told == LIBRDKAFKA:
        return Client(words="librdkafka", release=None)
    if told == "java":
        number = ".".join(map(str, NEWEST))
        return Client(words=f"the Java client of Kafka {number}", release=NEWEST)
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", told):
        release = tuple(map(int, told.split(".")))
        if release[:2] >= FIRST:
            return Client(words=f"the Java client of Kafka {told}", release=release)
    raise ValueError(
        f'give true or "java", a release of Kafka from 0.11 on, as "2.8", or "{LIBRDKAFKA}"'
    )
