"""kafka-harness campaign: a campaign's missing runs, each of them with its lines in the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.cluster.backends import absent
from harness.cluster.nodes import ClusterError
from harness.commands import campaign_file
from harness.commands.check import check_runs
from harness.commands.closing_table import show_how_many_valid
from harness.commands.run import carry_out_run, prepare_run
from harness.model.exit_codes import INTERRUPTED, VALID, worst
from harness.model.runs.ledger import ENDED, NAMES, STARTED, SUPERSEDED, Ledger, name_of
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import ScenarioError
from harness.run.progress import Screen
from harness.scenario.prepare import Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """What of a campaign to do now: on which of its backends (none: all), with which settings."""

    resume: bool
    backends: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def make_runs(file: Path, results: Path, options: CampaignOptions, *, console: Console) -> int:
    """Make a campaign's missing runs. Returns the worst exit code of those made now."""
    plan = campaign_file.read_campaign(file)
    data = file.parent / plan.data
    with Ledger.opened(data) as ledger:
        done = ledger.read()
        todo = campaign_file.missing(
            plan, done.standing, options.backends, campaign_file.backend_settings(options.settings)
        )
        if done.all and not options.resume:
            raise ScenarioError(
                f"{data} has {len(done.standing)} finished runs: continue with --resume, or move "
                "the file away"
            )
        screen = Screen(console)
        screen.say(f"{plan.title}: {len(done.standing)} runs finished, {len(todo)} to do")
        runs = [prepare_run(request) for _, request in todo]  # refuse all before any starts
        for name in dict.fromkeys(request.backend for _, request in todo):
            if why := absent(name, options.settings):
                raise ClusterError(f"--backends: {name} is not available on this machine: {why}")
        codes: list[int] = []
        for number, ((cell, request), each) in enumerate(zip(todo, runs, strict=True), 1):
            where = f"{cell.key}, {request.backend}"
            screen.say(f"run {number} of {len(todo)}: {where}", style="bold")
            names = campaign_file.names(cell, request, datetime.now(UTC).isoformat())
            ledger.add({"event": STARTED, **names})
            code, folder = _carried_out(each, results, console)
            codes.append(code)
            if code in INTERRUPTED:
                break
            came_to = campaign_file.summary(cell, code, _report(folder))
            ledger.add({"event": ENDED, **names, **campaign_file.origin(folder), **came_to})
    if codes:
        show_how_many_valid(codes, len(todo), console)
    return worst(codes) if codes else VALID


def supersede(
    file: Path, cells: Sequence[str], why: str, options: CampaignOptions, *, console: Console
) -> int:
    """Let the runs of these cells that count, on these backends, count no more. Raises
    ScenarioError, before anything is written, for a cell that has none."""
    plan = campaign_file.read_campaign(file)
    if not why.strip():
        raise ScenarioError("--supersede: say with --why in words why these runs count no more")
    if not cells:
        raise ScenarioError("--why: say with --supersede which cell's runs count no more")
    backends = campaign_file.of(plan, options.backends)
    with Ledger.opened(file.parent / plan.data) as ledger:
        mine = [line for line in ledger.read().standing if name_of(line)[1] in backends]
        for cell in cells:
            if not any(line["cell"] == cell for line in mine):
                raise ScenarioError(
                    f"--supersede {cell}: {plan.data} has no run of it that counts; it has those "
                    f"of {', '.join(dict.fromkeys(line['cell'] for line in mine)) or 'nothing'}"
                )
        names = [
            dict(zip(NAMES, name_of(line), strict=True)) for line in mine if line["cell"] in cells
        ]
        for each in names:
            ledger.add({"event": SUPERSEDED, **each, "reason": why.strip()})
    Screen(console).say(
        f"{', '.join(cells)}: {len(names)} of the runs count no more: {why.strip()}"
    )
    return VALID


def _carried_out(prepared: Prepared, results: Path, console: Console) -> tuple[int, RunFolder]:
    """Make a run and check it, or check it where it is there already: exit code and folder."""
    stored = campaign_file.unchecked(prepared.record, results)
    if stored is not None:
        return check_runs([stored], master=None, console=console), stored
    return carry_out_run(prepared, results, check=True, console=console)


def _report(folder: RunFolder) -> dict[str, Any] | None:
    file = folder.path / "report.json"
    return json.loads(file.read_text()) if file.is_file() else None
