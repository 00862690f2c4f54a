"""kafka-harness docs: prints and searches the pages of the documentation."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from harness.commands import completion
from harness.commands.options import console


def docs(
    page: Annotated[
        str,
        typer.Argument(
            help="A page's name, or what to look for in all of them; none lists them.",
            autocompletion=completion.pages,
        ),
    ] = "",
) -> None:
    """Print a page of the documentation, or list them: the tutorial, every key, every fault. Any
    other word is looked for in all of them.

    kafka-harness docs tutorial | less

    kafka-harness docs group.instance.id
    """
    from harness.host.output import print_table
    from harness.release import PAGES

    files = {path.stem: path for path in PAGES.glob("*.md")}
    files = dict(sorted(files.items()))
    if page in files:
        sys.stdout.write(files[page].read_text())
        return
    if page:
        word = page.removesuffix("s") or page  # of timeouts
        looked_for = re.compile(rf"{re.escape(page)}|\b{re.escape(word)}\b", re.IGNORECASE)
        passages = [
            f"{name}:{number}: {line.strip()}\n"
            for name, file in files.items()
            for number, line in enumerate(file.read_text().splitlines(), 1)
            if looked_for.search(line)
        ]
        if not passages:
            raise typer.BadParameter(f"{page!r} stands on none of the pages {', '.join(files)}")
        sys.stdout.writelines(passages)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, file in files.items():
        table.add_row(name, Text(file.read_text().partition("\n")[0].lstrip("# ")))
    print_table(console, table)
    console.print(f"as files: {PAGES}", markup=False)
