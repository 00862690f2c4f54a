"""What a node of KRaft's has on its disk before its first start, and after it has lost it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.local import node_files
from harness.cluster.local.backend import kraft_nodes
from harness.cluster.local.launch_modes import DISK_BYTES, OWN_DISK
from harness.cluster.local.node_files import NodeFiles
from harness.cluster.node_settings import ClusterSettings
from harness.nemesis.faults.disks import sync_trace
from harness.nemesis.faults.disks.power import sizes

NODES = kraft_nodes(3, 3, combined=False)
CONTROLLER = NODES[0]


def test_a_disk_of_a_size_is_each_broker_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that needs a disk of its own gives one to whoever has none yet."""
    mounted: list[str] = []
    monkeypatch.setattr(node_files, "run", lambda argv: mounted.append(" ".join(argv[4:])))
    sized = NodeFiles(
        scratch=tmp_path, nodes=NODES, settings=ClusterSettings(metadata="kraft"), disk_bytes=9
    )
    sized.make(NODES[-1], frozenset())
    sized.make(CONTROLLER, frozenset())
    sized.make(NODES[1], frozenset({OWN_DISK}))

    assert mounted == [
        f"size=9 tmpfs {tmp_path}/kafka3",
        f"size={DISK_BYTES} tmpfs {tmp_path}/controller2",
    ]


def test_what_was_formatted_outlives_a_loss_of_power(tmp_path: Path) -> None:
    """Nobody has seen it written: it was there before the node."""
    formatted = tmp_path / "formatted"
    formatted.mkdir()
    (formatted / "meta.properties").write_text("node.id=101\ndirectory.id=x\n")
    (formatted / "bootstrap.checkpoint").write_bytes(b"x" * 30)
    files = NodeFiles(
        scratch=tmp_path,
        nodes=NODES,
        settings=ClusterSettings(metadata="kraft"),
        formatted=formatted,
    )

    files.make(CONTROLLER, frozenset())
    for _ in range(2):
        there = sizes(files.data(CONTROLLER))
        lines = files.trace(CONTROLLER).read_text().splitlines()

        assert len(there) == 2
        assert sync_trace.cuts(sync_trace.files(lines), there).remove == ()
        files.wipe(CONTROLLER)
