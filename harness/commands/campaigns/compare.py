"""kafka-harness compare: compares tonight's runs with those of nights before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import console
from harness.model.campaigns.worse import GAP_FACTOR


def compare(
    sides: Annotated[
        list[Path],
        typer.Argument(
            metavar="BEFORE… NOW", help="Ledgers, or results folders; the last one is now."
        ),
    ],
    gap_factor: Annotated[
        float,
        typer.Option(metavar="X", min=1.0, help="A gap that is longer by this factor is worse."),
    ] = GAP_FACTOR,
) -> None:
    """Compare tonight's runs with those of nights before, cell by cell; 1 if it is worse.

    Worse is: something that is forbidden, new or not; an anomaly, or unknown runs, in more runs
    than chance gives; gaps that grew beyond the factor. Settings that differ are named first.

    kafka-harness compare last-night.jsonl tonight.jsonl
    """
    from harness.commands.campaigns.comparison import compare_runs

    if len(sides) < 2:
        raise typer.BadParameter("give two or more: what was before, and what is now")
    raise typer.Exit(compare_runs(sides, gap_factor=gap_factor, console=console))
