"""kafka-harness compare: tells what changed between two sets of runs, and whether it is worse.

    kafka-harness compare last-night.jsonl tonight.jsonl
    kafka-harness compare night-1.jsonl night-2.jsonl night-3.jsonl tonight.jsonl

Each side is a campaign's ledger or a folder of results. The last one is tonight; it is compared
with all others together. A folder's cells are its scenarios.

A side may come from anywhere, so every value that is compared is validated. Lines may lack what
older releases did not write: versions, settings, what is forbidden, the letters of CAP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from rich.console import Console
from rich.table import Table

from analysis.studies.compare.compared import (
    Both,
    Compared,
    Tested,
    compare,
    settings_that_differ,
    versions_that_differ,
)
from analysis.studies.matrix_rows import row
from analysis.studies.pages import markdown_table
from harness.commands.campaigns.lines import line_of
from harness.commands.closing_table import plain
from harness.model.exit_codes import INVALID, VALID
from harness.model.runs.ledger import LedgerError, Line, Lines, has_digest, read
from harness.model.runs.run_folder import RunFolder, StoreError, errors_told, runs_below
from harness.model.runs.run_record import problem_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison in words: what differs in settings and versions, a row for each cell, what
    changed, and why tonight is worse."""

    differs: Sequence[str]
    rows: Sequence[Sequence[str]]  # by HEADS
    sentences: Sequence[str]
    changed: Sequence[str]
    alarms: Sequence[str]

    @property
    def code(self) -> int:
        """1 where tonight is worse."""
        return INVALID if self.alarms else VALID


_Count = Annotated[int, Field(ge=0, le=2**63 - 1)]  # as large as tables show
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_STRICT = ConfigDict(strict=True)  # refuses the text "3" as a number


class Starved(BaseModel):
    """How long a run waited for a CPU."""

    model_config = _STRICT
    pressure_some_percent: _Number | None = None


class Host(BaseModel):
    """The same, in older lines: for the whole run."""

    model_config = _STRICT
    cpu_starvation: Starved | None = None


# The compared fields of a line and their types; others are ignored.
_OF_ALL: Mapping[str, Any] = {
    "configuration": (str, ""),
    "settings": (dict[str, Any] | None, None),
    "versions": (dict[str, str | None], {}),
    "starved_in_load": (Starved | None, None),
    "host": (Host | None, None),
}
_OF_CHECKED: Mapping[str, Any] = {
    "verdict": (Literal["valid", "invalid", "unknown"], ...),
    "anomalies": (dict[str, _Count], ...),
    "forbidden": (list[str], []),
    "produce_gaps_s": (list[_Number], ...),
    "consume_gaps_s": (list[_Number], ...),
    "cap": (dict[str, Any] | None, None),
}
_Ended = create_model("Ended", __config__=_STRICT, **_OF_ALL)  # without a report
_Checked = create_model("Checked", __base__=_Ended, **_OF_CHECKED)


HEADS = ("cell", "runs", "with loss", "with duplicates", "no ack for, s", "would show")


def compare_runs(sides: Sequence[Path], *, gap_factor: float, console: Console) -> int:
    """Show the comparison; 1 where tonight is worse. Raises StoreError for a side that has no
    runs, or a damaged one."""
    comparison = compare_sides(sides, gap_factor=gap_factor)
    show(comparison, console)
    return comparison.code


def compare_sides(sides: Sequence[Path], *, gap_factor: float) -> Comparison:
    """The comparison. Raises StoreError for a side that has no runs, or a damaged one."""
    old = [line for side in sides[:-1] for line in lines_of(side)]
    new = lines_of(sides[-1])
    compared = compare(old, new, gap_factor=gap_factor)
    only = (("before", compared.only_old), ("now", compared.only_new))
    return Comparison(
        differs=list(_what_differs(compared, old, new)),
        rows=[_row(both, compared) for both in compared.cells],
        sentences=[
            *(f"only {words}: {', '.join(cells)}" for words, cells in only if cells),
            _sentence(compared),
        ],
        changed=[_changed(change) for change in compared.changed],
        alarms=compared.alarms,
    )


