"""The quorum that tests of the view begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.labs.quorums import Quorum


@pytest.fixture
def quorum(tmp_path: Path) -> Quorum:
    return Quorum(tmp_path)
