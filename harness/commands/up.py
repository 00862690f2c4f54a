"""kafka-harness up: starts a cluster, with a shell or command inside its network."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import (
    Kafka,
    KafkaHome,
    OneScenario,
    ServerProperties,
    Sets,
    Unpinned,
    console,
    settings,
)
from harness.model.exit_codes import FAILED, VALID, interrupted
from harness.run.interrupts import Stopped

if TYPE_CHECKING:
    from harness.cluster.capabilities import Cluster
    from harness.model.runs.run_folder import RunFolder
    from harness.model.runs.run_record import RunRecord
    from harness.run.progress import Screen
    from harness.scenario.prepare import Prepared


SILENT_S, END_LIMIT_S = 0.5, 10.0  # of a program that was told to end


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


def hold_up(prepared: Prepared, command: Sequence[str]) -> int:
    """Hold the scenario's cluster up until its shell or command ends, or TERM or INT comes. Raises
    ScenarioError for a command that is no program."""
    from harness.host.namespaces import run_enclosed
    from harness.model.scenario import ScenarioError
    from harness.run.progress import Screen

    if command and shutil.which(command[0]) is None:
        raise ScenarioError(f"{command[0]}: no such program: give its path, or a name on PATH")
    for note in prepared.notes:
        Screen().say(f"note: {note}", style="yellow")
    argv = [sys.executable, "-P", "-m", "harness.commands.up", prepared.record.as_json()]
    return run_enclosed([*argv, *command], own_session=False)


def main() -> None:
    """`python -m harness.commands.up RECORD [COMMAND…]`: start, print addresses, give a shell,
    close."""
    from harness.cluster.local.node_files import private_tmpfs
    from harness.cluster.nodes import ClusterError
    from harness.host.machine import HostError
    from harness.host.output import outlive_readers
    from harness.model.runs.run_folder import RunFolder
    from harness.model.runs.run_record import parse
    from harness.run.interrupts import stop_on_signals, unblock_signals
    from harness.run.progress import Screen
    from harness.run.suspects import explanation

    outlive_readers()
    screen = Screen()
    stop_on_signals()
    folder = RunFolder(path=private_tmpfs() / "up")
    folder.logs.mkdir(parents=True)
    record = parse(sys.argv[1])
    try:
        unblock_signals()
        code = _held_up(record, folder, screen)
    except Stopped as stopped:
        sys.exit(interrupted(stopped.number))
    except (ClusterError, HostError) as error:
        sentence, log = explanation(error, str(error), "set-up", record, folder.logs)
        screen.error(sentence)
        if log:
            screen.say("`kafka-harness run` with the same settings keeps the nodes' logs")
        sys.exit(FAILED)
    sys.exit(code)


def _held_up(record: RunRecord, folder: RunFolder, screen: Screen) -> int:
    """The exit code, once the cluster is closed."""
    from harness.cluster.backends import build

    cluster = build(folder, record)
    try:
        cluster.start()
        _print_addresses(cluster, folder, screen)
        settings = record.node_settings
        if settings and settings.server.get("auto.create.topics.enable") == "false":
            screen.say("there is no topic, and auto.create.topics.enable is false: make yours")
        return _shell(cluster, sys.argv[2:], screen)
    finally:
        screen.say("closing the cluster")
        cluster.close()


def _print_addresses(cluster: Cluster, folder: RunFolder, screen: Screen) -> None:
    for node in cluster.nodes:
        screen.say(f"{node.name:8} {node.endpoint}")
    for name, value in _addresses(cluster).items():
        screen.say(f"{name}={value}")
    screen.say(f"node logs in {folder.logs} (inside); exit the shell to stop the cluster")


def _addresses(cluster: Cluster) -> dict[str, str]:
    """The addresses for clients and tools, by environment variable."""
    from harness.cluster.nodes import brokers, controllers, zookeepers

    nodes = cluster.nodes
    variables = {
        "KAFKA": [n.endpoint for n in brokers(nodes)],
        "ZOOKEEPER": [n.endpoint for n in zookeepers(nodes)],
        "CONTROLLERS": [n.quorum_endpoint for n in controllers(nodes)],
    }
    return {name: ",".join(endpoints) for name, endpoints in variables.items() if endpoints}


def _shell(cluster: Cluster, command: Sequence[str], screen: Screen) -> int:
    """The command's exit code, a shell's not. Without a terminal there is no shell."""
    if not command and not sys.stdin.isatty():
        signal.pause()
        return VALID
    if not command:
        # Ctrl-C is for the shell. If it were ignored here, its programs would ignore it too.
        signal.signal(signal.SIGINT, lambda *_: None)
    environment = {
        **os.environ,
        **_addresses(cluster),
    }
    argv = command or [os.environ.get("SHELL", "/bin/sh")]
    with subprocess.Popen(argv, env=environment) as process:
        try:
            code = process.wait()
        except Stopped:
            _end(process, argv[0], screen)
            raise
    return code if command else VALID


def _end(process: subprocess.Popen[bytes], name: str, screen: Screen) -> None:
    """Send a program a signal to end, and wait; prints that where it takes a moment."""
    process.terminate()
    try:
        process.wait(SILENT_S)
    except subprocess.TimeoutExpired:
        screen.say(f"waiting until {name} has ended; after {END_LIMIT_S:g} s it is killed")
    try:
        process.wait(END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    main()
