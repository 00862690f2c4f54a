"""Kafka's limits between brokers' settings: a broker that breaks one does not start, or does not
serve.

    replica.fetch.wait.max.ms = 500, replica.lag.time.max.ms = 400     does not start
    log.retention.ms = 0                                               the same
    transaction.state.log.min.isr = 2, ….replication.factor = 1        no transaction ends

`fitted`: settings of the scenario or the harness give way to those that the user named.
Source: Kafka 3.9's KafkaConfig.validateValues; TransactionStateManager; KIP-98.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.cluster.node_settings import SERVER_DEFAULTS
from harness.model.kafka_text import kafka_text

MIB = 1 << 20
BUFFER = "log.cleaner.dedupe.buffer.size"
MOST_BUFFER = 128 * MIB  # Kafka's default: a run's brokers have 512 MiB in all


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """One setting that may not be above another."""

    low: str
    high: str
    defaults: tuple[int, int]  # Kafka's
    times: int = 1  # the first counts so many times
    strictly: bool = False
    unlimited: int | None = None  # the value of `high` that stands for no limit

    def holds(self, settings: Mapping[str, Any]) -> bool:
        """Whether it does; true where a value is no number, which its type refuses."""
        low, high = (self._number(settings, side) for side in (0, 1))
        if low is None or high is None or high == self.unlimited:
            return True
        return low * self.times < high if self.strictly else low * self.times <= high

    def _number(self, settings: Mapping[str, Any], at: int) -> int | None:
        text = kafka_text(settings.get((self.low, self.high)[at], self.defaults[at]))
        return int(text) if re.fullmatch(r"[+-]?\d{1,19}", text) else None


SESSIONS_MS = (6000, 1800000)  # that brokers take from members, where nobody says otherwise
_COPIES = 3  # of Kafka's own topics, where the cluster has as many brokers
_ORDERS = (
    _Order(low="replica.fetch.wait.max.ms", high="replica.lag.time.max.ms", defaults=(500, 30000)),
    _Order(
        low="replica.fetch.wait.max.ms", high="replica.socket.timeout.ms", defaults=(500, 30000)
    ),
    _Order(
        low="log.cleaner.threads",
        high=BUFFER,
        defaults=(1, MOST_BUFFER),
        times=MIB,
        strictly=True,
    ),
    _Order(
        low="offsets.commit.required.acks",
        high="offsets.topic.replication.factor",
        defaults=(-1, _COPIES),
    ),
    _Order(
        low="transaction.state.log.min.isr",
        high="transaction.state.log.replication.factor",
        defaults=(1, _COPIES),
    ),
    _Order(
        low="socket.request.max.bytes",
        high="queued.max.request.bytes",
        defaults=(100 * MIB, -1),
        unlimited=-1,
    ),
    _Order(
        low="group.min.session.timeout.ms",
        high="group.max.session.timeout.ms",
        defaults=SESSIONS_MS,
    ),
)


def _addresses(text: str) -> bool:
    return all(re.fullmatch(r"[^:,]+:\d+", pair.strip()) for pair in text.split(",") if pair)


_PROTOCOL, _OLD = "inter.broker.protocol.version", ("0.8", "0.9", "0.10")
# Values that no page of Kafka's documents as wrong.
_ALONE: dict[str, tuple[Callable[[str], bool], str]] = {
    "log.retention.ms": (lambda text: text != "0", "-1, or at least 1"),
    "log.retention.minutes": (lambda text: text != "0", "-1, or at least 1"),
    "log.retention.hours": (lambda text: text != "0", "-1, or at least 1"),
    "log.roll.ms": (lambda text: text != "0" and not text.startswith("-"), "at least 1"),
    "log.roll.hours": (lambda text: text != "0" and not text.startswith("-"), "at least 1"),
    "log.roll.jitter.ms": (lambda text: not text.startswith("-"), "at least 0"),
    "log.roll.jitter.hours": (lambda text: not text.startswith("-"), "at least 0"),
    "max.connections.per.ip.overrides": (_addresses, "HOST:NUMBER, with commas between"),
    "offsets.topic.compression.codec": (lambda text: text in "01234", "0 to 4"),
    _PROTOCOL: (
        lambda text: text.startswith(("0.", "1.", "2.", "3.")),
        "below 4.0, where ZooKeeper ends",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The scenario's settings that stay beside the user's, and those that had to be changed."""

    own: dict[str, Any]
    added: dict[str, tuple[str, str]] = field(default_factory=dict)  # key -> value, for which key


def fitted(own: Mapping[str, Any], of_file: Mapping[str, Any], given: Mapping[str, Any]) -> Fitted:
    """The settings that fit those of a file and those `given` by --set. One of the scenario's `own`
    that contradicts a file is dropped; one of the harness's that does not fit is changed."""
    named = {**of_file, **given}
    stay, added = dict(own), dict[str, tuple[str, str]]()
    for order in _ORDERS:
        for key, other in ((order.low, order.high), (order.high, order.low)):
            if other not in named or key in named:
                continue
            if (
                key in stay
                and other in of_file
                and not order.holds({**SERVER_DEFAULTS, **stay, **named})
            ):
                del stay[key]
            is_default = key in SERVER_DEFAULTS and key not in stay
            if is_default and not order.holds({**SERVER_DEFAULTS, **stay, **named}):
                number = kafka_text(named[other])
                fits = str(int(number) * order.times * 2) if order.times > 1 else number
                fits = str(min(int(fits), MOST_BUFFER)) if key == BUFFER else fits
                added[key] = (fits, other)
    return Fitted(own=stay, added=added)


def problems(
    of_both: Mapping[str, Any], of_brokers: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """A sentence, with the keys' whole paths, for each reason why brokers with these settings of
    [cluster.server] and [cluster.broker] would not start, or not serve."""
    own = of_brokers or {}
    server = {**of_both, **own}
    path = {key: f"cluster.{'broker' if key in own else 'server'}.{key}" for key in server}
    for key, (right, words) in _ALONE.items():
        if key in server and not right(kafka_text(server[key]).strip()):
            yield f"{path[key]} is {kafka_text(server[key])}, and is to be {words}"
    if str(server.get("max.connections.per.ip")) == "0" and not server.get(
        "max.connections.per.ip.overrides"
    ):
        yield f"{path['max.connections.per.ip']} is 0: nobody could connect: raise it"
    if str(server.get(_PROTOCOL)).startswith(_OLD) and "log.message.format.version" not in server:
        yield (
            f"{path[_PROTOCOL]} is {server[_PROTOCOL]}, below 0.11: set "
            "log.message.format.version to it as well, or no broker starts"
        )
    size = kafka_text(server.get(BUFFER, 0))
    if size.isdecimal() and int(size) > MOST_BUFFER:
        yield (
            f"{path[BUFFER]} is {size}, more memory than a run's brokers have: lower it "
            f"to {MOST_BUFFER}"
        )
    whole = {**SERVER_DEFAULTS, **server}
    for order in _ORDERS:
        if not order.holds(whole) and (order.low in server or order.high in server):
            low, high = (
                kafka_text(whole.get(key, default))
                for key, default in zip((order.low, order.high), order.defaults, strict=True)
            )
            times = f" times {order.times:,}" if order.times > 1 else ""
            yield (
                f"cluster.server: {order.low} = {low}{times} is above {order.high} = {high}, with "
                "which Kafka does not start or serves nobody: change one of them"
            )
