"""lose-power, lose-disk: a node is killed and loses what it had written, in part or whole.

    lose-power   SIGKILL, then each file is cut back to what the node had really synced, known
                 from the trace of its fsync and fdatasync calls
                 (harness.nemesis.faults.disks.sync_trace). All nodes of the target are killed
                 before the first file is cut, as they share the power
    lose-disk    SIGKILL, then its data directory is emptied, as if the disk was replaced. KRaft's
                 nodes get a newly formatted one, with an id of its own

A controller loses metadata: leaders and ISRs. Both are undone by `start`; what is lost stays lost.
Kafka's own recovery-point checkpoint is no evidence: it is written once a minute.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from harness.cluster.capabilities import Disks, Preparable, Restarts
from harness.cluster.nodes import ClusterError, Node
from harness.model.effects import Effects
from harness.nemesis.faults.disks import sync_trace
from harness.nemesis.faults.processes.revive import disks, gone, note_pids, revive, revived
from harness.nemesis.faults.processes.signals import processes
from harness.nemesis.options import Options
from harness.nemesis.target import Setting, Target
from harness.nemesis.verb import KAFKAS, Injection, Verb
from harness.waiting import wait_until

END_LIMIT_S = 20.0


def _lose_power(injection: Injection) -> None:
    _kill(injection)
    injection.memo["evidence"] = [_cut_back(injection, node) for node in injection.nodes]


def _kill(injection: Injection) -> None:
    """Kill all nodes, and return when their processes are gone."""
    note_pids(injection)
    control = processes(injection)
    for node in injection.nodes:
        control.signal(node, signal.SIGKILL)
    wait_until(
        lambda: all(gone(injection, node) for node in injection.nodes),
        timeout_s=END_LIMIT_S,
        what="every node to be gone",
        every_s=0.005,
    )
    injection.keep(injection.nodes)


def _cut_back(injection: Injection, node: Node) -> str:
    trace, pid = disks(injection).sync_trace(node), injection.memo["pids"][node.name]
    wait_until(
        lambda: sync_trace.ended(trace.read_text(errors="replace"), pid),
        timeout_s=END_LIMIT_S,
        what=f"the trace of {node.name} to end",
    )
    folder = disks(injection).data_folder(node)
    lines = trace.read_text(errors="replace").splitlines()
    try:
        cuts = sync_trace.cuts(sync_trace.files(lines), sizes(folder))
    except sync_trace.TraceError as error:
        raise ClusterError(f"{node.name}: cannot tell what was synced: {error}") from None
    for path, length in cuts.cut.items():
        os.truncate(path, length)
    for path in cuts.remove:
        Path(path).unlink()
    trace.write_text(sync_trace.baseline(sizes(folder)))
    lost = cuts.bytes_before - cuts.bytes_after
    return (
        f"process {pid} of {node.name} is gone; of {cuts.bytes_before:,} bytes in its segments "
        f"{lost:,} had never been synced and were cut off"
    )


def sizes(folder: Path) -> dict[str, int]:
    """Path -> size of every file below a folder."""
    files = (Path(where) / name for where, _, names in os.walk(folder) for name in names)
    return {str(file): file.stat().st_size for file in files}


def _lose_disk(injection: Injection) -> None:
    _kill(injection)
    injection.memo["evidence"] = [_empty(injection, node) for node in injection.nodes]


def _empty(injection: Injection, node: Node) -> str:
    had = sizes(disks(injection).data_folder(node))
    disks(injection).wipe(node)
    return (
        f"process {injection.memo['pids'][node.name]} of {node.name} is gone; {len(had)} files of "
        f"{sum(had.values()):,} bytes were removed"
    )


def _leaves_metadata(setting: Setting, target: Target, _: Options) -> str | None:
    if not setting.controllers:
        return None
    if target.certain(setting) >= setting.quorum:
        return (
            f"{target.name}: nobody would have the metadata, and no topic would ever be back: use "
            "quorum-minority"
        )
    if setting.dynamic and target.name in {"quorum-majority", "quorum-followers"}:
        return (
            f"{target.name}: a voter is gone with its disk (KIP-853), and without a majority of "
            'them none can be added: use quorum-minority, or set cluster.voters = "static"'
        )
    return None


def _evidence(injection: Injection) -> str | None:
    return "; ".join(injection.memo["evidence"])


LOSE_POWER = Verb(
    name="lose-power",
    undo="start",
    done="hit by a power loss",
    effects=Effects(leadership="anywhere", takes="unsynced", ends_processes=True),
    needs=(Restarts, Disks, Preparable),
    holds="process",
    hits=KAFKAS,
    together=True,
    prepares="sync-trace",
    inject=_lose_power,
    proof_in_force=_evidence,
    heal=revive,
    healed=revived,
    host={"strace": ""},
)
LOSE_DISK = Verb(
    name="lose-disk",
    undo="start",
    done="hit by disk loss",
    effects=Effects(leadership="anywhere", takes="all", ends_processes=True),
    needs=(Restarts, Disks),
    holds="process",
    hits=KAFKAS,
    together=True,
    inject=_lose_disk,
    proof_in_force=_evidence,
    heal=revive,
    healed=revived,
    impossible=_leaves_metadata,
)
