"""kafka-harness scenarios: lists the shipped scenarios."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from harness.commands.options import console


def scenarios() -> None:
    """List the scenarios that come with the harness, by family, and about how long each takes.

    kafka-harness scenarios | grep acks=1
    """
    from harness.host.output import print_table
    from harness.scenario.expected_length import expected_s, in_words
    from harness.scenario.file import families, read_scenario

    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", no_wrap=True)
    table.add_column("takes about", justify="right", no_wrap=True)
    table.add_column("what it shows")
    for family, names in families().items():
        if family:
            table.add_row(family, style="bold")
        for name in names:
            scenario = read_scenario(name)
            takes = in_words(expected_s(scenario))
            table.add_row(f"  {name}" if family else name, takes, Text(scenario.title))
    print_table(console, table)
