"""What a node of KRaft's has on its disk before its first start, and after it has lost it."""

from __future__ import annotations

from pathlib import Path

from harness.cluster.local.backend import kraft_nodes
from harness.cluster.local.node_files import NodeFiles
from harness.cluster.node_settings import ClusterSettings
from harness.nemesis.faults.disks import sync_trace
from harness.nemesis.faults.disks.power import sizes

NODES = kraft_nodes(3, 3, combined=False)
CONTROLLER = NODES[0]


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
