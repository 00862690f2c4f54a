"""Completions for shells: scenarios, runs, backends and keys of `--set`.

    kafka-harness --install-completion        once, for the shell that it is called from
    kafka-harness run stu<TAB>                study-1  study-1-stream  study-1-sure …

Each press of TAB starts the command, so these functions read names only, no files, and import no
command's modules. Without a completion the shell completes files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from harness.model.sections.kafka_releases import PINNED
from harness.release import PAGES, SCENARIOS

BACKENDS: Final = ("local", "docker", "kubernetes", "external")


def scenarios(incomplete: str) -> list[str]:
    """The shipped scenarios that begin so."""
    names = sorted(path.stem for path in SCENARIOS.rglob("*.toml"))
    return [name for name in names if name.startswith(incomplete)]


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Scenarios that have a latest run; with a slash, the ids of one's runs, newest first."""
    results = Path(ctx.params.get("results") or "results")
    scenario, slash, _ = incomplete.partition("/")
    if not slash:
        choices = sorted(path.parent.name for path in results.glob("*/latest"))
    else:
        names = sorted(path.parent.name for path in (results / scenario).glob("*/run.json"))
        choices = [f"{scenario}/{name}" for name in reversed(names) if name != "latest"]
    return [name for name in choices if name.startswith(incomplete)]


def backends(incomplete: str) -> list[str]:
    """The backends that begin so."""
    return [name for name in BACKENDS if name.startswith(incomplete)]


def releases(incomplete: str) -> list[str]:
    """The pinned releases of Kafka that begin so."""
    return [name for name in PINNED if name.startswith(incomplete)]


def pages(incomplete: str) -> list[str]:
    """The pages of the documentation that begin so."""
    names = sorted(path.stem for path in PAGES.glob("*.md"))
    return [name for name in names if name.startswith(incomplete)]


def keys(incomplete: str) -> list[str]:
    """The scenario's keys that begin so, each with its `=`."""
    from harness.model.scenario import Scenario

    return [key for key in _paths(Scenario, "") if key.startswith(incomplete)]


def _paths(model: Any, above: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            yield from _paths(field.annotation, f"{above}{name}.")
        else:
            yield f"{above}{name}="
