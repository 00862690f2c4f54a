"""`make unit` starts no JVM: what would start one without the mark fails, wherever Java is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def test_a_test_without_the_mark_starts_no_jvm() -> None:
    with pytest.raises(RuntimeError, match=r"without pytest\.mark\.jvm"):
        subprocess.run(["java", "-version"], check=False)


def test_a_java_that_the_test_has_made_up_is_no_jvm(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)

    assert subprocess.run([str(java)], check=False).returncode == 0