def show(result: Comparison, console: Console) -> None:
    """Show it: what differs first."""
    for words in result.differs:
        console.print(plain(words, "yellow"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in HEADS:
        table.add_column(head)
    for cells in result.rows:
        table.add_row(*map(plain, cells))
    console.print(table)
    for words in result.sentences:
        console.print(plain(words))
    for words in result.changed:
        console.print(plain(f"  changed  {words}"))
    for words in result.alarms:
        console.print(plain(f"  worse    {words}", "bold red"))


def markdown(result: Comparison, title: str) -> str:
    """The comparison as Markdown, for a job's summary."""
    worse = [f"- {words}" for words in result.alarms] or ["- nothing"]
    parts = [
        [f"## {title}", "", "**Worse than before:**", "", *worse],
        *(
            [["Changed:", "", *(f"- {words}" for words in result.changed)]]
            if result.changed
            else []
        ),
        *(
            [["Differs:", "", *(f"- {words}" for words in result.differs)]]
            if result.differs
            else []
        ),
        ["\n\n".join(result.sentences)],
        [markdown_table(HEADS, result.rows)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def lines_of(side: Path) -> list[Line]:
    """A ledger's runs that count, or a results folder's checked runs. Raises StoreError where there
    are none, and for one that cannot be compared."""
    if side.is_dir():
        with errors_told(side):
            lines = [_line(RunFolder(path=folder)) for folder in runs_below(side)]
        checked = [line for line in lines if line is not None]
    elif side.is_file():
        checked = _sound(side, read(side))
    else:
        raise StoreError(f"{side}: neither a campaign's ledger nor a folder of results")
    if not checked:
        raise StoreError(f"{side}: no run that counts: give a ledger, or a folder of checked runs")
    return checked


def _sound(path: Path, ledger: Lines) -> list[Line]:
    """A ledger's runs that count. Raises LedgerError for one that cannot be compared; a superseded
    one is not looked at."""
    numbers = {id(line): number for number, line in enumerate(ledger.all, 1)}
    for line in ledger.standing:
        try:
            _require_sound(line)
        except ValidationError as error:
            raise LedgerError(
                f"{path}: line {numbers[id(line)]}: {problem_of(error)}: put back the file as "
                "git or a backup has it"
            ) from None
    return list(ledger.standing)


def _require_sound(line: Line) -> None:
    """Raise ValidationError for a line that cannot be compared."""
    # A verdict without anomalies is the campaign's own: no report, and the calibration failed.
    checked = "anomalies" in line or ("verdict" in line and "judged" not in line)
    (_Checked if checked else _Ended).model_validate(line)


def _line(folder: RunFolder) -> Line | None:
    """A stored run's line, as in a ledger; None: it was not checked."""
    if not (folder.path / "report.json").is_file():
        return None
    folder.refuse_links()
    record = folder.read()
    try:
        result = line_of(folder)
        _Checked.model_validate(result)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise StoreError(
            f"{folder.path / 'report.json'}: not what a check of this release writes: check the "
            "run again"
        ) from None
    return {
        "cell": record.scenario.name,
        "backend": record.backend,
        "seed": record.seed,
        "started_utc": record.started_utc,
        **result,
    }


def _what_differs(compared: Compared, old: Sequence[Line], new: Sequence[Line]) -> Iterator[str]:
    """A sentence for each difference of versions and settings."""
    recorded = {
        str(line["configuration"]): line["settings"]
        for line in [*old, *new]
        if has_digest(line) and line.get("settings")
    }
    for words in versions_that_differ(old, new):
        yield f"versions {words}"
    for both in compared.cells:
        for words in settings_that_differ(both, recorded):
            yield f"settings {both.cell}: {words}"


def _row(both: Both, compared: Compared) -> Sequence[str]:
    """A cell's row: both sides' numbers, and the smallest change that would have shown."""
    old, new = row(both.old), row(both.new)
    keys = ("runs", "lossy", "duplicating", "gap")
    # Without their intervals: the sentences below the table have the tests.
    pairs = [f"{old[key].partition(' (')[0]} → {new[key].partition(' (')[0]}" for key in keys]
    return [both.cell, *pairs, f"loss in {compared.could_have_seen(both)}"]


def _changed(tested: Tested) -> str:
    size = f", effect {tested.effect:+.2f}" if tested.grown is not None else ""
    sides = f"{tested.old} before, {tested.new} now"
    return f"{tested.cell}: {tested.what}: {sides} (p = {tested.found.p:.2g}{size})"


def _sentence(compared: Compared) -> str:
    many, cells = len(compared.changed), len(compared.cells)
    if not cells:
        return "there is nothing before to compare with"
    words = f"{many} things changed" if many != 1 else "one thing changed"
    return (
        f"{words if many else 'nothing changed'} in {cells} cells, {len(compared.tested)} tests "
        f"together wrong in 5 % of comparisons (losses held to p ≤ {compared.at[True]:.2g}, all "
        f"else to p ≤ {compared.at[False]:.2g})"
    )
