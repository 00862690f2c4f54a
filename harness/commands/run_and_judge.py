"""Commands that run scenarios, or judge what was recorded."""

from __future__ import annotations

import secrets
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import completion
from harness.commands.options import (
    RESULTS,
    AboutTables,
    Backend,
    ClientDefaults,
    Complete,
    ConsumerConfig,
    Defaults,
    KafkaHome,
    Master,
    ProducerConfig,
    Reads,
    Results,
    Runs,
    Scenarios,
    Seed,
    Sends,
    ServerProperties,
    Sets,
    TimeLimit,
    TopicConfig,
    Unpinned,
    WriteJob,
    console,
    settings,
)

if TYPE_CHECKING:
    from harness.foreign.folder import Wanted

PANEL = "Run and judge"

Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Allow faults on an existing cluster: its namespace, or the first "
        "address of backend.external.bootstrap.",
    ),
]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the nodes' data directories.")]
NoCheck = Annotated[bool, typer.Option("--no-check", help="Record, do not check.")]
CopyTo = Annotated[
    str | None,
    typer.Option(metavar="URI", help="Also copy each run: s3://bucket/x, or a folder."),
]

Matrix = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH=A,B",
        help="Run with each of these values, and end with one table: producer.acks=1,all. "
        "Repeatable: every combination.",
        autocompletion=completion.keys,
    ),
]
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


Kafkas = Annotated[
    str,
    typer.Option(
        metavar="A,B",
        help="Kafka's release, or a line as 4.4; several are short for --matrix cluster.kafka=A,B.",
        autocompletion=completion.releases,
    ),
]


def _with_releases(matrix: list[str] | None, kafka: str) -> tuple[list[str], str]:
    """What is to be varied, several releases too, and the release of all runs otherwise."""
    several = [f"cluster.kafka={kafka}"] if "," in kafka else []
    return [*(matrix or []), *several], "" if several else kafka


def run(
    scenarios: Scenarios,
    backend: Backend = "local",
    seed: Seed = None,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each scenario.")] = 1,
    sets: Sets = None,
    producer_config: ProducerConfig = None,
    consumer_config: ConsumerConfig = None,
    server_properties: ServerProperties = None,
    topic_config: TopicConfig = None,
    client_defaults: ClientDefaults = None,
    kafka: Kafkas = "",
    kafka_home: KafkaHome = None,
    unpinned: Unpinned = False,
    time_limit: TimeLimit = None,
    results: Results = RESULTS,
    allow: Allow = None,
    keep: Keep = False,
    no_check: NoCheck = False,
    copy_to: CopyTo = None,
    matrix: Matrix = None,
) -> None:
    """Run scenarios on a fresh cluster each, check what was recorded, and report.

    kafka-harness run my.toml --matrix producer.acks=1,all --repeat 5

    kafka-harness run study-1 --seed 42 --producer-config application.yml

    kafka-harness run study-1 --kafka 3.9,4.4
    """
    from harness.commands.campaigns.run_matrix import cells_of, run_matrix
    from harness.commands.copy_to import destination
    from harness.commands.run import carry_out_runs, prepare_runs
    from harness.scenario.prepare import Request

    axes, kafka = _with_releases(matrix, kafka)
    if axes and no_check:
        raise typer.BadParameter("--matrix ends with what its runs were found to be: it checks")
    cells, given = cells_of(scenarios, axes), settings(sets, client_defaults, kafka)
    one = Request(
        scenario="",
        seed=secrets.randbelow(1_000_000) if seed is None else seed,
        backend=backend,
        producer_config=producer_config,
        consumer_config=consumer_config,
        server_properties=server_properties,
        topic_config=topic_config,
        kafka_home=kafka_home,
        unpinned=unpinned,
        time_limit_s=time_limit,
        keep=keep,
        allow=tuple(allow or ()),
    )
    requests = [one.of(cell, number, given) for number in range(repeat) for cell in cells]
    prepared = prepare_runs(requests, console)
    copies = destination(copy_to) if copy_to else None
    if axes:
        raise typer.Exit(run_matrix(cells, prepared, results, copies=copies, console=console))
    code = carry_out_runs(prepared, results, check=not no_check, copies=copies, console=console)
    raise typer.Exit(code)


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
    from harness.commands.check import check_runs
    from harness.model.runs.run_folder import find_run
    from harness.model.runs.uris import as_path, is_uri

    asked = [bool(runs), bool(sends or reads), write_job is not None]
    if sum(asked) != 1:
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
    from harness.commands.campaigns.dry_run import show_what_is_missing
    from harness.commands.campaigns.make_runs import CampaignOptions, make_runs
    from harness.commands.campaigns.supersede import supersede

    tonight = None
    if nights:
        from harness.commands.nights.night import ledger_of, make_night

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
    from harness.commands.check import check_runs
    from harness.foreign.about import read_about
    from harness.foreign.folder import Wanted
    from harness.foreign.importing import import_files

    told = {
        "producer/acks": acks,
        "replication_factor": replication_factor,
        "topic/min.insync.replicas": min_insync_replicas,
        "defaults": defaults or None,
    }
    known = read_about(about, {key: value for key, value in told.items() if value is not None})
    again = shlex.join(["kafka-harness", *sys.argv[1:]])
    wanted = Wanted(name=name, results=results, command=again, about=known)
    folder, summary = import_files(files, final or (), wanted)
    console.print(summary, markup=False)
    if no_check:
        console.print(f"imported: {folder.path}", markup=False)
        return
    raise typer.Exit(check_runs([folder], master=None, console=console))


COMMANDS = (run, check, campaign, import_)
