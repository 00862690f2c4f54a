"""kafka-harness heal: undoes what a killed harness left in force, by its undo record or by labels.

A run's folder may come from anywhere, so what its files name is run, opened or reached only where
the command line allows it: `--allow command` the heal commands of its undo record, which are
printed in full before; `--allow HOST:PORT` a cluster that is not ours. What is not allowed stays
outstanding in the record. All else that is changed bears the run's own mark
(harness.cluster.ownership).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from harness.commands import completion
from harness.commands.options import RESULTS, Results, console
from harness.model.exit_codes import FAILED, VALID

if TYPE_CHECKING:
    from harness.cluster.ownership import Orphan
    from harness.model.runs.run_folder import RunFolder
    from harness.nemesis.verb import LeftCommand


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
    from harness.host.unforeseen import details_go_to
    from harness.model.runs.run_folder import find_run, store_errors
    from harness.model.scenario import ScenarioError

    if (run is None) == (cluster is None):
        raise ScenarioError("heal: give either a run or --cluster NAME")
    if run is not None:
        folder = find_run(run, results)
        with store_errors(folder.path), details_go_to(folder.path):
            code = heal_run(folder, console, down=down, allow=allow or ())
        raise typer.Exit(code)
    orphan = Orphan(record=None, name=cluster, down=down)
    raise typer.Exit(heal_cluster(backend, orphan, console))


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A fault that may still be in force, and the programs that must be run to heal it."""

    fault: int
    verb: str
    commands: tuple[LeftCommand, ...]


def heal_run(folder: RunFolder, console: Console, *, down: bool, allow: Sequence[str] = ()) -> int:
    """Undo what a run left in force because its harness was killed; 255 where something must be
    allowed first. Raises StoreError, and ClusterError where its cluster cannot be reached."""
    from harness.cluster.backends import BACKENDS
    from harness.cluster.ownership import Orphan
    from harness.commands.closing_table import shown
    from harness.host.namespaces import living
    from harness.model.runs.run_folder import StoreError
    from harness.nemesis import undo_record

    record = folder.read()
    if pids := living(folder.path):
        raise StoreError(
            f"{shown(folder.path)}: the run is still running (process {pids[0]}); stop it with "
            "Ctrl-C or SIGTERM, and it heals its faults itself"
        )
    outstanding = undo_record.outstanding(folder.path)
    for fault in outstanding:
        _say(
            console,
            f"fault {fault['fault']}: {fault['verb']} {', '.join(fault['nodes'])}, may still be "
            f"in force (undo: {fault['undo']})",
        )
    nodes = record.model_dump(mode="json", include={"nodes"})["nodes"]
    enclosed = BACKENDS[record.backend].enclosed if record.backend in BACKENDS else False
    left = [_left(fault, nodes, enclosed=enclosed) for fault in outstanding]
    waiting = [entry for entry in left if entry.commands and entry.verb not in allow]
    allowed = [entry for entry in left if entry.commands and entry not in waiting]
    for entry in waiting:
        for line in _commands_to_allow(entry, folder):
            _say(console, line)
    for entry in allowed:
        for line in _run_commands(entry):
            _say(console, line)
        _record_healed(folder, [entry])
    orphan = Orphan(record=record, name=None, down=down, allowed=frozenset(allow))
    code = heal_cluster(record.backend, orphan, console)
    _record_healed(folder, [entry for entry in left if not entry.commands])
    return FAILED if waiting else code


def _left(
    fault: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], *, enclosed: bool
) -> Left:
    """A fault with its commands: none where it ended with its namespaces or the backend undoes it;
    the backend also undoes verbs that this version does not have."""
    from harness.nemesis.verbs import VERBS

    verb = VERBS.get(fault["verb"])
    commands = verb.left_commands if verb is not None and not enclosed else None
    return Left(
        fault=fault["fault"],
        verb=fault["verb"],
        commands=tuple(commands(fault, nodes)) if commands else (),
    )


def _commands_to_allow(left: Left, folder: RunFolder) -> Iterator[str]:
    """Sentences: the commands that are not allowed, in full, and how to allow them."""
    from harness.commands.closing_table import shown

    for command in left.commands:
        yield f"{command.node}: not run, as the run's folder says it: {shlex.join(command.argv)}"
    yield (
        f"fault {left.fault} stays outstanding: if these commands are yours, run `kafka-harness "
        f"heal {shlex.quote(shown(folder.path))} --allow {left.verb}`"
    )


def _run_commands(left: Left) -> Iterator[str]:
    """Run a fault's heal commands; sentences of what was done. Raises ClusterError."""
    from harness.nemesis.faults.command import finished

    for command in left.commands:
        yield f"{command.node}: running: {shlex.join(command.argv)}"
        last = finished("heal", command.node, command.argv, command.limit_s)
        yield (
            f"{command.node}: its heal command ended with exit code 0"
            + (f": {last}" if last else "")
        )


def _record_healed(folder: RunFolder, healed: Sequence[Left]) -> None:
    from harness.nemesis import undo_record

    if healed:
        record = undo_record.Undo(folder.path)
        for fault in healed:
            record.undone(fault.fault)


def heal_cluster(backend: str, orphan: Orphan, console: Console) -> int:
    """Undo what is left in the cluster itself, wherever its run was."""
    from harness.cluster.backends import BACKENDS
    from harness.model.scenario import ScenarioError

    if backend not in BACKENDS:
        raise ScenarioError(f"--backend {backend}: unknown; choose one of {', '.join(BACKENDS)}")
    for line in BACKENDS[backend].heal(orphan):
        _say(console, line)
    return VALID


def _say(console: Console, line: str) -> None:
    from harness.commands.closing_table import plain

    console.print(plain(line))
