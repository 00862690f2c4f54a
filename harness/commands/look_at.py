"""Commands that show what there is: scenarios, plans, reports, histories. Nothing is started."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from harness.commands import completion
from harness.commands.options import (
    RESULTS,
    Backend,
    ClientDefaults,
    ConsumerConfig,
    Kafka,
    KafkaHome,
    Master,
    OneRun,
    OneScenario,
    ProducerConfig,
    Results,
    Seed,
    ServerProperties,
    Sets,
    TopicConfig,
    Unpinned,
    console,
    settings,
)
from harness.model.campaigns.worse import GAP_FACTOR

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
    topic_config: TopicConfig = None,
    client_defaults: ClientDefaults = None,
    kafka: Kafka = "",
    kafka_home: KafkaHome = None,
    unpinned: Unpinned = False,
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
        settings=settings(sets, client_defaults, kafka),
        producer_config=producer_config,
        consumer_config=consumer_config,
        server_properties=server_properties,
        topic_config=topic_config,
        kafka_home=kafka_home,
        unpinned=unpinned,
    )
    prepared = prepare_run(request)
    for note in prepared.notes:
        console.print(f"note: {note}", style="yellow", markup=False)
    for step in prepared.steps:
        console.print(f"step {step.step}: {step.describe()}")
    for line in prepared.layers:
        console.print(line, markup=False)
    told = {"seed", "time_limit_s", "scenario", "layers", "shown_demands"}
    shown = prepared.record.model_dump(mode="json", include=told)
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


def sql(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN]... QUERY",
            help="Run folders, run ids, scenarios (latest run) or folders of runs; none: all below "
            "--results. Then one query.",
            autocompletion=completion.runs,
        ),
    ],
    form: Annotated[
        Literal["table", "csv", "jsonl"],
        typer.Option("--format", help="table: for people. csv, jsonl: for programs, all rows."),
    ] = "table",
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Rows at most, 0: all. By default 100 in a table, else all."
        ),
    ] = None,
    master: Master = None,
    results: Results = RESULTS,
) -> None:
    """Ask stored runs in SQL (Spark's): one query over these views, each with run_id.

    \b
    runs          the runs themselves: scenario, verdict, when the load began
    operations    whatever a worker did: sends, reads, commits, look-ups
    sends         sends with how they ended, and how long that took
    reads         records that were read, by whom, and how old they were
    transactions  transactions: begun, ended, and how
    faults        what was done to which nodes, from when to when, and the proof
    leaders       who led a partition from when to when
    anomalies     what the check found: a row an anomaly, with its evidence
    windows       stretches in which nothing was acked, read or processed
    events        what workers told beside operations: rebalances, errors

    Columns *_s count from the begin of the load, *_ns are as recorded. Nothing is written.
    `kafka-harness docs queries` has every column, and ten questions with their answers.

    kafka-harness sql study-1 "select type, count(*) from sends group by type"
    """
    from harness.commands.ask.sql import Question, answer

    *runs, query = words
    question = Question(
        query=query, runs=runs, results=results, form=form, limit=limit, master=master
    )
    answer(question, console)


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
        one = page.removesuffix("s") or page  # of timeouts
        looked_for = re.compile(rf"{re.escape(page)}|\b{re.escape(one)}\b", re.IGNORECASE)
        found = [
            f"{name}:{number}: {line.strip()}\n"
            for name, file in files.items()
            for number, line in enumerate(file.read_text().splitlines(), 1)
            if looked_for.search(line)
        ]
        if not found:
            raise typer.BadParameter(f"{page!r} stands on none of the pages {', '.join(files)}")
        sys.stdout.writelines(found)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, file in files.items():
        table.add_row(name, Text(file.read_text().partition("\n")[0].lstrip("# ")))
    print_table(console, table)
    console.print(f"as files: {PAGES}", markup=False)


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
    from harness.commands.nights.compare import compare_runs

    if len(sides) < 2:
        raise typer.BadParameter("give two or more: what was before, and what is now")
    raise typer.Exit(compare_runs(sides, gap_factor=gap_factor, console=console))


COMMANDS = (scenarios, show, report, index, sql, export, history, docs, compare)
