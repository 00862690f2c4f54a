"""What a run put to the test, as one digest: runs with the same one may stand in one cell.

It is of what reached brokers, clients, topic and workload, and of the faults as they were asked
for: not of the seed and what was drawn by it, of names, titles and demands, of paths and ports. A
key that comes with a later release, and has its default, changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, Final

from harness.model.runs.run_record import RunRecord

OF_SCENARIO: Final[dict[str, Any]] = {
    "cluster": True,
    "topic": {"partitions", "replication_factor", "leader", "placement", "config"},
    "workload": True,
    "faults": True,
    "mixed": True,
    "check": True,
}
PLACES = ("location", "path", "file", "dir", "dirs", "port", "listeners", "servers", "connect")


def digest_of(record: RunRecord) -> str:
    """The digest of a run's configuration: 16 hexadecimal digits of a SHA-256."""
    text = json.dumps(_told(record), sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


def settings_of(record: RunRecord) -> dict[str, Any]:
    """What the digest is of, each setting by its path: {"scenario.workload.producer.acks": "1"}."""
    return dict(_flat("", _told(record)))


def _flat(path: str, told: Any) -> Iterator[tuple[str, Any]]:
    """What is no table stands by itself, the entries of a list by their number."""
    entries: Iterable[tuple[Any, Any]]
    if isinstance(told, dict):
        entries = told.items()
    elif isinstance(told, list):
        entries = enumerate(told)
    else:
        yield path, told
        return
    for key, value in entries:
        yield from _flat(f"{path}.{key}" if path else str(key), value)


def _told(record: RunRecord) -> dict[str, Any]:
    asked = record.scenario.model_dump(mode="json", include=OF_SCENARIO, exclude_defaults=True)
    nodes = record.node_settings
    of_nodes = nodes.model_dump(mode="json", exclude_defaults=True) if nodes else {}
    told: dict[str, Any] = _without_places({"scenario": asked, "nodes": of_nodes})
    return told


def _without_places(told: Any) -> Any:
    """The same without settings that name a place on this machine or its network."""
    if not isinstance(told, dict):
        return told
    return {
        key: _without_places(value)
        for key, value in told.items()
        if key.rsplit(".", 1)[-1] not in PLACES
    }
