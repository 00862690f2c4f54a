"""Compose files: the `environment` of each service, a mapping or a list.

Source: the Compose Specification, "environment", "Interpolation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.config_files.settings import ConfigFileError, Setting
from harness.config_files.yaml_file import Text, Tree

_UNSET = "no value stands there, and this process's environment is not read: write the value"


def is_compose(documents: list[Tree]) -> bool:
    """Whether a YAML file is one."""
    return any(
        isinstance(tree, dict) and isinstance(tree.get(Text("services")), dict)
        for tree in documents
    )


def environments(path: Path, documents: list[Tree]) -> Iterator[tuple[str, list[Setting]]]:
    """Each service and its variables. Raises ConfigFileError."""
    for tree in documents:
        services: Any = tree.get(Text("services")) if isinstance(tree, dict) else None
        for name, service in (services or {}).items():
            if isinstance(service, dict) and service.get(Text("environment")):
                yield str(name), list(_variables(path, name, service[Text("environment")]))


def _variables(path: Path, service: Text, environment: Any) -> Iterator[Setting]:
    if isinstance(environment, Mapping):
        for name, value in environment.items():
            if not isinstance(value, Text):
                raise ConfigFileError(
                    f"{path}, line {name.line}: {name} of the service {service} is no text"
                )
            problem = _UNSET if value.null else ""
            yield Setting(key=str(name), value=_plain(value), line=value.line, problem=problem)
        return
    for entry in environment:
        if not isinstance(entry, Text):
            raise ConfigFileError(
                f"{path}: environment of the service {service}: write NAME=VALUE, a line each"
            )
        key, sign, value = entry.partition("=")
        yield Setting(key=key, value=_plain(value), line=entry.line, problem="" if sign else _UNSET)


def _plain(value: str) -> str:
    """`$$` is a dollar sign there."""
    return str(value).replace("$$", "$")
