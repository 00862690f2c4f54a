"""Reads Strimzi's resources: `spec.kafka.config` of a Kafka, `spec` of a KafkaTopic.

    kind: KafkaTopic
    spec: {partitions: 3, replicas: 2, config: {min.insync.replicas: 2}}

A topic's `partitions` and `replicas` keep their names and come before its config. Source: Strimzi,
"Custom resource API Reference".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.config_files.settings import ConfigFileError, Setting
from harness.config_files.yaml_file import Text, Tree

KAFKA, TOPIC = "Kafka", "KafkaTopic"
PARTITIONS, REPLICAS = "partitions", "replicas"


def resources(documents: list[Tree]) -> list[dict[Any, Any]]:
    """The file's resources of Strimzi."""
    trees = []
    for tree in documents:
        if isinstance(tree, dict):
            items = tree.get(Text("items"))
            trees += [item for item in (items if isinstance(items, list) else [tree]) if _is(item)]
    return trees


def _is(tree: Any) -> bool:
    return isinstance(tree, dict) and str(tree.get(Text("apiVersion"))).startswith(
        "kafka.strimzi.io/"
    )


def brokers(path: Path, documents: list[Tree]) -> Iterator[tuple[str, list[Setting]]]:
    """Each Kafka and its brokers' settings. Raises ConfigFileError."""
    for name, spec in _specs(documents, KAFKA):
        kafka = spec.get(Text("kafka"))
        if isinstance(kafka, dict):
            yield name, _settings(path, kafka.get(Text("config")))


def topics(path: Path, documents: list[Tree]) -> Iterator[tuple[str, list[Setting]]]:
    """Each KafkaTopic and its settings. Raises ConfigFileError."""
    for name, spec in _specs(documents, TOPIC):
        own = {key: spec[key] for key in spec if key in (PARTITIONS, REPLICAS)}
        yield name, [*_settings(path, own), *_settings(path, spec.get(Text("config")))]


def _specs(documents: list[Tree], kind: str) -> Iterator[tuple[str, dict[Any, Any]]]:
    for resource in resources(documents):
        metadata, spec = resource.get(Text("metadata")), resource.get(Text("spec"))
        if resource.get(Text("kind")) == kind and isinstance(spec, dict):
            name = metadata.get(Text("name"), "") if isinstance(metadata, dict) else ""
            yield str(name), spec


def _settings(path: Path, config: Any) -> list[Setting]:
    settings = []
    for key, value in config.items() if isinstance(config, dict) else ():
        if isinstance(value, list) and value and all(isinstance(item, Text) for item in value):
            text = ",".join(value)  # as the topic operator has it
            settings.append(Setting(key=str(key), value=text, line=value[0].line))
            continue
        if not isinstance(value, Text):
            raise ConfigFileError(f"{path}, line {key.line}: {key} is no text or number")
        settings.append(Setting(key=str(key), value=str(value), line=value.line))
    return settings
