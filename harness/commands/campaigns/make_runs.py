"""kafka-harness campaign: a campaign's missing runs, each of them with its lines in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.cluster.backends import absent
from harness.cluster.nodes import ClusterError
from harness.commands.campaigns import lines
from harness.commands.campaigns.ahead import Ahead
from harness.commands.campaigns.file import backend_settings, read_campaign
from harness.commands.campaigns.todo import Todo, missing, unchecked
from harness.commands.check import check_runs
from harness.commands.closing_table import show_how_many_valid
from harness.commands.run import carry_out_run, prepare_run
from harness.model.exit_codes import INTERRUPTED, VALID, worst
from harness.model.runs.configuration import settings_of
from harness.model.runs.ledger import ENDED, STARTED, Ledger
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
    plan = read_campaign(file)
    data = file.parent / plan.data
    with Ledger.opened(data) as ledger:
        done = ledger.read()
        todo = missing(plan, done.standing, options.backends, backend_settings(options.settings))
        if done.all and not options.resume:
            raise ScenarioError(
                f"{data} has {len(done.standing)} finished runs: continue with --resume, or move "
                "the file away"
            )
        Screen(console).say(f"{plan.title}: {len(done.standing)} runs finished, {len(todo)} to do")
        runs = prepared(todo)
        require_backends(todo, options.settings)
        codes = _made(list(zip(todo, runs, strict=True)), ledger, results, console)
    if codes:
        show_how_many_valid(codes, len(todo), console)
    return worst(codes) if codes else VALID


def prepared(todo: Sequence[Todo]) -> list[Prepared]:
    """All of them, or none: a run that cannot be is refused before any starts, and is named."""
    found = []
    for cell, request in todo:
        try:
            found.append(prepare_run(request))
        except ScenarioError as error:
            raise ScenarioError(f"{cell.key}: {error}") from None
    return found


def require_backends(todo: Sequence[Todo], settings: Mapping[str, Any]) -> None:
    """Raise ClusterError for a backend that is not to be had."""
    for name in dict.fromkeys(request.backend for _, request in todo):
        if why := absent(name, settings):
            raise ClusterError(f"--backends: {name} is not available on this machine: {why}")


def _made(
    runs: Sequence[tuple[Todo, Prepared]], ledger: Ledger, results: Path, console: Console
) -> list[int]:
    """Make them, one after the other until one is interrupted: the exit codes."""
    screen, codes = Screen(console), list[int]()
    ahead = Ahead([each.scenario for _, each in runs])
    for (cell, request), each in runs:
        screen.say(ahead.before(f"{cell.key}, {request.backend}"), style="bold")
        names = lines.names(cell, request, datetime.now(UTC).isoformat())
        ledger.add({"event": STARTED, **names})
        code, folder = _carried_out(each, ledger, results, console)
        codes.append(code)
        if code in INTERRUPTED:
            break
        line = lines.line_of(folder, code, cell)
        if all(line["configuration"] != told.get("configuration") for told in ledger.read().all):
            line["settings"] = settings_of(folder.read())
        ledger.add({"event": ENDED, **names, **line})
        screen.say(ahead.after(line))
    return codes


def _carried_out(
    prepared: Prepared, ledger: Ledger, results: Path, console: Console
) -> tuple[int, RunFolder]:
    """Make a run and check it, or check it where it is there already: exit code and folder."""
    known = {str(line.get("run")) for line in ledger.read().all}
    stored = unchecked(prepared.record, results, known)
    if stored is not None:
        return check_runs([stored], master=None, console=console), stored
    return carry_out_run(prepared, results, check=True, console=console)
