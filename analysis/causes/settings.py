"""The values that a setting of the topic may have had in a stretch of time.

    topic: unclean.leader.election.enable = false    set-config to true, 5 s to 9 s
    =>  "false" at 4 s; "true" at 6 s; either from 4 s to 6 s

The topic's own setting overrides the brokers', whichever changed last. A change is in force from
its proof until its healing begins; while it is made or undone, either value may be.

The controller decides whether an election may be unclean: with KRaft by its own setting, with
ZooKeeper by the brokers', and with KRaft below 3.9 by none (KAFKA-12670). A fault that asks for an
unclean election allows it while it is in force, whatever is set.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.causes.run_facts.configuration import UNCLEAN
from analysis.causes.run_facts.faults import Row, meets
from analysis.causes.seen import Seen

FLUSH = "flush.messages"
Stretch = tuple[int, int | None]
BROKER_KEY = {FLUSH: "log.flush.interval.messages"}  # where it is not the topic's
DEFAULTS = {UNCLEAN: "false", FLUSH: ""}


def topic_values(seen: Seen, key: str, from_ns: int, to_ns: int | None) -> frozenset[str]:
    """What may have been in force for the topic between two moments (to_ns None: without end)."""
    if _does_nothing(seen, key):
        return frozenset({DEFAULTS[key]})
    own = _values(seen, key, seen.topic_config.get(key), (from_ns, to_ns), by_brokers=False)
    inherited = broker_values(seen, key, from_ns, to_ns) if None in own else frozenset[str]()
    return _words(own) | inherited


def broker_values(seen: Seen, key: str, from_ns: int, to_ns: int | None) -> frozenset[str]:
    """The same of topics that have no setting of their own."""
    if _does_nothing(seen, key):
        return frozenset({DEFAULTS[key]})
    key_of_brokers = BROKER_KEY.get(key, key)
    settings = seen.kafka.deciding(seen.server) if key == UNCLEAN else seen.server
    default = settings.get(key_of_brokers, DEFAULTS[key])
    return _words(_values(seen, key_of_brokers, default, (from_ns, to_ns), by_brokers=True))


def unclean_allowed(
    seen: Seen, from_ns: int, to_ns: int | None
) -> Iterator[tuple[bool, str | None]]:
    """Whether an unclean election was allowed at any moment of a stretch: (True, None), or (False,
    why it is not known), or nothing where it certainly was not."""
    asked = any(
        seen.happened.asks_for_unclean(fault) and meets(fault, from_ns, to_ns)
        for fault, _ in seen.happened.known()
    )
    if asked or "true" in topic_values(seen, UNCLEAN, from_ns, to_ns):
        yield True, None
    elif any(meets(fault, from_ns, to_ns) for fault in seen.happened.unknown()):
        yield False, seen.why_unknown()


def _does_nothing(seen: Seen, key: str) -> bool:
    """Whether this Kafka ignores a setting."""
    return key == UNCLEAN and not seen.kafka.configures_unclean


def _values(
    seen: Seen, key: str, base: object, stretch: Stretch, *, by_brokers: bool
) -> set[object]:
    """The values at one level: the configured one, and those that faults changed it to."""
    values, (from_ns, to_ns) = {base}, stretch
    changes = sorted(seen.happened.known(), key=lambda change: int(change[0]["invoke_ns"]))
    for fault, effects in changes:
        value = effects.topic_settings.get(key)
        if key == UNCLEAN and seen.happened.asks_for_unclean(fault):
            continue  # it sets nothing
        of_brokers = seen.happened.options(fault).get("on") == "brokers"
        if value is None or of_brokers is not by_brokers or not meets(fault, from_ns, to_ns):
            continue
        values = {value} if _holds(fault, from_ns, to_ns) else values | {value}
    return values


def _words(values: set[object]) -> frozenset[str]:
    """The values that are set, in lower case."""
    return frozenset(str(value).lower() for value in values if value is not None)


def _holds(fault: Row, from_ns: int, to_ns: int | None) -> bool:
    """Whether a change was in force all the time."""
    undone_ns = fault["heal_invoke_ns"]
    kept = undone_ns is None or (to_ns is not None and undone_ns > to_ns)
    return fault["ok_ns"] is not None and fault["ok_ns"] <= from_ns and kept
