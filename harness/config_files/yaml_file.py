"""Reads YAML with scalars as texts, each with its line.

    version: 3.10    =>  "3.10", not 3.1
    enabled: on      =>  "on", not True

Anchors and `<<` work as in YAML. A repeated key in one mapping is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from harness.config_files.settings import ConfigFileError

MOST_VALUES = 100_000  # aliases of aliases can stand for more than fits into memory


class Text(str):
    """A scalar: its text and its place."""

    __slots__ = ("line", "null", "tag")
    line: int
    null: bool  # nothing stands there
    tag: str  # what YAML 1.1 takes it for

    @classmethod
    def at(cls, node: yaml.ScalarNode) -> Text:
        """The text of a node."""
        text = cls(node.value)
        text.line = node.start_mark.line + 1
        text.tag = node.tag.rpartition(":")[2]
        text.null = text.tag == "null"
        return text

    @property
    def as_java_has_it(self) -> str:
        """The text that a Java program gets: `true` for on, 30000 for 30_000; other texts
        unchanged.

        Source: SnakeYAML, which makes booleans and whole numbers of such scalars.
        """
        if self.tag == "bool":
            return "true" if self.lower() in ("true", "yes", "on") else "false"
        if self.tag == "int" and "_" in self:
            return self.replace("_", "")
        return str(self)


Tree = Text | dict[Text, Any] | list[Any]


def read_yaml(path: Path, text: str) -> list[Tree]:
    """The documents of a file's text: mappings and lists as Python's, scalars as Text. Raises
    ConfigFileError."""
    trees = []
    try:
        loader = yaml.SafeLoader(text)
        reading = _Reading(path, loader)
        while loader.check_node():
            trees.append(reading.tree(loader.get_node(), ()))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it cannot be read"
        if "cannot start any token" in what:  # as Maven's @…@
            what += ": put the value into quotes"
        raise ConfigFileError(f"{path}{where}: not YAML: {what}") from None
    except RecursionError:
        raise ConfigFileError(f"{path}: mappings within mappings, too deep to be read") from None
    return trees


class _Reading:
    """Turns the nodes of one file into trees."""

    def __init__(self, path: Path, loader: yaml.SafeLoader) -> None:
        self._path, self._loader = path, loader
        self._left = MOST_VALUES
        self._flat: list[Any] = []  # mappings that have what their `<<` brings

    def tree(self, node: Any, above: tuple[Any, ...]) -> Tree:
        """The tree of a node; `above`: the nodes around it."""
        self._left -= 1
        if any(node is outer for outer in above):
            raise self._error(node, "this anchor contains itself: remove the alias")
        if self._left < 0:
            raise self._error(node, f"more than {MOST_VALUES:,} values: use fewer aliases")
        if isinstance(node, yaml.ScalarNode):
            return Text.at(node)
        around = (*above, node)
        if isinstance(node, yaml.SequenceNode):
            return [self.tree(item, around) for item in node.value]
        if not any(node is flat for flat in self._flat):
            self._refuse_repeated(node)
            self._loader.flatten_mapping(node)
            self._flat.append(node)
        # What `<<` brings comes first: the mapping's own keys win.
        return {self._key(key): self.tree(value, around) for key, value in node.value}

    def _key(self, node: Any) -> Text:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, "this key is no text: put a template's {{ … }} into quotes")
        return Text.at(node)

    def _refuse_repeated(self, node: Any) -> None:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            line = key.start_mark.line + 1
            first = lines.setdefault(key.value, line)
            if first != line:
                raise self._error(
                    key, f"{key.value} is set in line {first} already: remove one of the two"
                )

    def _error(self, node: Any, what: str) -> ConfigFileError:
        return ConfigFileError(f"{self._path}, line {node.start_mark.line + 1}: {what}")
