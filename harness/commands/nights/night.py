"""kafka-harness campaign --nights FOLDER: a campaign as tonight's, held against the nights before.

    nights/2026-11-24.jsonl     last night's ledger
    nights/2026-11-25.jsonl     tonight's: made now, or continued
    nights/2026-11-25.md        what changed since, for a job's summary

The folder is what must be kept from night to night: a volume, a cache, an artifact. A night is a
day in UTC.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.commands.campaigns.make_runs import CampaignOptions, make_runs
from harness.commands.nights.compare import markdown, show, told
from harness.model.campaigns.worse import GAP_FACTOR
from harness.model.exit_codes import INTERRUPTED, worst
from harness.model.runs.ledger import read

BEFORE: Final = 14  # nights that tonight is held against


def make_night(
    file: Path, nights: Path, results: Path, options: CampaignOptions, *, console: Console
) -> int:
    """Make tonight's runs and compare them; the worst exit code, 1 where tonight is worse."""
    tonight = nights / f"{datetime.now(UTC):%Y-%m-%d}.jsonl"
    code = make_runs(file, results, replace(options, ledger=tonight, resume=True), console=console)
    if code in INTERRUPTED:
        return code
    before = [each for each in sorted(nights.glob("????-??-??.jsonl")) if each.name < tonight.name]
    sides = [each for each in before[-BEFORE:] if read(each).standing]
    found = told([*sides, tonight], gap_factor=GAP_FACTOR)
    show(found, console)
    title = f"{tonight.stem}, against {len(sides)} nights before"
    tonight.with_suffix(".md").write_text(markdown(found, title))
    return worst([code, found.code])
