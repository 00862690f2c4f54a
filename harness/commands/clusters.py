"""Commands that hold a cluster up, or heal one that was left hurt."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands import completion
from harness.commands.options import (
    RESULTS,
    Kafka,
    KafkaHome,
    OneScenario,
    Results,
    ServerProperties,
    Sets,
    Unpinned,
    console,
    settings,
)

PANEL = "Clusters"


def up(
    scenario: OneScenario,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND…]", help="Run this instead of a shell, then end."),
    ] = None,
    sets: Sets = None,
    server_properties: ServerProperties = None,
    kafka: Kafka = "",
    kafka_home: KafkaHome = None,
    unpinned: Unpinned = False,
) -> None:
    """Start a scenario's cluster in the foreground, with a shell inside its network.

    The variables KAFKA and ZOOKEEPER, or CONTROLLERS, hold the addresses.

    kafka-harness up baseline -- python my-script.py
    """
    from harness.commands.host.fetch_kafka import fetch_kafka
    from harness.commands.up import hold_up
    from harness.scenario.prepare import Request, prepare

    request = Request(
        scenario=scenario,
        seed=0,
        settings=settings(sets, kafka=kafka),
        server_properties=server_properties,
        kafka_home=kafka_home,
        unpinned=unpinned,
    )
    fetch_kafka(request, console)
    raise typer.Exit(hold_up(prepare(request), command or []))


def heal(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run folder, a run id, or a scenario (latest run).",
            autocompletion=completion.runs,
        ),
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="With --cluster: its backend.",
            autocompletion=completion.backends,
        ),
    ] = "docker",
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

    kafka-harness heal study-1

    kafka-harness heal --backend kubernetes --cluster NAMESPACE --down
    """
    from harness.cluster.ownership import Orphan
    from harness.commands.heal import heal_cluster, heal_run
    from harness.host.unforeseen import details_go_to
    from harness.model.runs.run_folder import errors_told, find_run
    from harness.model.scenario import ScenarioError

    if (run is None) == (cluster is None):
        raise ScenarioError("heal: give either a run or --cluster NAME")
    if run is not None:
        folder = find_run(run, results)
        with errors_told(folder.path), details_go_to(folder.path):
            code = heal_run(folder, console, down=down, allow=allow or ())
        raise typer.Exit(code)
    orphan = Orphan(record=None, name=cluster, down=down)
    raise typer.Exit(heal_cluster(backend, orphan, console))


COMMANDS = (up, heal)
