"""The defaults of a client, by client and release.

    java          the Java client of Kafka 3.9: the table of harness.clients.java_keys
    2.8           Kafka's own Java client of that release
    librdkafka    librdkafka, and all clients that are built on it

Java's producers by default waited for the leader only until 3.0 and are idempotent since then
(KIP-679), except 3.0.0 and 3.1.0 (KAFKA-13598); until 2.1 they did not retry (KIP-91). A producer
with settings that exclude idempotence, such as acks=1, is not idempotent.
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
    """A client whose defaults apply."""

    words: str  # as a sentence has it
    release: tuple[int, ...] | None  # of Java's; None: librdkafka

    def config(self, role: Role, given: Mapping[str, object]) -> Config:
        """The given settings of a client of that role, completed by its defaults for those that
        promises depend on."""
        names = {name for name, whose in SETTINGS.items() if whose == role}
        defaults: Config = {}
        for key in KEYS[role]:
            default = key.librdkafka_default if self.release is None else key.java_default
            if key.java in names and default:
                defaults[key.java] = default
        defaults |= self._older() if role == "producer" else {}
        config = {**defaults, **by_one_name(given)}
        asked = "enable.idempotence" in given
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


def client_of(name: str) -> Client:
    """The client of that name. Raises ValueError with the possible names."""
    if name == LIBRDKAFKA:
        return Client(words="librdkafka", release=None)
    if name == "java":
        number = ".".join(map(str, NEWEST))
        return Client(words=f"the Java client of Kafka {number}", release=NEWEST)
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", name):
        release = tuple(map(int, name.split(".")))
        if release[:2] >= FIRST:
            return Client(words=f"the Java client of Kafka {name}", release=release)
    raise ValueError(
        f'give true or "java", a release of Kafka from 0.11 on, as "2.8", or "{LIBRDKAFKA}"'
    )
