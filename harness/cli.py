"""kafka-harness: with this configuration, when this breaks, what does Kafka lose, what does it
duplicate, and for how long is it down?

Real ZooKeepers and brokers, real faults, every send and read recorded, checked by Spark.

Exit codes: 0 valid, 1 invalid, 2 unknown, 254 bad arguments or scenario,
255 the harness or the cluster failed (an unexpected error too), 130 or 143 interrupted.
Several runs exit with the worst code: 1 before 255 before 2 before 0.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.exceptions import TyperException

from harness.clients.properties import PropertiesError
from harness.cluster.nodes import ClusterError
from harness.cluster.ownership import Orphan
from harness.commands.campaign import CampaignOptions, make_runs
from harness.commands.check import check_runs
from harness.commands.closing_table import show_stored_report
from harness.commands.copy_to import destination
from harness.commands.doctor import show_host
from harness.commands.export import Format, export_run
from harness.commands.heal import heal_cluster, heal_run
from harness.commands.run import carry_out_runs, prepare_run
from harness.commands.up import hold_up
from harness.history.sealing import HistoryError
from harness.host import unforeseen
from harness.host.machine import HostError
from harness.model import exit_codes
from harness.model.runs import json_text
from harness.model.runs.run_folder import StoreError, errors_told, find_run
from harness.model.scenario import ScenarioError
from harness.run.progress import Screen
from harness.scenario.file import read_scenario, shipped
from harness.scenario.overrides import parse_override
from harness.scenario.prepare import Request, prepare

RESULTS = Path("results")

app = typer.Typer(
    name="kafka-harness",
    help=__doc__,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console(highlight=False, soft_wrap=True)

Scenarios = Annotated[list[str], typer.Argument(help="Names (`scenarios` lists them) or files.")]
Runs = Annotated[list[str], typer.Argument(help="Run folders, run ids, or scenarios (latest run).")]
OneRun = Annotated[str, typer.Argument(help="A run folder, a run id, or a scenario (latest run).")]
Backend = Annotated[
    str, typer.Option(help="Where the cluster runs: local, docker, kubernetes or external.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=json_text.LEAST // 2,
        max=json_text.MOST // 2,
        help="Seed of all random choices; random by default.",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a key of the scenario, e.g. workload.rounds=1000. Repeatable.",
    ),
]
ProducerConfig = Annotated[
    Path | None, typer.Option(help="Your producer's .properties file, in Java or librdkafka keys.")
]
ConsumerConfig = Annotated[
    Path | None, typer.Option(help="Your consumer's .properties file, in Java or librdkafka keys.")
]
ServerProperties = Annotated[Path | None, typer.Option(help="Your brokers' server.properties.")]
KafkaHome = Annotated[Path | None, typer.Option(help="Your own Kafka 3.x: DIR/libs/*.jar.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="S", min=1, help="Limit of the whole run; by default from the plan."),
]
Results = Annotated[Path, typer.Option(help="Where runs are kept.")]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="A Spark cluster; this machine by default.")
]


@app.command()
def run(
    scenarios: Scenarios,
    backend: Backend = "local",
    seed: Seed = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each scenario.")] = 1,
    sets: Sets = None,
    producer_config: ProducerConfig = None,
    consumer_config: ConsumerConfig = None,
    server_properties: ServerProperties = None,
    kafka_home: KafkaHome = None,
    time_limit: TimeLimit = None,
    results: Results = RESULTS,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Allow faults on an existing cluster: its namespace, or the first "
            "address of backend.external.bootstrap.",
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the nodes' data directories.")] = False,
    no_check: Annotated[bool, typer.Option("--no-check", help="Record, do not check.")] = False,
    copy_to: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Also copy each run: s3://bucket/x, file:///mnt/x."),
    ] = None,
) -> None:
    """Run scenarios on a fresh cluster each, check what was recorded, and report.

    kafka-harness run study-1 --seed 42
    kafka-harness run baseline --producer-config my-producer.properties --set workload.rounds=2000
    """
    first = secrets.randbelow(1_000_000) if seed is None else seed
    requests = [
        Request(
            scenario=name,
            seed=first + number,
            backend=backend,
            settings=_settings(sets),
            producer_config=producer_config,
            consumer_config=consumer_config,
            server_properties=server_properties,
            kafka_home=kafka_home,
            time_limit_s=time_limit,
            keep=keep,
            allow=tuple(allow or ()),
        )
        for name in scenarios
        for number in range(repeat)
    ]
    # Refuse all before any starts.
    prepared = [prepare_run(request) for request in requests]
    copies = destination(copy_to) if copy_to else None
    raise typer.Exit(
        carry_out_runs(prepared, results, check=not no_check, copies=copies, console=console)
    )


@app.command()
def check(runs: Runs, master: Master = None, results: Results = RESULTS) -> None:
    """Check stored runs again; needs no cluster, only their folders."""
    folders = [find_run(which, results) for which in runs]
    raise typer.Exit(check_runs(folders, master=master, console=console))


@app.command()
def report(run: OneRun, results: Results = RESULTS) -> None:
    """Show what the check of a run found, and where its HTML report is."""
    folder = find_run(run, results)
    show_stored_report(folder, console)


@app.command()
def export(
    run: OneRun,
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="jsonl: all that was recorded, for people. "
            "jepsen: EDN, as Jepsen's Kafka workload would have recorded it.",
        ),
    ] = Format.JSONL,
    results: Results = RESULTS,
) -> None:
    """Print a run's history in order of time, a line an event; docs/history.md has the formats.

    kafka-harness export --format jepsen study-1 > history.edn
    """
    export_run(find_run(run, results), form)


@app.command()
def history(run: OneRun, results: Results = RESULTS) -> None:
    """Print a run's history as JSON lines: `export --format jsonl`."""
    export_run(find_run(run, results), Format.JSONL)


