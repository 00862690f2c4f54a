"""Reads Compose files: the `environment` of each service, a mapping or a list.

Source: the Compose Specification, "environment", "Interpolation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config_files.environment import sets_more
from harness.config_files.placeholders import Resolver
from harness.config_files.settings import ConfigFileError, Setting
from harness.config_files.yaml_file import Text, Tree

_UNSET = "no value stands there, and this process's environment is not read: write the value"
_RESOLVER = Resolver(dialect="compose")  # from an environment that nobody reads
_ELSEWHERE = ("env_file", "extends")  # where a service gets variables from
_COMMANDS = ("command", "entrypoint")


def is_compose(documents: list[Tree]) -> bool:
    """Whether a YAML file is one."""
    return any(
        isinstance(tree, dict) and isinstance(tree.get(Text("services")), dict)
        for tree in documents
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service and the variables that it sets."""

    name: str
    variables: list[Setting]
    wrong: tuple[str, ...] = ()  # a sentence for each place whose variables are not read


def services(path: Path, documents: list[Tree]) -> Iterator[Service]:
    """The services that set variables, or get some from elsewhere. Raises ConfigFileError."""
    for tree in documents:
        found: Any = tree.get(Text("services")) if isinstance(tree, dict) else None
        for name, service in (found or {}).items():
            if isinstance(service, dict):
                environment = service.get(Text("environment")) or {}
                yield Service(
                    name=str(name),
                    variables=[_RESOLVER.resolved(e) for e in _variables(path, name, environment)],
                    wrong=tuple(
                        f"line {key.line}: {key} of the service {name} is not read: write what it "
                        "brings into its environment"
                        for key, value in service.items()
                        if key in _ELSEWHERE or (key in _COMMANDS and sets_more(_joined(value)))
                    ),
                )


def _joined(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _variables(path: Path, service: Text, environment: Any) -> Iterator[Setting]:
    if isinstance(environment, Mapping):
        for name, value in environment.items():
            if not isinstance(value, Text):
                raise ConfigFileError(
                    f"{path}, line {name.line}: {name} of the service {service} is no text"
                )
            problem = _UNSET if value.null else ""
            yield Setting(key=str(name), value=str(value), line=value.line, problem=problem)
        return
    for entry in environment:
        if not isinstance(entry, Text):
            raise ConfigFileError(
                f"{path}: environment of the service {service}: write NAME=VALUE, a line each"
            )
        key, sign, value = entry.partition("=")
        yield Setting(key=key, value=value, line=entry.line, problem="" if sign else _UNSET)
