"""What the tests of faults share: two brokers whose disks are folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.disk_nodes import Nodes


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    for name in ("kafka1", "kafka2"):
        (tmp_path / name / "t-0").mkdir(parents=True)
    return Nodes(folder=tmp_path)
