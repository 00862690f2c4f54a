"""The files of local nodes, on a tmpfs of the run's, so that nothing outlives it.

    kafka1/              its data; on a tmpfs of its own where cluster.disk_mib gives its size, or
                         where faults need one (way "own-disk"). Not a ZooKeeper's: no fault hits
                         its disk
    kafka1.properties    its server.properties or zoo.cfg
    controller1/         of a KRaft cluster: its own copy of the storage that was formatted once
    kafka1.clock         how far its wall clock is ahead (way "fake-time")
    kafka1.trace         its file calls (way "sync-trace"), and what was on its disk before these
    kafka1.tampered      what strace prints that faults have attached
    tmp/                 libraries that nodes unpack (lz4, snappy, zstd), which a killed one leaves

The data can be copied to a folder that stays.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from harness.cluster import node_settings
from harness.cluster.local import launch_modes
from harness.cluster.local.network import run
from harness.cluster.nodes import Node, controllers
from harness.distribution import storage

FOLDER = Path("/run/kafka-harness")


@dataclass(frozen=True, kw_only=True)
class NodeFiles:
    """The files of every node, below `scratch`, a folder on a filesystem of the run's own.

    `formatted` is KRaft's storage as the first nodes have it (harness.distribution.storage);
    `disk_bytes` the size of each broker's disk, 0 where nothing but a fault gives it one.
    """

    scratch: Path
    nodes: Sequence[Node]
    settings: node_settings.ClusterSettings
    formatted: Path | None = None
    disk_bytes: int = 0
    times_formatted: Counter[str] = field(default_factory=Counter)

    def make(self, node: Node, ways: frozenset[str]) -> None:
        """Make the files that a node needs before its first start."""
        data = self.data(node)
        data.mkdir()
        self.temporary().mkdir(exist_ok=True)
        if size := self._disk_bytes(node, ways):
            run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(data)])
        self._format(node)
        self._write_config(node)
        self.set_clock(node, 0)

    def _disk_bytes(self, node: Node, ways: frozenset[str]) -> int:
        """The size of the node's own disk; 0: it has none."""
        for_faults = launch_modes.OWN_DISK in ways and node.role != "zookeeper"
        own = self.disk_bytes if node.role == "broker" else 0
        return own or launch_modes.DISK_BYTES * for_faults

    def wipe(self, node: Node) -> None:
        """Back to what the node had when it was started first, as KRaft sees it on another disk; a
        disk of its own stays mounted."""
        for entry in self.data(node).iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self.trace(node).unlink(missing_ok=True)  # the files that it describes are gone
        self._format(node)
        self._write_config(node)

    def keep(self, folder: Path) -> None:
        """Copy all of it to a folder that outlives the run, once."""
        if not folder.exists():
            own = shutil.ignore_patterns(self.temporary().name)
            shutil.copytree(self.scratch, folder, ignore=own)

    def set_clock(self, node: Node, offset_s: float) -> None:
        """Set the offset of the node's clock, atomically: a node never reads half a number."""
        clock = self.clock(node)
        new = clock.with_suffix(".new")
        new.write_text(f"{offset_s:+g}\n")
        new.replace(clock)

    def data(self, node: Node) -> Path:
        """The node's data folder."""
        return self.scratch / node.name

    def temporary(self) -> Path:
        """Where nodes put what they need for as long as they run."""
        return self.scratch / "tmp"

    def config(self, node: Node) -> Path:
        """The node's server.properties or zoo.cfg."""
        return self.scratch / f"{node.name}.properties"

    def log4j(self) -> Path:
        """The settings of every node's log."""
        return self.scratch / "log4j.properties"

    def clock(self, node: Node) -> Path:
        """The file that libfaketime reads the node's offset from."""
        return self.scratch / f"{node.name}.clock"

    def trace(self, node: Node) -> Path:
        """One file for the whole run, beside the node's data."""
        return self.scratch / f"{node.name}.trace"

    def tampered(self, node: Node) -> Path:
        """The output of the strace that faults have attached last."""
        return self.scratch / f"{node.name}.tampered"

    def _format(self, node: Node) -> None:
        """As an operator formats a disk: one that replaces a lost one has another id, and where
        voters are dynamic its controller is no first voter any more."""
        if self.formatted is None:
            return
        before = self.times_formatted[node.name]
        self.times_formatted[node.name] += 1
        votes = node in controllers(self.nodes) and not (before and self.settings.dynamic)
        storage.copy(self.formatted, self.data(node), node.id, votes=votes, before=before)
        files = [file for file in self.data(node).rglob("*") if file.is_file()]
        synced = "".join(f"synced {file.stat().st_size} {file}\n" for file in sorted(files))
        self.trace(node).write_text(synced)  # as harness.nemesis.faults.disks.sync_trace reads it

    def _write_config(self, node: Node) -> None:
        data = self.data(node)
        if node.role == "zookeeper":
            (data / "myid").write_text(f"{node.id}\n")
        properties = node_settings.properties_of(node, self.nodes, str(data), self.settings)
        self.config(node).write_text(node_settings.render(properties))
        self.log4j().write_text(node_settings.LOG4J)


@cache
def private_tmpfs() -> Path:
    """Hide /run behind a tmpfs of our own and return a folder on it, with room for netns names."""
    run(["mount", "-t", "tmpfs", "-o", "mode=0755,size=50%", "tmpfs", "/run"])
    Path("/run/netns").mkdir()
    FOLDER.mkdir()
    return FOLDER
