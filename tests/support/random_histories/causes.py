"""Random causes, and what they permit: few moments and places, so that limits are often touched."""

from __future__ import annotations

from random import Random
from typing import Any

from analysis.causes.cause import Cause
from analysis.causes.kinds import EVERY


def maybe(random: Random, *values: Any) -> Any:
    """One of them, or null."""
    return random.choice([None, *values])


def a_time(random: Random) -> Any:
    """Few moments, so that times are often equal."""
    return maybe(random, *range(1, 8))


def a_limit(random: Random) -> Any:
    """Most causes have few."""
    return a_time(random) if random.random() < 0.7 else None


def a_cause(random: Random) -> tuple[Cause, tuple[str, ...]]:
    """A cause, and the anomalies that it permits."""
    anomalies = tuple(name for name in ("lost", "vanished") if random.random() < 0.8)
    return Cause(
        kind=EVERY,
        words="anything",
        at_ns=random.randint(1, 7),
        sure=random.random() < 0.5,
        partition=maybe(random, 0, 1),
        outcomes=random.choice([(), (), ("aborted",), ("aborted", "in_reads")]),
        acked_only=random.random() < 0.3,
        process=maybe(random, "member-0") if random.random() < 0.4 else None,
        begun_before_ns=a_limit(random),
        known_from_ns=a_limit(random),
        known_until_ns=a_limit(random),
        shown_from_ns=a_limit(random),
        shown_until_ns=a_limit(random) if random.random() < 0.4 else None,
        unsettled_ns=a_limit(random),
        from_offset=a_time(random) if random.random() < 0.3 else None,
        to_offset=a_time(random) if random.random() < 0.3 else None,
        brokers=random.choice([(), (), ("kafka1",), ("kafka1", "kafka3")]),
    ), anomalies


def lacked_by(random: Random) -> Any:
    """Members of an ISR, as evidence has them."""
    return maybe(random, "kafka1", "kafka3", "kafka1,kafka3", "kafka1,kafka2")
