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
class Spelled:
    """A scenario's tables and what is set on top of them, in one spelling."""

    raw: dict[str, Any]
    settings: dict[str, Any]
    notes: tuple[str, ...]


def in_one_spelling(
    raw: Mapping[str, Any], settings: Mapping[str, Any], users: Mapping[str, Any] | None = None
) -> Spelled:
    """The same scenario. What is wrong in itself is left as it is, for the model to refuse.

    `users`: what of the tables the user's own files say, by default all: a note tells of nothing
    that a shipped scenario leaves out by itself."""
    tables, laid = copy.deepcopy(dict(raw)), dict(settings)
    own = tables.get("cluster", {})
    if not isinstance(own, dict):
        return Spelled(raw=tables, settings=laid, notes=())
    laid = _by_key(own, laid)
    told = {key: laid.get(f"cluster.{key}", own.get(key, "")) for key in ("kafka", "metadata")}
    if not all(isinstance(each, str) for each in told.values()):
        return Spelled(raw=copy.deepcopy(dict(raw)), settings=dict(settings), notes=())
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
    named = (raw if users is None else users).get("cluster", {})
    nobodys = ("controller", "features") if beside_zookeeper else ("zoo",)
    notes = _left_out(own, laid, nobodys, named)
    if not (beside_zookeeper and release == DEFAULT):
        own |= {"kafka": release, "metadata": metadata}
    if own or "cluster" in tables:
        tables["cluster"] = own
    return Spelled(raw=tables, settings=laid, notes=notes)


def without_session(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario's tables without its session in Kafka's own words, where one that extends it names
    session_ms."""
    cluster = below.get("cluster")
    named = above.get("cluster")
    if not (isinstance(cluster, dict) and isinstance(named, dict) and "session_ms" in named):
        return dict(below)
    return {**below, "cluster": {key: _sessionless(key, told) for key, told in cluster.items()}}


def _sessionless(section: str, told: Any) -> Any:
    if section not in _OF_NODES or not isinstance(told, dict):
        return told
    return {key: value for key, value in told.items() if key not in _KAFKAS_WORDS}


def _by_key(own: dict[str, Any], laid: Mapping[str, Any]) -> dict[str, Any]:
    """What is set, with each key of [cluster] and its sections by itself: a table that is set as a
    whole takes the place of the file's, and of what was set of it before."""
    told: dict[str, Any] = {}
    for path, value in laid.items():
        if path not in _TABLES or not isinstance(value, dict):
            told[path] = value
            continue
        if section := _TABLES[path]:
            own.pop(section, None)
        else:
            own.clear()
        told = {each: of for each, of in told.items() if not each.startswith(f"{path}.")}
        told |= _by_key(own, {f"{path}.{key}": each for key, each in value.items()})
    return told


def _moved(own: dict[str, Any], laid: dict[str, Any], section: str, into: str) -> None:
    """A section's keys in another one, where they win."""
    if isinstance(own.get(section), dict) and isinstance(own.get(into, {}), dict):
        own[into] = {**own.get(into, {}), **own.pop(section)}
    for path in [each for each in laid if each.startswith(f"cluster.{section}.")]:
        laid[f"cluster.{into}.{path.removeprefix(f'cluster.{section}.')}"] = laid.pop(path)


def _session(own: dict[str, Any], laid: dict[str, Any], *, beside_zookeeper: bool) -> None:
    """session_ms in Kafka's own words; a number that is none stays."""
    if _is_session(ms := own.get("session_ms")) and isinstance(own.get("server", {}), dict):
        del own["session_ms"]
        own["server"] = {**_in_kafkas_words(ms, beside_zookeeper), **own.get("server", {})}
    if _is_session(ms := laid.get("cluster.session_ms")):
        del laid["cluster.session_ms"]
        own |= {key: _sessionless(key, told) for key, told in own.items()}
        for key, value in _in_kafkas_words(ms, beside_zookeeper).items():
            laid.setdefault(f"cluster.server.{key}", value)


def _is_session(ms: Any) -> TypeGuard[int]:
    return type(ms) is int and ms >= SHORTEST_SESSION_MS


def _in_kafkas_words(ms: int, beside_zookeeper: bool) -> dict[str, int]:
    if beside_zookeeper:
        return {ZOOKEEPERS_SESSION: ms}
    return {KRAFTS_SESSION: ms, _HEARTBEAT: max(1, round(ms * _HEARTBEATS_SHARE))}


def _left_out(
    own: dict[str, Any], laid: dict[str, Any], sections: tuple[str, ...], named: Any
) -> tuple[str, ...]:
    """What there is nobody for, taken out, and one note of what somebody `named` of it."""
    found = []
    for section in sections:
        paths = [path for path in laid if path.startswith(f"cluster.{section}.")]
        own.pop(section, None)
        if paths or (isinstance(named, Mapping) and named.get(section)):
            found.append(f"cluster.{section}")
        for path in paths:
            del laid[path]
    if not found:
        return ()
    whose = "with KRaft there is no ZooKeeper" if "zoo" in sections else "there is no KRaft"
    return (f"{' and '.join(found)} left out: {whose}",)
