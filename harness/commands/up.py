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

from harness.commands.fault import SOCKET
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
    from collections.abc import Mapping
    from contextlib import ExitStack

    from harness.cluster.nodes import Node
    from harness.model.runs.run_folder import RunFolder
    from harness.model.runs.run_record import RunRecord
    from harness.model.scenario import Scenario
    from harness.run.progress import Screen
    from harness.run.run_context import Run
    from harness.scenario.prepare import Prepared


SILENT_S, END_LIMIT_S = 0.5, 10.0  # of a program that was told to end
FOR_EVER_S = 1e9
IN_CLIENTS_PLACE = ("ip", "netns", "exec", "clients")  # where cuts from `clients` reach it


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

    Its topics are made, and its programs started. The variables KAFKA and ZOOKEEPER, or
    CONTROLLERS, hold the addresses, TOPIC and OUTPUTS the topics. `kafka-harness fault` injects
    faults from inside.

    kafka-harness up baseline -- pytest
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
    scenario = prepared.scenario
    nothing = scenario.check.model_copy(update={"evidence": False, "watermarks": False})
    record = prepared.record.model_copy(
        update={"scenario": scenario.model_copy(update={"check": nothing})}
    )
    argv = [sys.executable, "-P", "-m", "harness.commands.up", record.as_json()]
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
    from harness.waiting import WaitTimeout

    outlive_readers()
    screen = Screen()
    stop_on_signals()
    folder = RunFolder(path=private_tmpfs() / "up")
    folder.logs.mkdir(parents=True)
    folder.history.mkdir()
    record = folder.write(parse(sys.argv[1]))
    try:
        unblock_signals()
        code = _held_up(record, folder, screen)
    except Stopped as stopped:
        sys.exit(interrupted(stopped.number))
    except (ClusterError, HostError, WaitTimeout) as error:
        sentence, log = explanation(error, str(error), "set-up", record, folder.logs)
        screen.error(sentence)
        if log:
            screen.say("`kafka-harness run` with the same settings keeps the nodes' logs")
        sys.exit(FAILED)
    sys.exit(code)


def _held_up(record: RunRecord, folder: RunFolder, screen: Screen) -> int:
    """The exit code, once the cluster is closed."""
    from contextlib import ExitStack

    from harness.run.load.start import start_programs
    from harness.run.ordered_faults import OrderedFaults, listening
    from harness.run.run_context import Run
    from harness.run.set_up import set_up
    from harness.waiting import Deadline

    run = Run(folder=folder, record=record, screen=screen, deadline=Deadline(FOR_EVER_S))
    with ExitStack() as closing:
        closing.callback(screen.say, "closing the cluster")
        if _asks_who_clients_are(record):
            return _bare(run, closing)
        running = set_up(run, closing)
        _print_addresses(running.cluster.nodes, running.scenario, run)
        faults = OrderedFaults(running, start_programs(running, closing))
        try:
            with listening(folder.path.parent, faults.answer) as path:
                variables = {
                    **_variables(running.cluster.nodes, running.scenario),
                    SOCKET: str(path),
                }
                code = _shell(variables, sys.argv[2:], screen, IN_CLIENTS_PLACE)
        finally:
            healed = faults.close()
    if not healed:
        screen.error("a fault that was ordered is not healed")
    return code if healed else FAILED


def _asks_who_clients_are(record: RunRecord) -> bool:
    """Whether the brokers let in only clients with settings that the harness does not have."""
    given = str(record.scenario.cluster.of_brokers.get("listener.security.protocol.map", ""))
    spoken = dict(pair.partition(":")[::2] for pair in given.split(","))
    return spoken.get("PLAINTEXT", "PLAINTEXT") != "PLAINTEXT"


def _bare(run: Run, closing: ExitStack) -> int:
    """The cluster alone, with its command: no client of ours gets in."""
    from harness.cluster.backends import build

    cluster = build(run.folder, run.record)
    closing.callback(cluster.close)
    cluster.start()
    _print_addresses(cluster.nodes, None, run)
    run.screen.say(
        "the brokers ask who their clients are: no topic is made, no program started, and no fault "
        "can be ordered"
    )
    return _shell(_variables(cluster.nodes, None), sys.argv[2:], run.screen)


def _print_addresses(nodes: Sequence[Node], scenario: Scenario | None, run: Run) -> None:
    for node in nodes:
        run.screen.say(f"{node.name:8} {node.endpoint}")
    for name, value in _variables(nodes, scenario).items():
        run.screen.say(f"{name}={value}")
    logs = run.folder.logs
    run.screen.say(f"node logs in {logs} (inside); exit the shell to stop the cluster")


def _variables(nodes: Sequence[Node], scenario: Scenario | None) -> dict[str, str]:
    """The addresses for clients and tools, and the topics, by environment variable."""
    from harness.cluster.nodes import brokers, controllers, zookeepers

    outputs = scenario.outputs if scenario else None
    variables = {
        "KAFKA": ",".join(n.endpoint for n in brokers(nodes)),
        "ZOOKEEPER": ",".join(n.endpoint for n in zookeepers(nodes)),
        "CONTROLLERS": ",".join(n.quorum_endpoint for n in controllers(nodes)),
        "TOPIC": scenario.topic.name if scenario else "",
        "OUTPUTS": outputs.topic if outputs else "",
    }
    return {name: value for name, value in variables.items() if value}


def _shell(
    variables: Mapping[str, str], command: Sequence[str], screen: Screen, place: Sequence[str] = ()
) -> int:
    """The command's exit code, a shell's not. Without a terminal there is no shell. `place`: the
    words that put it where it runs."""
    if not command and not sys.stdin.isatty():
        signal.pause()
        return VALID
    if not command:
        # Ctrl-C is for the shell. If it were ignored here, its programs would ignore it too.
        signal.signal(signal.SIGINT, lambda *_: None)
    argv = command or [os.environ.get("SHELL", "/bin/sh")]
    with subprocess.Popen([*place, *argv], env={**os.environ, **variables}) as process:
        try:
            code = process.wait()
        except Stopped:
            _end(process, argv[0], screen)
            raise
    code = 128 - code if code < 0 else code
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
