"""The options and arguments that several commands share, and where commands print.

Output to a pipe or a file is not wrapped.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from harness.commands import completion
from harness.model.runs import json_text

RESULTS = Path("results")
NATURAL_WIDTH: Final = 10_000

console = Console(
    highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else NATURAL_WIDTH
)


def _storable(seed: int | None) -> int | None:
    least, most = json_text.LEAST // 2, json_text.MOST // 2
    if seed is not None and not least <= seed <= most:
        raise typer.BadParameter(f"{seed} is not in the range {least}<=x<={most}.")
    return seed


def _one_release(kafka: str) -> str:
    if "," in kafka:
        raise typer.BadParameter(f"{kafka}: name one release: several are for `kafka-harness run`.")
    return kafka


Scenarios = Annotated[
    list[str],
    typer.Argument(
        help="Names (`scenarios` lists them) or files.",
        metavar="SCENARIO",
        autocompletion=completion.scenarios,
    ),
]
OneScenario = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A name or a file.", autocompletion=completion.scenarios
    ),
]
Runs = Annotated[
    list[str] | None,
    typer.Argument(
        help="Run folders or their URIs (hdfs://, s3a://), run ids, or scenarios (latest run).",
        metavar="RUN",
        autocompletion=completion.runs,
    ),
]
OneRun = Annotated[
    str,
    typer.Argument(
        help="A run folder, a run id, or a scenario (latest run).",
        metavar="RUN",
        autocompletion=completion.runs,
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"Where the cluster runs: {', '.join(completion.BACKENDS)}.",
        autocompletion=completion.backends,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        callback=_storable,  # a range would be shown, and be the widest thing of the help
        help="Seed of all random choices; random by default.",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a key of the scenario, e.g. workload.rounds=1000. Repeatable.",
        autocompletion=completion.keys,
    ),
]
ProducerConfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Your producer's configuration: .properties in Java's or librdkafka's keys, Spring's "
        "application.yml, Compose. FILE:NAME chooses a profile or service.",
    ),
]
ConsumerConfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Your consumer's, in the same forms; both may be one file."),
]
ClientDefaults = Annotated[
    str | None,
    typer.Option(
        metavar="CLIENT",
        help="Whose defaults hold where nobody says otherwise: java or librdkafka; by default as "
        "your file's names tell, else java.",
    ),
]
ServerProperties = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Your brokers' server.properties, Compose or env file (KAFKA_X), or Strimzi's Kafka.",
    ),
]
TopicConfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Your topic's .properties, or Strimzi's KafkaTopic."),
]
KafkaHome = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Your own Kafka: DIR/libs/*.jar.")
]
Kafka = Annotated[
    str,
    typer.Option(
        metavar="RELEASE",
        help="Kafka's release, or a line as 4.4: short for --set cluster.kafka=RELEASE.",
        callback=_one_release,
        autocompletion=completion.releases,
    ),
]
Unpinned = Annotated[
    bool,
    typer.Option("--unpinned", help="Run a release that was not tried with this harness, too."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="S", min=1, help="Limit of the whole run; by default from the plan."),
]
Results = Annotated[Path, typer.Option(metavar="DIR", help="Where runs are kept.")]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="A Spark cluster; this machine by default.")
]
Sends = Annotated[
    str | None,
    typer.Option(
        metavar="TABLE",
        help="Instead of runs: what was sent. Parquet or CSV, a file, folder or URI; or a Spark "
        "table.",
    ),
]
Reads = Annotated[str | None, typer.Option(metavar="TABLE", help="What was read.")]
Complete = Annotated[
    bool,
    typer.Option(
        "--final-read-is-complete",
        help="The final read has everything from offset 0 on; by default nobody knows.",
    ),
]
Defaults = Annotated[
    bool,
    typer.Option(
        "--defaults",
        help="Settings that nobody tells had the defaults of Kafka and its Java client; "
        "an older one's, or librdkafka's: in --about.",
    ),
]
AboutTables = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Of tables: a .toml file with what is known."),
]
WriteJob = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the check of tables as one file for spark-submit."),
]


def settings(
    sets: list[str] | None, client_defaults: str | None = None, kafka: str = ""
) -> dict[str, Any]:
    """The values of `--set` by path, with those of --client-defaults and --kafka. Raises
    ScenarioError."""
    from harness.scenario.overrides import RELEASE, parse_override

    short = {"workload.client_defaults": client_defaults, RELEASE: kafka}
    given = dict(parse_override(text) for text in sets or [])
    return {**given, **{path: value for path, value in short.items() if value}}
