"""kafka-harness check: checks stored runs or two tables, or writes the check as one file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import (
    RESULTS,
    AboutTables,
    Complete,
    Master,
    Reads,
    Results,
    Runs,
    Sends,
    WriteJob,
    console,
)

if TYPE_CHECKING:
    from harness.foreign.folder import Wanted


def check(  # each an option of the command
    runs: Runs = None,
    sends: Sends = None,
    reads: Reads = None,
    complete: Complete = False,
    about: AboutTables = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What tables are called.")] = "tables",
    write_job: WriteJob = None,
    master: Master = None,
    results: Results = RESULTS,
) -> None:
    """Check stored runs again, or two tables of anybody's. Needs no cluster.

    `kafka-harness docs tables` describes tables, what they cannot tell, and the job.

    A URI that Spark reads and writes will do as well: reports then go there.

    kafka-harness check study-1 results/study-2/20261121T120000Z-7

    kafka-harness check s3a://bucket/study-1/20261121T120000Z-7 --master spark://host:7077

    kafka-harness check --sends sends.parquet --reads reads.csv --final-read-is-complete

    kafka-harness check --write-job job.py
    """
    from harness.commands.check_runs import check_runs
    from harness.model.runs.run_folder import find_run
    from harness.model.runs.uris import as_path, is_uri

    kinds = [bool(runs), bool(sends or reads), write_job is not None]
    if sum(kinds) != 1:
        raise typer.BadParameter("give runs, or --sends and --reads, or --write-job")
    if write_job is not None:
        raise typer.Exit(_write_job(write_job, about))
    if not runs:
        again = shlex.join(["kafka-harness", *sys.argv[1:]])
        wanted = _wanted(name, results, about, again)
        raise typer.Exit(_check_tables((sends, reads), wanted, complete=complete, master=master))
    if complete or about:
        raise typer.BadParameter("--final-read-is-complete and --about go with --sends and --reads")
    folders = [which if is_uri(which) else find_run(as_path(which), results) for which in runs]
    raise typer.Exit(check_runs(folders, master=master, console=console))


def _wanted(name: str, results: Path, about: Path | None, command: str) -> Wanted:
    from harness.foreign.about import read_about
    from harness.foreign.folder import Wanted

    return Wanted(name=name, results=results, command=command, about=read_about(about, {}))


def _check_tables(
    tables: tuple[str | None, str | None], wanted: Wanted, *, complete: bool, master: str | None
) -> int:
    from harness.commands.tables.check_tables import Asked, check_tables

    sends, reads = tables
    if not sends or not reads:
        raise typer.BadParameter("give both, --sends and --reads")
    asked = Asked(sends=sends, reads=reads, complete=complete, wanted=wanted, master=master)
    return check_tables(asked, console)


def _write_job(file: Path, about: Path | None) -> int:
    from harness.commands.tables.write_job import write_job
    from harness.foreign.about import read_about

    write_job(file, read_about(about, {}))
    console.print(f"spark-submit {file} --sends TABLE --reads TABLE", markup=False)
    return 0
