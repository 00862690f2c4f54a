"""kafka-harness import: makes a run of somebody else's history, and checks it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import RESULTS, Defaults, Results, console


def import_(  # each an option of the command
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Logs of VerifiableProducer and VerifiableConsumer, lines, or Jepsen's EDN.",
        ),
    ],
    final: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Which file (or process in it) read everything after the last send. Repeatable.",
        ),
    ] = None,
    acks: Annotated[
        str | None, typer.Option(metavar="ACKS", help="The producers' acks: 0, 1 or all.")
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The topic's.")
    ] = None,
    min_insync_replicas: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The topic's.")
    ] = None,
    defaults: Defaults = False,
    about: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .toml file with all that is known.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What it is called.")] = "imported",
    results: Results = RESULTS,
    no_check: Annotated[bool, typer.Option("--no-check", help="Import, do not check.")] = False,
) -> None:
    """Make a run of somebody else's history, and check it.

    `kafka-harness docs lines` describes the lines and what they cannot tell.

    kafka-harness import producer.jsonl consumer.jsonl --final consumer.jsonl --acks 1
    """
    from harness.commands.check_runs import check_runs
    from harness.foreign.about import read_about
    from harness.foreign.imported_run import ImportRequest
    from harness.foreign.importing import import_files

    stated = {
        "producer/acks": acks,
        "replication_factor": replication_factor,
        "topic/min.insync.replicas": min_insync_replicas,
        "defaults": defaults or None,
    }
    facts = read_about(about, {key: value for key, value in stated.items() if value is not None})
    again = shlex.join(["kafka-harness", *sys.argv[1:]])
    request = ImportRequest(name=name, results=results, command=again, about=facts)
    folder, summary = import_files(files, final or (), request)
    console.print(summary, markup=False)
    if no_check:
        for note in folder.read().notes:
            console.print(note, markup=False)
        console.print(f"imported: {folder.path}", markup=False)
        return
    raise typer.Exit(check_runs([folder], master=None, console=console))
