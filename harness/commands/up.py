"""`kafka-harness up`, inside the namespaces: a cluster, and a shell or command beside it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

from harness.cluster.backends import build
from harness.cluster.capabilities import Cluster
from harness.cluster.local.node_files import private_tmpfs
from harness.cluster.nodes import ClusterError, brokers, zookeepers
from harness.host.machine import HostError
from harness.host.namespaces import run_enclosed
from harness.host.output import outlive_readers
from harness.model.exit_codes import FAILED, VALID, interrupted
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import parse
from harness.model.scenario import ScenarioError
from harness.run.interrupts import Stopped, stop_on_signals
from harness.run.progress import Screen
from harness.scenario.prepare import Prepared


def hold_up(prepared: Prepared, command: Sequence[str]) -> int:
    """The scenario's cluster in the foreground until its shell or command, TERM or INT ends it.
    Raises ScenarioError for a command that is no program."""
    if command and shutil.which(command[0]) is None:
        raise ScenarioError(f"{command[0]}: no such program: give its path, or a name on PATH")
    for note in prepared.notes:
        Screen().say(f"note: {note}", style="yellow")
    argv = [sys.executable, "-P", "-m", "harness.commands.up", prepared.record.as_json()]
    return run_enclosed([*argv, *command], own_session=False)


def main() -> None:
    """`python -m harness.commands.up RECORD [COMMAND…]`: start, print addresses, give a shell,
    close."""
    outlive_readers()
    screen = Screen()
    stop_on_signals()
    folder = RunFolder(path=private_tmpfs() / "up")
    folder.logs.mkdir(parents=True)
    try:
        record = parse(sys.argv[1])
        cluster = build(folder, record)
        try:
            cluster.start()
            _print_addresses(cluster, folder, screen)
            settings = record.node_settings
            if settings and settings.server.get("auto.create.topics.enable") == "false":
                screen.say("there is no topic, and auto.create.topics.enable is false: make yours")
            code = _shell(cluster, sys.argv[2:])
        finally:
            screen.say("closing the cluster")
            cluster.close()
    except Stopped as stopped:
        sys.exit(interrupted(stopped.number))
    except (ClusterError, HostError) as error:
        screen.error(str(error))
        sys.exit(FAILED)
    sys.exit(code)


def _print_addresses(cluster: Cluster, folder: RunFolder, screen: Screen) -> None:
    for node in cluster.nodes:
        screen.say(f"{node.name:8} {node.endpoint}")
    screen.say(f"KAFKA={','.join(n.endpoint for n in brokers(cluster.nodes))}")
    screen.say(f"ZOOKEEPER={','.join(n.endpoint for n in zookeepers(cluster.nodes))}")
    screen.say(f"node logs in {folder.logs} (inside); exit the shell to stop the cluster")


def _shell(cluster: Cluster, command: Sequence[str]) -> int:
    """The command's exit code; a shell's is no news. Without a terminal there is no shell."""
    if not command and not sys.stdin.isatty():
        signal.pause()
        return VALID
    if not command:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the shell
    environment = {
        **os.environ,
        "KAFKA": ",".join(n.endpoint for n in brokers(cluster.nodes)),
        "ZOOKEEPER": ",".join(n.endpoint for n in zookeepers(cluster.nodes)),
    }
    argv = command or [os.environ.get("SHELL", "/bin/sh")]
    with subprocess.Popen(argv, env=environment) as process:
        try:
            code = process.wait()
        except Stopped:
            process.terminate()
            raise
    return code if command else VALID


if __name__ == "__main__":
    main()
