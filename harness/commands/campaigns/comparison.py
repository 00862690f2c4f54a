"""kafka-harness compare: what changed between two sets of runs, and whether it is worse.

    kafka-harness compare last-night.jsonl tonight.jsonl
    kafka-harness compare night-1.jsonl night-2.jsonl night-3.jsonl tonight.jsonl

Each side is a campaign's ledger or a folder of results; of more than two, the last is tonight and
all others together are what it is held against. A folder's runs are cells by their scenario.

Either side may be anybody's, so whatever is compared of a line is looked at first. Lines may lack
what older releases did not write: versions, settings, what is forbidden, the letters of CAP.
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
class Told:
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


_Count = Annotated[int, Field(ge=0, le=2**63 - 1)]  # what is larger no table shows
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_STRICT = ConfigDict(strict=True)  # the text "3" is no number


class Starved(BaseModel):
    """How long a run waited for a CPU."""

    model_config = _STRICT
    pressure_some_percent: _Number | None = None


class Host(BaseModel):
    """The same, in lines from before loads had their own."""

    model_config = _STRICT
    cpu_starvation: Starved | None = None


# Of a line what is compared, and how it must be; what else it has does not matter.
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
    found = told(sides, gap_factor=gap_factor)
    show(found, console)
    return found.code


def told(sides: Sequence[Path], *, gap_factor: float) -> Told:
    """The comparison. Raises StoreError for a side that has no runs, or a damaged one."""
    old = [line for side in sides[:-1] for line in lines_of(side)]
    new = lines_of(sides[-1])
    found = compare(old, new, gap_factor=gap_factor)
    only = (("before", found.only_old), ("now", found.only_new))
    return Told(
        differs=list(_what_differs(found, old, new)),
        rows=[_row(both, found) for both in found.cells],
        sentences=[
            *(f"only {words}: {', '.join(cells)}" for words, cells in only if cells),
            _sentence(found),
        ],
        changed=[_changed(each) for each in found.changed],
        alarms=found.alarms,
    )


def show(found: Told, console: Console) -> None:
    """Show it: what differs first."""
    for words in found.differs:
        console.print(plain(words, "yellow"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in HEADS:
        table.add_column(head)
    for cells in found.rows:
        table.add_row(*map(plain, cells))
    console.print(table)
    for words in found.sentences:
        console.print(plain(words))
    for words in found.changed:
        console.print(plain(f"  changed  {words}"))
    for words in found.alarms:
        console.print(plain(f"  worse    {words}", "bold red"))


def markdown(found: Told, title: str) -> str:
    """The same as a page, for a job's summary."""
    worse = [f"- {words}" for words in found.alarms] or ["- nothing"]
    parts = [
        [f"## {title}", "", "**Worse than before:**", "", *worse],
        *([["Changed:", "", *(f"- {words}" for words in found.changed)]] if found.changed else []),
        *([["Differs:", "", *(f"- {words}" for words in found.differs)]] if found.differs else []),
        ["\n\n".join(found.sentences)],
        [markdown_table(HEADS, found.rows)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def lines_of(side: Path) -> list[Line]:
    """The runs that count of a ledger, or all checked ones of a results folder. Raises StoreError
    where there are none, and for one that cannot be compared."""
    if side.is_dir():
        with errors_told(side):
            found = [_line(RunFolder(path=folder)) for folder in runs_below(side)]
        lines = [line for line in found if line is not None]
    elif side.is_file():
        lines = _sound(side, read(side))
    else:
        raise StoreError(f"{side}: neither a campaign's ledger nor a folder of results")
    if not lines:
        raise StoreError(f"{side}: no run that counts: give a ledger, or a folder of checked runs")
    return lines


def _sound(path: Path, ledger: Lines) -> list[Line]:
    """A ledger's runs that count. Raises LedgerError for one of which something that is compared is
    not what it must be; a superseded one may be as it is."""
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
    # A verdict alone is a campaign's own, of a run without a report whose calibration failed.
    told = "anomalies" in line or ("verdict" in line and "judged" not in line)
    (_Checked if told else _Ended).model_validate(line)


def _line(folder: RunFolder) -> Line | None:
    """What a ledger would say of a stored run; None: it was not checked."""
    if not (folder.path / "report.json").is_file():
        return None
    folder.refuse_links()
    record = folder.read()
    try:
        told = line_of(folder)
        _Checked.model_validate(told)
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
        **told,
    }


def _what_differs(found: Compared, old: Sequence[Line], new: Sequence[Line]) -> Iterator[str]:
    """Settings and versions; all is compared all the same."""
    recorded = {
        str(line["configuration"]): line["settings"]
        for line in [*old, *new]
        if has_digest(line) and line.get("settings")
    }
    for words in versions_that_differ(old, new):
        yield f"versions {words}"
    for both in found.cells:
        for words in settings_that_differ(both, recorded):
            yield f"settings {both.cell}: {words}"


def _row(both: Both, found: Compared) -> Sequence[str]:
    """Both sides' numbers, and the smallest change that would have shown."""
    old, new = row(both.old), row(both.new)
    keys = ("runs", "lossy", "duplicating", "gap")
    # Without their intervals: what is sure is told below.
    pairs = [f"{old[key].partition(' (')[0]} → {new[key].partition(' (')[0]}" for key in keys]
    return [both.cell, *pairs, f"loss in {found.could_have_seen(both)}"]


def _changed(each: Tested) -> str:
    size = f", effect {each.effect:+.2f}" if each.grown is not None else ""
    sides = f"{each.old} before, {each.new} now"
    return f"{each.cell}: {each.what}: {sides} (p = {each.probability.p:.2g}{size})"


def _sentence(found: Compared) -> str:
    many, cells = len(found.changed), len(found.cells)
    if not cells:
        return "there is nothing before to compare with"
    told = f"{many} things changed" if many != 1 else "one thing changed"
    return (
        f"{told if many else 'nothing changed'} in {cells} cells, {len(found.tested)} tests "
        f"together wrong in 5 % of comparisons (losses held to p ≤ {found.at[True]:.2g}, all else "
        f"to p ≤ {found.at[False]:.2g})"
    )
