"""Commands that show what there is: scenarios, plans, reports, histories. Nothing is started."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from harness.command_lines import completion
from harness.command_lines.options import (
    RESULTS,
    Backend,
    ConsumerConfig,
    KafkaHome,
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


def show(
    scenario: OneScenario,
    seed: Seed = 0,
    backend: Backend = "local",
    sets: Sets = None,
    producer_config: ProducerConfig = None,
    consumer_config: ConsumerConfig = None,
    server_properties: ServerProperties = None,
    kafka_home: KafkaHome = None,
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
        kafka_home=kafka_home,
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
        Literal["jsonl", "jepsen", "lines"],
        typer.Option(
            "--format",
            help="jsonl: all that was recorded, for people. "
            "jepsen: EDN, as Jepsen's Kafka workload would have recorded it. "
            "lines: sends and reads, as `import` takes them.",
        ),
    ] = "jsonl",
    results: Results = RESULTS,
) -> None:
    """Print a run's history in order of time, a line an event.

    `kafka-harness docs history` and `docs lines` describe them.

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


def index(results: Results = RESULTS) -> None:
    """Make one page over all runs of the results folder: index.html in it, with relative links.

    kafka-harness index
    """
    from harness.commands.index import write_index

    write_index(results, console)


def docs(
    page: Annotated[
        str, typer.Argument(help="A page's name; none lists all.", autocompletion=completion.pages)
    ] = "",
) -> None:
    """Print a page of the documentation, or list them: the tutorial, every key, every fault.

    kafka-harness docs tutorial | less
    """
    from harness.host.output import print_table
    from harness.release import PAGES

    files = {path.stem: path for path in sorted(PAGES.glob("*.md"))}
    if page:
        if page not in files:
            raise typer.BadParameter(f"no page {page!r}; there are {', '.join(files)}")
        sys.stdout.write(files[page].read_text())
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, file in files.items():
        table.add_row(name, Text(file.read_text().partition("\n")[0].lstrip("# ")))
    print_table(console, table)
    console.print(f"as files: {PAGES}", markup=False)


COMMANDS = (scenarios, show, report, index, export, history, docs)
