"""What all pages share that are made of a campaign's file and its ledger.

Pure: campaign file + ledger -> text, so that a test can tell a page that was edited by hand.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from analysis.studies.beside import require_one_configuration
from harness.model.runs.ledger import Lines, read

Render = Callable[[Mapping[str, Any], Lines], str]


def template(name: str) -> jinja2.Template:
    """A Markdown page's template; a name that it is not given is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.studies"),
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  it is Markdown
    )
    return environment.get_template(name)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown: its heads, and a line for each row."""
    lines = (heads, ["---"] * len(heads), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def page(file: Path, render: Render) -> str:
    """The page that belongs to a campaign file as its ledger is now. Raises LedgerError where runs
    of a cell put different things to the test."""
    campaign = tomllib.loads(file.read_text())
    data = file.parent / campaign["data"]
    told = renamed(campaign, read(data))
    require_one_configuration(data, told)
    return render(campaign, told)


def renamed(campaign: Mapping[str, Any], told: Lines) -> Lines:
    """The lines with the names that their cells have now."""
    now = {
        name: cell.get("name", cell["scenario"])
        for cell in campaign.get("cells", ())
        for name in cell.get("formerly", ())
    }
    return Lines(all=[{**line, "cell": now.get(line["cell"], line["cell"])} for line in told.all])


def write_page(render: Render) -> None:
    """Write the page beside the campaign that the command line names."""
    file = Path(sys.argv[1])
    file.with_suffix(".md").write_text(page(file, render))
