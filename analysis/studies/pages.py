"""What all pages share that are made of a campaign's file and its ledger.

Pure: campaign file + ledger -> text, so that a test notices a page that was edited by hand.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from analysis.studies.beside import require_one_configuration
from harness.model.campaigns.ledger import Lines, read

Cell = Mapping[str, Any]  # a table of a campaign's file, or all of it
Render = Callable[[Cell, Lines], str]


def template(name: str) -> jinja2.Template:
    """A Markdown page's template; an undefined name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.studies"),
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  it is Markdown
    )
    return environment.get_template(name)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = (heads, ["---"] * len(heads), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def lean_table(
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, str]],
    once: Mapping[str, tuple[str | None, str]],
) -> str:
    """A table of the columns (key: head), without those of `once` in which all rows agree. `once`
    has the value by which a column may go (None: any) and the sentence that stands above the table
    instead, with {} for the value (empty: none). No rows make no table."""
    if not rows:
        return ""
    asked = [key for key in columns if key in once and len({row[key] for row in rows}) == 1]
    gone = {key: rows[0][key] for key in asked if once[key][0] in (None, rows[0][key])}
    said = [once[key][1].format(value) for key, value in gone.items() if once[key][1]]
    left = {key: head for key, head in columns.items() if key not in gone}
    table = markdown_table([*left.values()], ([row[key] for key in left] for row in rows))
    return "\n".join(said) + "\n\n" * bool(said) + table


def page(file: Path, render: Render) -> str:
    """The page of a campaign file and its ledger. Raises LedgerError where runs of a cell have
    different configurations."""
    campaign = tomllib.loads(file.read_text())
    data = file.parent / campaign["data"]
    ledger = with_present_names(campaign, read(data))
    require_one_configuration(data, ledger)
    return render(campaign, ledger)


def with_present_names(campaign: Cell, ledger: Lines) -> Lines:
    """The lines with the present names of their cells."""
    now = {
        name: cell.get("name", cell["scenario"])
        for cell in campaign.get("cells", ())
        for name in cell.get("formerly", ())
    }
    return Lines(all=[{**line, "cell": now.get(line["cell"], line["cell"])} for line in ledger.all])


def write_page(render: Render) -> None:
    """Write the page beside the campaign that the command line names."""
    file = Path(sys.argv[1])
    file.with_suffix(".md").write_text(page(file, render))
