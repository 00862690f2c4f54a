"""One digest of what a run put to the test: runs with the same digest may share a cell.

It covers what reached brokers, clients, topic and workload, and the faults as the scenario has
them: not the seed and what it drew, not names, titles and demands, not paths and ports. A program's
files count by their content. A key that a later release adds changes nothing while it has its
default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
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
    "programs": True,
    "outputs": True,
}
PLACES = ("location", "path", "file", "dir", "dirs", "port", "listeners", "servers", "connect")


def digest_of(record: RunRecord) -> str:
    """The digest of a run's configuration: 16 hexadecimal digits of a SHA-256."""
    text = json.dumps(_inputs(record), sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


def settings_of(record: RunRecord) -> dict[str, Any]:
    """The settings in the digest, each by its path: {"scenario.workload.producer.acks": "1"}."""
    return dict(_flat("", _inputs(record)))


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Each value by its path; entries of a list by their number."""
    entries: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    else:
        yield path, value
        return
    for key, inner in entries:
        yield from _flat(f"{path}.{key}" if path else str(key), inner)


def _inputs(record: RunRecord) -> dict[str, Any]:
    asked = record.scenario.model_dump(mode="json", include=OF_SCENARIO, exclude_defaults=True)
    nodes = record.node_settings
    of_nodes = nodes.model_dump(mode="json", exclude_defaults=True) if nodes else {}
    inputs: dict[str, Any] = _without_places({"scenario": asked, "nodes": of_nodes})
    return _by_content(inputs, record.files) if record.scenario.programs or record.files else inputs


def _by_content(tree: Any, files: Mapping[str, str]) -> Any:
    """The settings with files for their names, and no folder of others."""
    if isinstance(tree, dict):
        return {key: _by_content(value, files) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_by_content(value, files) for value in tree]
    if isinstance(tree, str):
        return files.get(tree, tree.rpartition("/")[2] if tree.startswith("/") else tree)
    return tree


def _without_places(tree: Any) -> Any:
    """The settings without those that name a place on this machine or its network."""
    if not isinstance(tree, dict):
        return tree
    return {
        key: _without_places(value)
        for key, value in tree.items()
        if key.rsplit(".", 1)[-1] not in PLACES
    }
