"""Commands that show what there is: scenarios, plans, reports, histories. Nothing is started."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer
from rich.table import Table

from harness.command_lines.options import (
    RESULTS,
    Backend,
    ConsumerConfig,
    OneRun,
    OneScenario,
    ProducerConfig,
    Results,
    Seed,
    ServerProperties,
    Sets,
    console,
    settings,
)

PANEL = "Look at"


def scenarios() -> None:
    """List the scenarios that come with the harness."""
    from harness.scenario.file import read_scenario, shipped

    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", style="bold", no_wrap=True)
    table.add_column("what it shows")
    for name in shipped():
        table.add_row(name, read_scenario(name).title)
    console.print(table)


def show(
    scenario: OneScenario,
    seed: Seed = 0,
    backend: Backend = "local",
    sets: Sets = None,
    producer_config: ProducerConfig = None,
    consumer_config: ConsumerConfig = None,
    server_properties: ServerProperties = None,
) -> None:
    """Print the plan and the complete configuration of a run; nothing is started.

    What `run` would refuse on that backend is refused here too.

    kafka-harness show study-1 --set workload.producer.acks=all
    """
    from harness.commands.run import prepare_run
    from harness.scenario.prepare import Request

    request = Request(
        scenario=scenario,
        seed=seed or 0,
        backend=backend,
        settings=settings(sets),
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


def report(run: OneRun, results: Results = RESULTS) -> None:
    """Show what the check of a run found, and where its HTML report is.

    kafka-harness report study-1
    """
    from harness.commands.closing_table import show_stored_report
    from harness.model.runs.run_folder import find_run

    show_stored_report(find_run(run, results), console)


def export(
    run: OneRun,
    form: Annotated[
        Literal["jsonl", "jepsen"],
        typer.Option(
            "--format",
            help="jsonl: all that was recorded, for people. "
            "jepsen: EDN, as Jepsen's Kafka workload would have recorded it.",
        ),
    ] = "jsonl",
    results: Results = RESULTS,
) -> None:
    """Print a run's history in order of time, a line an event; docs/history.md has the formats.

    kafka-harness export --format jepsen study-1 > history.edn
    """
    from harness.commands.export import export_run
    from harness.model.runs.run_folder import find_run

    export_run(find_run(run, results), form)


def history(run: OneRun, results: Results = RESULTS) -> None:
    """Print a run's history as JSON lines: `export --format jsonl`.

    kafka-harness history study-1 | head
    """
    export(run, "jsonl", results)


COMMANDS = (scenarios, show, report, export, history)
