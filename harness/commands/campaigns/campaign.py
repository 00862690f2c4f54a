"""kafka-harness campaign: makes a campaign's missing runs, lists them, or supersedes runs.

`--dry-run` lists the cells, and how long the missing runs will take; `--supersede` takes runs out
of the count, with a reason; otherwise runs are made (harness.commands.campaigns.make_runs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.commands import completion
from harness.commands.options import RESULTS, Results, console, settings
from harness.model.exit_codes import VALID

if TYPE_CHECKING:
    from harness.commands.campaigns.make_runs import CampaignOptions


OnlyBackends = Annotated[
    str,
    typer.Option(
        metavar="A,B",
        help="Run only on these of its backends.",
        autocompletion=completion.backends,
    ),
]
OnlyCells = Annotated[
    list[str] | None,
    typer.Option(
        "--cell",
        metavar="NAME",
        help="Run only this cell, or those that fit a pattern, as one-*. Repeatable.",
    ),
]
Superseded = Annotated[
    list[str] | None,
    typer.Option(
        "--supersede",
        metavar="CELL",
        help="Run nothing: let the runs of this cell count no more, for --why. Repeatable.",
    ),
]
Nights = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Make tonight's runs, with a ledger in DIR, and compare them with the nights "
        "before that are there; 1 if tonight is worse.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Run nothing: list the cells, and how long they will take."),
]
NoCalibration = Annotated[
    bool,
    typer.Option(
        "--no-calibration", help="Begin at once, without three runs that show what is seen."
    ),
]
Dirty = Annotated[
    bool,
    typer.Option(
        "--dirty",
        help="Let runs of a harness with changes that no commit has into a ledger in git.",
    ),
]
Parallel = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, help="Record N runs at a time; they starve each other, and gaps grow."
    ),
]
Why = Annotated[str, typer.Option(metavar="WORDS", help="The reason, for the ledger and its page.")]


def campaign(  # each an option of the command
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A campaign's .toml file.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a campaign that has finished runs.")
    ] = False,
    backends: OnlyBackends = "",
    cells: OnlyCells = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set a backend's key, e.g. backend.docker.image=NAME. Repeatable.",
        ),
    ] = None,
    superseded: Superseded = None,
    why: Why = "",
    nights: Nights = None,
    dry_run: DryRun = False,
    no_calibration: NoCalibration = False,
    dirty: Dirty = False,
    parallel: Parallel = 1,
    results: Results = RESULTS,
) -> None:
    """Run scenarios x settings x backends x repeats; finished runs are never run again.

    kafka-harness campaign upgrade.toml --dry-run

    kafka-harness campaign upgrade.toml --resume --backends local

    kafka-harness campaign nightly.toml --nights nights
    """
    from harness.commands.campaigns.make_runs import CampaignOptions, make_runs

    tonight = None
    if nights:
        from harness.commands.campaigns.night import ledger_of, make_night

        tonight = ledger_of(nights)
    options = CampaignOptions(
        ledger=tonight,
        resume=resume,
        backends=tuple(name for name in backends.split(",") if name),
        cells=tuple(cells or ()),
        settings=settings(sets),
        calibrate=not no_calibration,
        parallel=parallel,
        dirty=dirty,
    )
    if superseded or why:
        raise typer.Exit(supersede(file, superseded or (), why, options, console=console))
    if dry_run:
        raise typer.Exit(show_what_is_missing(file, options, console=console))
    if nights:
        raise typer.Exit(make_night(file, nights, results, options, console=console))
    raise typer.Exit(make_runs(file, results, options, console=console))


def show_what_is_missing(file: Path, options: CampaignOptions, *, console: Console) -> int:
    """Print a row for each cell and backend, and the sum. Prepares every missing run, so that an
    impossible one is refused here already; starts and writes nothing."""
    from harness.commands.campaigns.file import of, read_campaign
    from harness.commands.campaigns.make_runs import prepared, still_to_do
    from harness.commands.campaigns.todo import counting, fitting
    from harness.commands.closing_table import plain
    from harness.model.runs.ledger import name_of, read
    from harness.scenario.expected_length import expected_s, in_words

    plan = read_campaign(file)
    standing = read(options.ledger or file.parent / plan.data).standing
    todo = still_to_do(plan, standing, options)
    took_s = [expected_s(attempt.prepared.scenario) for attempt in prepared(todo)]
    finished = Counter(name_of(line)[:2] for line in counting(plan, standing))
    left, left_s = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for (cell, request), each_s in zip(todo, took_s, strict=True):
        left[cell.key, request.backend] += 1
        left_s[cell.key, request.backend] += round(each_s)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("cell", "backend", "finished", "to do", "about"):
        table.add_column(head, justify="left" if head in ("cell", "backend") else "right")
    for cell in fitting(plan.every_cell(), options.cells):
        for backend in of(plan, options.backends):
            place = (cell.key, backend)
            about = in_words(left_s[place]) if left[place] else ""
            done = sum(finished[name, backend] for name in cell.names)
            counts = (str(done), str(left[place]), about)
            table.add_row(plain(cell.key), backend, *counts)
    console.print(table)
    console.print(
        f"{len(todo)} runs to do, about {in_words(sum(took_s))} on a machine of two cores, one "
        "after the other"
    )
    return VALID


def supersede(
    file: Path, cells: Sequence[str], why: str, options: CampaignOptions, *, console: Console
) -> int:
    """Take the runs of these cells, on the backends and in the ledger of the options, out of the
    count. Raises ScenarioError, before anything is written, for a cell without runs that count."""
    from harness.commands.campaigns.file import of, read_campaign
    from harness.model.runs.ledger import Ledger, name_of, superseded
    from harness.model.scenario import ScenarioError
    from harness.run.progress import Screen

    plan = read_campaign(file)
    if not why.strip():
        raise ScenarioError("--supersede: say with --why in words why these runs count no more")
    if not cells:
        raise ScenarioError("--why: say with --supersede which cell's runs count no more")
    backends = of(plan, options.backends)
    data = options.ledger or file.parent / plan.data
    with Ledger.open(data) as opened:
        lines = [line for line in opened.read().standing if name_of(line)[1] in backends]
        for cell in cells:
            if not any(line["cell"] == cell for line in lines):
                raise ScenarioError(
                    f"--supersede {cell}: {data} has no run of it that counts; it has those "
                    f"of {', '.join(dict.fromkeys(line['cell'] for line in lines)) or 'nothing'}"
                )
        retired = [superseded(line, why.strip()) for line in lines if line["cell"] in cells]
        for line in retired:
            opened.add(line)
    Screen(console).say(
        f"{', '.join(cells)}: {len(retired)} of the runs count no more: {why.strip()}"
    )
    return VALID
