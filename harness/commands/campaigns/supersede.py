"""kafka-harness campaign --supersede: runs that count no more, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.commands.campaigns.file import of, read_campaign
from harness.commands.campaigns.make_runs import CampaignOptions
from harness.model.exit_codes import VALID
from harness.model.runs.ledger import NAMES, SUPERSEDED, Ledger, name_of
from harness.model.scenario import ScenarioError
from harness.run.progress import Screen


def supersede(
    file: Path, cells: Sequence[str], why: str, options: CampaignOptions, *, console: Console
) -> int:
    """Let the runs of these cells that count, on the backends and in the ledger of the options,
    count no more. Raises ScenarioError, before anything is written, for a cell that has none."""
    plan = read_campaign(file)
    if not why.strip():
        raise ScenarioError("--supersede: say with --why in words why these runs count no more")
    if not cells:
        raise ScenarioError("--why: say with --supersede which cell's runs count no more")
    asked = of(plan, options.backends)
    data = options.ledger or file.parent / plan.data
    with Ledger.opened(data) as opened:
        mine = [line for line in opened.read().standing if name_of(line)[1] in asked]
        for cell in cells:
            if not any(line["cell"] == cell for line in mine):
                raise ScenarioError(
                    f"--supersede {cell}: {data} has no run of it that counts; it has those "
                    f"of {', '.join(dict.fromkeys(line['cell'] for line in mine)) or 'nothing'}"
                )
        names = [
            dict(zip(NAMES, name_of(line), strict=True)) for line in mine if line["cell"] in cells
        ]
        for each in names:
            opened.add({"event": SUPERSEDED, **each, "reason": why.strip()})
    Screen(console).say(
        f"{', '.join(cells)}: {len(names)} of the runs count no more: {why.strip()}"
    )
    return VALID
