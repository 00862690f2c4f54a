"""What a run put to the test, as one digest: runs with the same one may stand in one cell.

It is of what reached brokers, clients, topic and workload, and of the faults as they were asked
for: not of the seed and what was drawn by it, of names, titles and demands, of paths and ports. A
key that comes with a later release, and has its default, changes nothing.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final

from harness.model.runs.run_record import RunRecord

OF_SCENARIO: Final[dict[str, Any]] = {
    "cluster": True,
    "topic": {"partitions", "replication_factor", "leader", "config"},
    "workload": True,
    "faults": True,
    "mixed": True,
    "check": True,
}
PLACES = ("location", "path", "file", "dir", "dirs", "port", "listeners", "servers", "connect")


def digest_of(record: RunRecord) -> str:
    """The digest of a run's configuration: 16 hexadecimal digits of a SHA-256."""
    asked = record.scenario.model_dump(mode="json", include=OF_SCENARIO, exclude_defaults=True)
    nodes = record.node_settings
    told = {
        "scenario": asked,
        "nodes": nodes.model_dump(mode="json", exclude_defaults=True) if nodes else {},
    }
    text = json.dumps(_without_places(told), sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


def _without_places(told: Any) -> Any:
    """The same without settings that name a place on this machine or its network."""
    if not isinstance(told, dict):
        return told
    return {
        key: _without_places(value)
        for key, value in told.items()
        if key.rsplit(".", 1)[-1] not in PLACES
    }
