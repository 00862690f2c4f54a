"""kafka-harness run: carries out scenarios, one after the other, and checks them.

`--matrix` runs every combination of some settings' values, and shows one table at the end.

    kafka-harness run my.toml --matrix producer.acks=1,all --matrix workload.rate=1,9 --repeat 5

Cells take turns, so that a matrix cut short has runs of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.commands import completion
from harness.commands.options import (
    RESULTS,
    Backend,
    ClientDefaults,
    ConsumerConfig,
    KafkaHome,
    ProducerConfig,
    Results,
    Scenarios,
    Seed,
    ServerProperties,
    Sets,
    TimeLimit,
    TopicConfig,
    Unpinned,
    console,
    settings,
)
from harness.model.exit_codes import INTERRUPTED, worst

if TYPE_CHECKING:
    from harness.commands.copy_to import Copies
    from harness.model.campaigns.matrix import Place
    from harness.model.runs.ledger_line import Line
    from harness.scenario.prepare import Prepared


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
Kafkas = Annotated[
    str,
    typer.Option(
        metavar="A,B",
        help="Kafka's release, or a line as 4.4; several are short for --matrix cluster.kafka=A,B.",
        autocompletion=completion.releases,
    ),
]


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
    from harness.commands.carry_out import carry_out_runs, prepare_runs
    from harness.commands.copy_to import destination
    from harness.scenario.prepare import Request

    axes, kafka = _with_releases(matrix, kafka)
    if axes and no_check:
        raise typer.BadParameter("--matrix ends with what its runs were found to be: it checks")
    cells, given = cells_of(scenarios, axes), settings(sets, client_defaults, kafka)
    request = Request(
        scenario="",
        seed=_any_seed() if seed is None else seed,
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
    requests = [request.of(cell, number, given) for number in range(repeat) for cell in cells]
    prepared = prepare_runs(requests, console)
    copies = destination(copy_to) if copy_to else None
    if axes:
        raise typer.Exit(run_matrix(cells, prepared, results, copies=copies, console=console))
    code = carry_out_runs(prepared, results, check=not no_check, copies=copies, console=console)
    raise typer.Exit(code)


def _any_seed() -> int:
    import secrets

    return secrets.randbelow(1_000_000)


def _with_releases(matrix: list[str] | None, kafka: str) -> tuple[list[str], str]:
    """The varied settings, with several releases of Kafka among them, and the one release else."""
    several = [f"cluster.kafka={kafka}"] if "," in kafka else []
    return [*(matrix or []), *several], "" if several else kafka


def cells_of(scenarios: Sequence[str], matrix: Sequence[str]) -> list[Place]:
    """The scenarios with every combination of the values of `--matrix`; without it the scenarios as
    they are. Raises ScenarioError."""
    from harness.model.campaigns.matrix import Place, places
    from harness.model.scenario import ScenarioError
    from harness.scenario.overrides import whole

    if not matrix:
        return [Place(scenario=name, settings={}) for name in scenarios]
    axes: dict[str, Sequence[object]] = {}
    for text in matrix:
        path, sign, values = text.partition("=")
        if not sign or not path.strip():
            raise ScenarioError(f"--matrix {text!r}: write path=a,b, as in producer.acks=1,all")
        key = whole(path)
        if key in axes:
            raise ScenarioError(f"--matrix {text!r}: {key} is there twice: give all values at once")
        axes[key] = _values(key, values)
    try:
        return places(scenarios, axes)
    except ScenarioError as error:
        raise ScenarioError(f"--matrix: {error}") from None


def _values(path: str, text: str) -> Sequence[object]:
    """Values between commas, or a list as TOML has it, for values that have commas themselves."""
    from harness.scenario.overrides import parse_value

    whole_text = parse_value(text)
    if isinstance(whole_text, list):
        return whole_text
    return [parse_value(item.strip(), path) for item in text.split(",") if item.strip()]


def run_matrix(
    cells: Sequence[Place],
    prepared: Sequence[Prepared],
    results: Path,
    *,
    copies: Copies | None,
    console: Console,
) -> int:
    """Carry out the runs, cells in turn, check them, show the table; the worst exit code."""
    from harness.commands.campaigns.lines import line_of
    from harness.commands.carry_out import each_carried_out
    from harness.commands.closing_table import show_how_many_valid

    lines: dict[str, list[Line]] = {cell.name: [] for cell in cells}
    codes: list[int] = []
    copied: list[int] = []
    runs = each_carried_out(prepared, results, check=True, copies=copies, console=console)
    for number, run in enumerate(runs):
        codes.append(run.code)
        copied.append(run.copied)
        if run.code not in INTERRUPTED:
            lines[cells[number % len(cells)].name].append(line_of(run.folder, run.code))
    console.print()
    console.print(_table(cells, lines))
    show_how_many_valid(codes, len(prepared), console)
    return worst([*codes, *copied])


def _table(cells: Sequence[Place], lines: dict[str, list[Line]]) -> Table:
    """A row for each cell: its scenario where there are several, its settings, its results."""
    from analysis.studies.matrix_rows import HEADS, row
    from harness.commands.closing_table import plain
    from harness.model.campaigns.matrix import short
    from harness.model.kafka_text import kafka_text

    several = len({cell.scenario for cell in cells}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in (
        *(["scenario"] if several else []),
        *map(short, cells[0].settings),
        *HEADS.values(),
    ):
        table.add_column(head)
    for cell in cells:
        settings = map(kafka_text, cell.settings.values())
        names = [cell.scenario] if several else []
        table.add_row(*map(plain, [*names, *settings, *row(lines[cell.name]).values()]))
    return table