@app.command()
def scenarios() -> None:
    """List the scenarios that come with the harness."""
    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", style="bold", no_wrap=True)
    table.add_column("what it shows")
    for name in shipped():
        table.add_row(name, read_scenario(name).title)
    console.print(table)


@app.command()
def show(
    scenario_name: Annotated[str, typer.Argument(metavar="SCENARIO", help="A name or a file.")],
    seed: Seed = 0,
    backend: Backend = "local",
    sets: Sets = None,
    producer_config: ProducerConfig = None,
    consumer_config: ConsumerConfig = None,
    server_properties: ServerProperties = None,
) -> None:
    """Print the plan and the complete configuration of a run; nothing is started.

    What `run` would refuse on that backend is refused here too.
    """
    request = Request(
        scenario=scenario_name,
        seed=seed or 0,
        backend=backend,
        settings=_settings(sets),
        producer_config=producer_config,
        consumer_config=consumer_config,
        server_properties=server_properties,
    )
    prepared = prepare_run(request)
    for note in prepared.notes:
        console.print(f"note: {note}", style="yellow")
    for step in prepared.steps:
        console.print(f"step {step.step}: {step.describe()}")
    shown = prepared.record.model_dump(mode="json", include={"seed", "time_limit_s", "scenario"})
    console.print_json(json.dumps(shown))


@app.command()
def doctor() -> None:
    """Say what this host can and cannot do, and the remedy for each."""
    raise typer.Exit(show_host(console))


@app.command()
def heal(
    run: Annotated[
        str | None, typer.Argument(help="A run folder, a run id, or a scenario (latest run).")
    ] = None,
    backend: Annotated[str, typer.Option(help="With --cluster: its backend.")] = "docker",
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A compose project or a namespace, instead of a run."),
    ] = None,
    down: Annotated[bool, typer.Option("--down", help="Then remove the cluster.")] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Allow what the run's folder names: `command` its heal commands, which are "
            "printed before; an address or a file what is to be reached or opened.",
        ),
    ] = None,
    results: Results = RESULTS,
) -> None:
    """Undo the faults that a killed harness left in force.

    Docker and Kubernetes clusters are found by their labels, from any machine.
    Outstanding heal commands of the verb `command` are printed, and run with --allow command.
    """
    if (run is None) == (cluster is None):
        raise ScenarioError("heal: give either a run or --cluster NAME")
    if run is not None:
        folder = find_run(run, results)
        with errors_told(folder.path), unforeseen.details_go_to(folder.path):
            code = heal_run(folder, console, down=down, allow=allow or ())
        raise typer.Exit(code)
    orphan = Orphan(record=None, name=cluster, down=down)
    raise typer.Exit(heal_cluster(backend, orphan, console))


@app.command()
def up(
    scenario_name: Annotated[str, typer.Argument(metavar="SCENARIO", help="A name or a file.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND…]", help="Run this instead of a shell, then end."),
    ] = None,
    sets: Sets = None,
    server_properties: ServerProperties = None,
    kafka_home: KafkaHome = None,
) -> None:
    """Start a scenario's cluster in the foreground, with a shell inside its network.

    The variables KAFKA and ZOOKEEPER hold the addresses.
    """
    request = Request(
        scenario=scenario_name,
        seed=0,
        settings=_settings(sets),
        server_properties=server_properties,
        kafka_home=kafka_home,
    )
    raise typer.Exit(hold_up(prepare(request), command or []))


@app.command()
def campaign(
    file: Annotated[Path, typer.Argument(help="A campaign's .toml file, e.g. docs/study.toml.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a campaign that has finished runs.")
    ] = False,
    backends: Annotated[
        str, typer.Option(metavar="A,B", help="Run only on these of its backends.")
    ] = "",
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set a backend's key, e.g. backend.docker.image=NAME. Repeatable.",
        ),
    ] = None,
    results: Results = RESULTS,
) -> None:
    """Run scenarios x settings x backends x repeats; finished runs are never run again."""
    options = CampaignOptions(
        resume=resume,
        backends=tuple(name for name in backends.split(",") if name),
        settings=_settings(sets),
    )
    raise typer.Exit(make_runs(file, results, options, console=console))


def _settings(sets: list[str] | None) -> dict[str, Any]:
    return dict(parse_override(text) for text in sets or [])


def main() -> None:
    """The command; every problem, foreseen or not, is one sentence on stderr and the right exit
    code."""
    try:
        code = app(standalone_mode=False)
    except typer.Abort:
        code = exit_codes.interrupted(signal.SIGINT)
    except TyperException as error:  # a wrong option, a missing argument…
        _say_error(f"{error.format_message()} (see `kafka-harness --help`)")
        code = exit_codes.BAD_ARGUMENTS
    except (ScenarioError, PropertiesError, StoreError, HistoryError) as error:
        _say_error(str(error))
        code = exit_codes.BAD_ARGUMENTS
    except (HostError, ClusterError) as error:
        _say_error(str(error))
        code = exit_codes.FAILED
    except KeyboardInterrupt:
        code = exit_codes.interrupted(signal.SIGINT)
    except BrokenPipeError:  # who reads what is printed has seen enough
        sys.stderr.close()
        code = exit_codes.FAILED
    except Exception as error:
        _say_error(unforeseen.sentence_of(error, sys.argv[1:]))
        code = exit_codes.FAILED
    sys.exit(code)


def _say_error(sentence: str) -> None:
    with suppress(Exception):  # where nothing can be said, the exit code still tells it
        Screen(Console(stderr=True, highlight=False, soft_wrap=True)).error(sentence)


if __name__ == "__main__":
    main()
