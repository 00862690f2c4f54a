"""kafka-harness heal: what a killed harness left in force is undone, by its record or by labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from harness.cluster.backends import BACKENDS
from harness.cluster.ownership import Orphan
from harness.commands.closing_table import shown
from harness.host.namespaces import living
from harness.model import run_folder
from harness.model.exit_codes import VALID
from harness.model.run_folder import RunFolder
from harness.model.scenario import ScenarioError
from harness.nemesis import undo_record
from harness.nemesis.verbs import VERBS


def heal_run(folder: RunFolder, console: Console, *, down: bool) -> int:
    """Undo what a run left in force because its harness was killed. Raises StoreError, and
    ClusterError where its cluster cannot be reached."""
    record = folder.read()
    if pids := living(folder.path):
        raise run_folder.StoreError(
            f"{shown(folder.path)}: the run is still running (process {pids[0]}); stop it with "
            "Ctrl-C or SIGTERM, and it heals its faults itself"
        )
    left = undo_record.outstanding(folder.path)
    for fault in left:
        console.print(
            f"fault {fault['fault']}: {fault['verb']} {', '.join(fault['nodes'])}, may still be "
            f"in force (undo: {fault['undo']})"
        )
    nodes = record.model_dump(mode="json", include={"nodes"})["nodes"]
    if not BACKENDS[record.backend].enclosed:
        for line in _left_to_verbs(left, nodes):
            console.print(line)
    orphan = Orphan(record=record, name=None, down=down)
    code = heal_cluster(record.backend, orphan, console)
    written = undo_record.Undo(folder.path)
    for fault in left:
        written.undone(fault["fault"])
    return code


def _left_to_verbs(
    left: Sequence[Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """What verbs undo themselves, as no backend could; a verb that this version does not have is
    the backend's to heal."""
    for fault in left:
        verb = VERBS.get(fault["verb"])
        if verb is not None and verb.heal_left is not None:
            yield from verb.heal_left(fault, nodes)


def heal_cluster(backend: str, orphan: Orphan, console: Console) -> int:
    """The same by what is left in the cluster itself, wherever its run was."""
    if backend not in BACKENDS:
        raise ScenarioError(f"--backend {backend}: unknown; choose one of {', '.join(BACKENDS)}")
    for line in BACKENDS[backend].heal(orphan):
        console.print(line)
    return VALID
