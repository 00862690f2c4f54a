"""What the tests of faults share: brokers whose disks are folders, or who take requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from harness.cluster.admin import requests
from harness.cluster.admin.admin import Admin
from harness.cluster.admin.topics import Topics
from harness.nemesis.faults.admin import reassignments
from tests.support.disk_nodes import Nodes
from tests.support.labs.small_cluster import Small


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    for name in ("kafka1", "kafka2"):
        (tmp_path / name / "t-0").mkdir(parents=True)
    return Nodes(folder=tmp_path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Small:
    made = Small()

    def admin(self: Admin, _: object, __: object) -> None:
        self.topics = Topics(cast(Any, None))

    monkeypatch.setattr(Admin, "__init__", admin)
    monkeypatch.setattr(requests, "Requests", lambda _, __: made)
    monkeypatch.setattr(reassignments, "ASK_EVERY_S", 0.0)
    return made
