"""The runs of a campaign that are still to do."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from operator import itemgetter
from pathlib import Path
from typing import Any

from harness.commands.campaigns.file import of
from harness.model.bounds import utc_of
from harness.model.campaigns.campaign import Campaign, Cell
from harness.model.runs.ledger import has_digest
from harness.model.runs.ledger_line import Line
from harness.model.runs.run_folder import RunFolder, StoreError
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import ScenarioError
from harness.scenario.prepare import Request

Todo = tuple[Cell, Request]


def missing(
    campaign: Campaign,
    done: Iterable[Line],
    backends: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    patterns: Sequence[str] = (),
) -> list[Todo]:
    """The runs that are still to be made, cells taking turns, and backends within a cell; of all
    cells, or of those whose names fit a pattern. Raises ScenarioError for one that fits none."""
    counted = counting(campaign, done)
    have = {(line["cell"], line.get("backend", "local"), line["seed"]) for line in counted}
    cells = fitting(campaign.every_cell(), patterns)
    most = max((cell.repeats for cell in cells), default=0)
    return [
        (
            cell,
            Request(
                scenario=cell.scenario,
                seed=campaign.seed + number,
                backend=backend,
                settings={**cell.set, **of_backend(backend, settings or {})},
                producer_config=_file(campaign.producer_config),
                consumer_config=_file(campaign.consumer_config),
                server_properties=_file(campaign.server_properties),
                topic_config=_file(campaign.topic_config),
            ),
        )
        for number in range(most)
        for cell in cells
        for backend in of(campaign, backends)
        if number < cell.repeats
        and not any((name, backend, campaign.seed + number) in have for name in cell.names)
    ]


def _file(name: str) -> Path | None:
    return Path(name) if name else None


def counting(campaign: Campaign, done: Iterable[Line]) -> list[Line]:
    """The finished runs that are among the repeats of their cells."""
    return [line for line in done if campaign.older == "count" or has_digest(line)]


def fitting(cells: Sequence[Cell], patterns: Sequence[str]) -> Sequence[Cell]:
    """The cells whose names fit a pattern; all without one. Raises ScenarioError for a pattern that
    fits none."""
    for pattern in patterns:
        if not any(fnmatchcase(cell.key, pattern) for cell in cells):
            names = ", ".join(cell.key for cell in cells)
            raise ScenarioError(f"--cell {pattern}: no cell is called so; there are {names}")
    if not patterns:
        return cells
    return [cell for cell in cells if any(fnmatchcase(cell.key, pattern) for pattern in patterns)]


def of_backend(backend: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for this backend."""
    return {key: value for key, value in settings.items() if key.startswith(f"backend.{backend}.")}


SAME = ("scenario", "plan", "seed", "backend")
NEVER = "1970-01-01T00:00:00+00:00"  # of records that do not tell when they began


def unchecked(
    record: RunRecord,
    results: Path,
    known: Collection[str],
    since: datetime,
    *,
    whole: bool = True,
) -> RunFolder | None:
    """The stored run that is exactly the wanted one, began after `since`, is complete (without
    `whole`: incomplete), and is none of the `known` ones, by their ids; of several the last.

    Another command recorded it, or the campaign was stopped between the run and its line. A run
    that began before belongs to another night or ledger.
    """
    stored_runs = []
    for path in sorted((results / record.scenario.name).glob(f"*-{record.seed}*")):
        folder = RunFolder(path=path.resolve())
        with contextlib.suppress(StoreError):
            folder.refuse_links()
            stored = folder.read()
            same = all(getattr(stored, key) == getattr(record, key) for key in SAME)
            ended = stored.state == ("complete" if whole else "incomplete")
            if not same or not ended or stored.run_id in known:
                continue
            if (began := utc_of(stored.started_utc or NEVER)) >= since:
                stored_runs.append((began, folder))
    return max(stored_runs, key=itemgetter(0))[1] if stored_runs else None
