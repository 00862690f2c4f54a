"""kafka-harness run --matrix: every combination of some settings' values, and one table at the end.

    kafka-harness run my.toml --matrix producer.acks=1,all --matrix workload.rate=1,9 --repeat 5

Cells take turns, so that a matrix cut short has something of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.commands.campaigns.lines import line_of
from harness.commands.closing_table import plain, show_how_many_valid
from harness.commands.copy_to import Copies
from harness.commands.run import each_carried_out
from harness.model.campaigns.matrix import Place, places, short
from harness.model.exit_codes import INTERRUPTED, worst
from harness.model.kafka_text import kafka_text
from harness.model.runs.ledger import Line
from harness.model.scenario import ScenarioError
from harness.scenario.overrides import parse_value, whole
from harness.scenario.prepare import Prepared


def cells_of(scenarios: Sequence[str], matrix: Sequence[str]) -> list[Place]:
    """The scenarios with every combination of what `--matrix` was given; without it the scenarios
    as they are. Raises ScenarioError."""
    if not matrix:
        return [Place(scenario=name, settings={}) for name in scenarios]
    axes: dict[str, Sequence[object]] = {}
    for text in matrix:
        path, sign, values = text.partition("=")
        if not sign or not path.strip():
            raise ScenarioError(f"--matrix {text!r}: write path=a,b, as in producer.acks=1,all")
        key = whole(path)
        if key in axes:
            raise ScenarioError(f"--matrix {text!r}: {key} is there twice: give all values at once")
        axes[key] = _values(key, values)
    try:
        return places(scenarios, axes)
    except ScenarioError as error:
        raise ScenarioError(f"--matrix: {error}") from None


def _values(path: str, text: str) -> Sequence[object]:
    """Values between commas, or a list as TOML has it, for values that have commas themselves."""
    whole_text = parse_value(text)
    if isinstance(whole_text, list):
        return whole_text
    return [parse_value(each.strip(), path) for each in text.split(",") if each.strip()]


def run_matrix(
    cells: Sequence[Place],
    prepared: Sequence[Prepared],
    results: Path,
    *,
    copies: Copies | None,
    console: Console,
) -> int:
    """Carry out the runs, which take turns by cell, check them, and show the table; the worst exit
    code."""
    lines: dict[str, list[Line]] = {cell.name: [] for cell in cells}
    codes: list[int] = []
    copied: list[int] = []
    runs = each_carried_out(prepared, results, check=True, copies=copies, console=console)
    for number, run in enumerate(runs):
        codes.append(run.code)
        copied.append(run.copied)
        if run.code not in INTERRUPTED:
            lines[cells[number % len(cells)].name].append(line_of(run.folder, run.code))
    console.print()
    console.print(_table(cells, lines))
    show_how_many_valid(codes, len(prepared), console)
    return worst([*codes, *copied])


def _table(cells: Sequence[Place], lines: dict[str, list[Line]]) -> Table:
    """A row for each cell: its scenario where there are several, its settings, what was seen."""
    from analysis.studies.matrix_rows import HEADS, row  # SciPy is slow to import

    several = len({cell.scenario for cell in cells}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in (
        *(["scenario"] if several else []),
        *map(short, cells[0].settings),
        *HEADS.values(),
    ):
        table.add_column(head)
    for cell in cells:
        settings = map(kafka_text, cell.settings.values())
        names = [cell.scenario] if several else []
        table.add_row(*map(plain, [*names, *settings, *row(lines[cell.name]).values()]))
    return table
