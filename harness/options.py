"""The arguments and options that several commands share, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.model.runs import json_text

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
