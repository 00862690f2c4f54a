"""Which Kafka a scenario runs, and who keeps its metadata: whatever it is called, in one spelling.

    kafka = "4.4"                  "4.4.0", and metadata = "kraft"
    kafka = "3.9.2", no more       neither word: as a file that names none
    session_ms = 2000              in [cluster.server] zookeeper.session.timeout.ms or, with KRaft,
                                   broker.session.timeout.ms, with a heartbeat of two ninths, as
                                   in Kafka's own 2 of 9 s
    [cluster.broker]               with ZooKeeper [cluster.server]: there is nobody else
    [cluster.zoo]                  with KRaft left out, as [cluster.controller] is with ZooKeeper

So what a run puts to the test has one digest (harness.model.runs.configuration), and whoever looks
at a setting finds it in one place. What a scenario's file says and what is set on top of it are
spelled anew each by itself: what wins over what stays as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.model.sections.kafka_releases import DEFAULT, default_metadata, release_of

_ZOOKEEPERS: Final = "zookeeper.session.timeout.ms"
_KRAFTS, _HEARTBEAT = "broker.session.timeout.ms", "broker.heartbeat.interval.ms"
_HEARTBEATS_SHARE: Final = 2 / 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A scenario's tables and what is set on top of them, in one spelling."""

    raw: dict[str, Any]
    settings: dict[str, Any]
    notes: tuple[str, ...]


def in_one_spelling(raw: Mapping[str, Any], settings: Mapping[str, Any]) -> Spelled:
    """The same scenario. What is wrong in itself is left as it is, for the model to refuse."""
    tables, laid = copy.deepcopy(dict(raw)), dict(settings)
    own = tables.get("cluster", {})
    if not isinstance(own, dict) or "cluster" in laid:
        return Spelled(raw=tables, settings=laid, notes=())
    told = {key: laid.get(f"cluster.{key}", own.get(key, "")) for key in ("kafka", "metadata")}
    if not all(isinstance(each, str) for each in told.values()):
        return Spelled(raw=tables, settings=laid, notes=())
    release = release_of(str(told["kafka"]))
    metadata = told["metadata"] or default_metadata(release)
    beside_zookeeper = metadata == "zookeeper"
    unused: tuple[str, ...] = ("zookeepers",)
    if beside_zookeeper:
        _moved(own, laid, "broker", "server")
        unused = ("controllers", "voters")
    _session(own, laid, beside_zookeeper=beside_zookeeper)
    for key in ("kafka", "metadata", *unused):
        own.pop(key, None)
        laid.pop(f"cluster.{key}", None)
    notes = _left_out(own, laid, ("controller", "features") if beside_zookeeper else ("zoo",))
    if not (beside_zookeeper and release == DEFAULT):
        own |= {"kafka": release, "metadata": metadata}
    if own or "cluster" in tables:
        tables["cluster"] = own
    return Spelled(raw=tables, settings=laid, notes=notes)


def _moved(own: dict[str, Any], laid: dict[str, Any], section: str, into: str) -> None:
    """A section's keys in another one, where they win."""
    if isinstance(own.get(section), dict) and isinstance(own.get(into, {}), dict):
        own[into] = {**own.get(into, {}), **own.pop(section)}
    for path in [each for each in laid if each.startswith(f"cluster.{section}.")]:
        laid[f"cluster.{into}.{path.removeprefix(f'cluster.{section}.')}"] = laid.pop(path)


def _session(own: dict[str, Any], laid: dict[str, Any], *, beside_zookeeper: bool) -> None:
    """session_ms in Kafka's own words; a number that is none stays."""
    if isinstance(ms := own.get("session_ms"), int) and isinstance(own.get("server", {}), dict):
        del own["session_ms"]
        own["server"] = {**_in_kafkas_words(ms, beside_zookeeper), **own.get("server", {})}
    if isinstance(ms := laid.get("cluster.session_ms"), int):
        del laid["cluster.session_ms"]
        for key, value in _in_kafkas_words(ms, beside_zookeeper).items():
            laid.setdefault(f"cluster.server.{key}", value)


def _in_kafkas_words(ms: int, beside_zookeeper: bool) -> dict[str, int]:
    if beside_zookeeper:
        return {_ZOOKEEPERS: ms}
    return {_KRAFTS: ms, _HEARTBEAT: max(1, round(ms * _HEARTBEATS_SHARE))}


def _left_out(
    own: dict[str, Any], laid: dict[str, Any], sections: tuple[str, ...]
) -> tuple[str, ...]:
    """What there is nobody for, taken out, and one note of it."""
    found = []
    for section in sections:
        paths = [path for path in laid if path.startswith(f"cluster.{section}.")]
        if own.pop(section, None) or paths:
            found.append(f"cluster.{section}")
        for path in paths:
            del laid[path]
    if not found:
        return ()
    whose = "with KRaft there is no ZooKeeper" if "zoo" in sections else "there is no KRaft"
    return (f"{' and '.join(found)} left out: {whose}",)
