"""Writes a scenario's Kafka release and metadata mode in one spelling, however the user spelled
them.

    kafka = "4.4"                  "4.4.0", and metadata = "kraft"
    kafka = "3.9.2", no more       neither word, as in a file that names none
    session_ms = 2000              in [cluster.server] zookeeper.session.timeout.ms or, with KRaft,
                                   broker.session.timeout.ms, with a heartbeat of two ninths, as
                                   in Kafka's own 2 of 9 s
    [cluster.broker]               with ZooKeeper [cluster.server]: all nodes are brokers
    [cluster.zoo]                  with KRaft left out, as [cluster.controller] is with ZooKeeper

So equal experiments have one digest (harness.model.runs.configuration), and each setting is in one
place. The scenario's file and the settings on top of it are spelled anew one by one, so that the
same ones win as before.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from harness.model.sections.kafka_releases import (
    DEFAULT,
    KRAFTS_SESSION,
    SESSION_MS,
    SHORTEST_SESSION_MS,
    ZOOKEEPERS_SESSION,
    default_metadata,
    release_of,
)

_HEARTBEAT: Final = "broker.heartbeat.interval.ms"
_HEARTBEATS_SHARE: Final = 2 / 9
_KAFKAS_WORDS: Final = (*SESSION_MS, _HEARTBEAT)  # for a session
_OF_NODES: Final = ("server", "broker", "controller")
_TABLES: Final = {
    "cluster": "",
    **{f"cluster.{each}": each for each in (*_OF_NODES, "features", "zoo")},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """A scenario's tables and the settings on top of them, in one spelling."""

    raw: dict[str, Any]
    settings: dict[str, Any]
    notes: tuple[str, ...]


def normalize(
    raw: Mapping[str, Any], settings: Mapping[str, Any], users: Mapping[str, Any] | None = None
) -> Normalized:
    """The same scenario in one spelling. What is wrong in itself stays, and the model refuses it.

    `users`: the tables of the user's own files, by default all; a note names only what these set.
    """
    tables, given = copy.deepcopy(dict(raw)), dict(settings)
    own = tables.get("cluster", {})
    if not isinstance(own, dict):
        return Normalized(raw=tables, settings=given, notes=())
    given = _by_key(own, given)
    words = {key: given.get(f"cluster.{key}", own.get(key, "")) for key in ("kafka", "metadata")}
    if not all(isinstance(word, str) for word in words.values()):
        return Normalized(raw=copy.deepcopy(dict(raw)), settings=dict(settings), notes=())
    release = release_of(str(words["kafka"]))
    metadata = words["metadata"] or default_metadata(release)
    beside_zookeeper = metadata == "zookeeper"
    unused: tuple[str, ...] = ("zookeepers",)
    if beside_zookeeper:
        _move(own, given, "broker", "server")
        unused = ("controllers", "voters")
    _session(own, given, beside_zookeeper=beside_zookeeper)
    for key in ("kafka", "metadata", *unused):
        own.pop(key, None)
        given.pop(f"cluster.{key}", None)
    named = (raw if users is None else users).get("cluster", {})
    nobodys = ("controller", "features") if beside_zookeeper else ("zoo",)
    notes = _drop_unused(own, given, nobodys, named)
    if not (beside_zookeeper and release == DEFAULT):
        own |= {"kafka": release, "metadata": metadata}
    if own or "cluster" in tables:
        tables["cluster"] = own
    return Normalized(raw=tables, settings=given, notes=notes)


def without_session(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario's tables without Kafka's own session keys, if one that extends it names
    session_ms."""
    cluster = below.get("cluster")
    named = above.get("cluster")
    if not (isinstance(cluster, dict) and isinstance(named, dict) and "session_ms" in named):
        return dict(below)
    return {**below, "cluster": {key: _drop_session(key, value) for key, value in cluster.items()}}


def _drop_session(section: str, table: Any) -> Any:
    if section not in _OF_NODES or not isinstance(table, dict):
        return table
    return {key: value for key, value in table.items() if key not in _KAFKAS_WORDS}


def _by_key(own: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with each key of [cluster] and its sections by itself: a table that is set as a
    whole replaces the file's, and what was set of it before."""
    by_key: dict[str, Any] = {}
    for path, value in settings.items():
        if path not in _TABLES or not isinstance(value, dict):
            by_key[path] = value
            continue
        if section := _TABLES[path]:
            own.pop(section, None)
        else:
            own.clear()
        by_key = {key: set_ for key, set_ in by_key.items() if not key.startswith(f"{path}.")}
        by_key |= _by_key(own, {f"{path}.{key}": set_ for key, set_ in value.items()})
    return by_key


def _move(own: dict[str, Any], settings: dict[str, Any], section: str, into: str) -> None:
    """Move a section's keys into another one, where they win."""
    if isinstance(own.get(section), dict) and isinstance(own.get(into, {}), dict):
        own[into] = {**own.get(into, {}), **own.pop(section)}
    for path in [path for path in settings if path.startswith(f"cluster.{section}.")]:
        settings[f"cluster.{into}.{path.removeprefix(f'cluster.{section}.')}"] = settings.pop(path)


def _session(own: dict[str, Any], settings: dict[str, Any], *, beside_zookeeper: bool) -> None:
    """Replace session_ms by Kafka's own keys; a number that is not valid stays."""
    if _is_session(ms := own.get("session_ms")) and isinstance(own.get("server", {}), dict):
        del own["session_ms"]
        own["server"] = {**_in_kafkas_words(ms, beside_zookeeper), **own.get("server", {})}
    if _is_session(ms := settings.get("cluster.session_ms")):
        del settings["cluster.session_ms"]
        own |= {key: _drop_session(key, value) for key, value in own.items()}
        for key, value in _in_kafkas_words(ms, beside_zookeeper).items():
            settings.setdefault(f"cluster.server.{key}", value)


def _is_session(ms: Any) -> TypeGuard[int]:
    return type(ms) is int and ms >= SHORTEST_SESSION_MS


def _in_kafkas_words(ms: int, beside_zookeeper: bool) -> dict[str, int]:
    if beside_zookeeper:
        return {ZOOKEEPERS_SESSION: ms}
    return {KRAFTS_SESSION: ms, _HEARTBEAT: max(1, round(ms * _HEARTBEATS_SHARE))}


def _drop_unused(
    own: dict[str, Any], settings: dict[str, Any], sections: tuple[str, ...], named: Any
) -> tuple[str, ...]:
    """Drop the sections that no node reads, with one note on those that the user `named`."""
    dropped = []
    for section in sections:
        paths = [path for path in settings if path.startswith(f"cluster.{section}.")]
        own.pop(section, None)
        if paths or (isinstance(named, Mapping) and named.get(section)):
            dropped.append(f"cluster.{section}")
        for path in paths:
            del settings[path]
    if not dropped:
        return ()
    whose = "with KRaft there is no ZooKeeper" if "zoo" in sections else "there is no KRaft"
    return (f"{' and '.join(dropped)} left out: {whose}",)
