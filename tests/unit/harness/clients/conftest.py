"""A file of the user's that a test writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.config_files import Write


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Write a file of the user's and return its path."""

    def write(text: str) -> Path:
        path = tmp_path / "user.properties"
        path.write_text(text)
        return path

    return write
