"""Configuration files that a test writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config_files.read import read_config_file
from harness.config_files.settings import FileSettings, Whose
from tests.support.config_files import Read


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a file of that name, and read it."""

    def written(name: str, text: str, whose: Whose, choice: str = "") -> FileSettings:
        path = tmp_path / name
        path.write_text(text)
        given = Path(f"{path}:{choice}") if choice else path
        return read_config_file(
            given,
            whose,
            ("node.id", "listener."),
            ("acks", "linger.ms", "enable.idempotence", "request.timeout.ms"),
        )

    return written
