"""What a verb is: four functions and the capabilities that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.cluster import Cluster, Node
from harness.cluster.view import ZooKeeperView

Options = Mapping[str, str | int | float | bool]


@dataclass(kw_only=True)
class Injection:
    """One verb at one node: what the four functions of a verb work on.

    `memo` is the verb's own notebook from inject to healed, such as the pid that was killed.
    """

    fault: int
    node: Node
    cluster: Cluster
    view: ZooKeeperView
    options: Options
    memo: dict[str, Any] = field(default_factory=dict)


def no_options(options: Options) -> list[str]:
    """Problems of a verb that takes no options."""
    return [f"{name!r} is unknown: this verb takes none" for name in options]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A fault's verb and its undo."""

    name: str
    undo: str
    needs: tuple[type, ...]
    inject: Callable[[Injection], None]
    bit: Callable[[Injection], str | None]
    heal: Callable[[Injection], None]
    healed: Callable[[Injection], str | None]
    problems: Callable[[Options], list[str]] = no_options
