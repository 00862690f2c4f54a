"""kafka-harness campaign --nights FOLDER: makes tonight's campaign, compares it with nights before.

    nights/2026-11-24.jsonl     last night's ledger
    nights/2026-11-25.jsonl     tonight's: made now, or continued
    nights/2026-11-25.md        its results and what changed since, for a job's summary

The folder must be kept from night to night: on a volume, in a cache, as an artifact. A night is a
day in UTC; its exit code is the worst of its runs, whenever tonight they were made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from analysis.studies.matrix_rows import HEADS, row
from analysis.studies.pages import markdown_table
from harness.commands.campaigns.comparison import compare_sides, markdown, show
from harness.commands.campaigns.make_runs import CampaignOptions, make_runs
from harness.model.campaigns.worse import GAP_FACTOR
from harness.model.exit_codes import FAILED, INTERRUPTED, UNKNOWN, VALID, worst
from harness.model.runs.ledger import Lines, read
from harness.model.runs.ledger_line import Line
from harness.model.runs.run_folder import StoreError
from harness.run.progress import Screen

BEFORE: Final = 14  # nights that tonight is compared with


def make_night(
    file: Path, nights: Path, results: Path, options: CampaignOptions, *, console: Console
) -> int:
    """Make tonight's runs and compare them; the worst exit code, 1 where tonight is worse."""
    tonight = ledger_of(nights)
    code = make_runs(file, results, replace(options, ledger=tonight, resume=True), console=console)
    if code in INTERRUPTED:
        return code
    own = read(tonight)
    before = [
        night for night in sorted(nights.glob("????-??-??.jsonl")) if night.name < tonight.name
    ]
    sides = [night for night in before[-BEFORE:] if read(night).standing]
    title = f"{tonight.stem}, against {len(sides)} nights before"
    codes = [code, *map(_code, own.standing)]
    against = f"## {title}\n\n**No run came to its end: there is nothing to compare.**\n"
    if own.standing:
        try:
            comparison = compare_sides([*sides, tonight], gap_factor=GAP_FACTOR)
        except StoreError as error:  # tonight's results are shown all the same
            Screen(console).say(str(error), style="bold red")
            codes.append(FAILED)
            against = f"## {title}\n\n**Not compared: {error}**\n"
        else:
            show(comparison, console)
            codes.append(comparison.code)
            against = markdown(comparison, title)
    tonight.with_suffix(".md").write_text(f"{against}\n{_own(own)}\n")
    return worst(codes)


def ledger_of(nights: Path) -> Path:
    """Tonight's ledger."""
    return nights / f"{datetime.now(UTC):%Y-%m-%d}.jsonl"


def _code(line: Line) -> int:
    """A run's exit code; unknown where its calibration failed."""
    ended = int(line.get("exit", VALID))
    return worst([ended, UNKNOWN]) if line.get("verdict") == "unknown" else ended


def _own(lines: Lines) -> str:
    """Tonight's results: the names of the runs without a cluster and of those that are not valid,
    and a row for each cell."""
    verdicts = Counter(str(line.get("verdict", "without a verdict")) for line in lines.standing)
    counts = [f"{count} {verdict}" for verdict, count in verdicts.items()]
    counts += [f"{len(lines.without_cluster)} without a cluster"] * bool(lines.without_cluster)
    parts = [f"Tonight's runs: {', '.join(counts) or 'none'}."]
    if doubtful := list(_doubtful(lines)):
        parts.append("\n".join(f"- {words}" for words in doubtful))
    if lines.standing:
        parts.append(_table(lines.standing))
    return "\n\n".join(parts)


def _doubtful(lines: Lines) -> Iterator[str]:
    for line in lines.calibrations:
        if not line.get("met"):
            yield f"the calibration on {line['backend']} failed: {line['why']}"
    for line in lines.without_cluster:
        yield f"{_named(line)}: the cluster did not come up"
    for line in lines.standing:
        if _code(line) != VALID:
            why = "; ".join(line.get("reasons") or ()) or f"it ended with {line.get('exit')}"
            yield f"{_named(line)}: {line.get('verdict', 'without a verdict')}: {why}"


def _named(line: Line) -> str:
    return f"{line['cell']} on {line.get('backend', 'local')}, seed {line['seed']}"


def _table(standing: Sequence[Line]) -> str:
    cells: dict[str, list[Line]] = {}
    for line in standing:
        cells.setdefault(str(line["cell"]), []).append(line)
    return markdown_table(
        ["cell", *HEADS.values()], ([name, *row(own).values()] for name, own in cells.items())
    )
