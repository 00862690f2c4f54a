"""`make unit` starts no JVM: a test without the mark that would start one fails, wherever Java is
and whoever starts it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.needs import needs
from tests.support.no_jvm import JvmStarted, no_jvm

ASKED = ["java", "-Xlog:disable", "-XX:+IgnoreUnrecognizedVMOptions", "-version"]
BY_ANOTHER = [sys.executable, "-c", f"import subprocess; subprocess.run({ASKED})"]


@pytest.mark.parametrize("command", [ASKED, BY_ANOTHER], ids=["by the test", "by its child"])
def test_a_test_without_the_mark_starts_no_jvm(command: list[str]) -> None:
    needs("java")
    with pytest.raises(JvmStarted), no_jvm():
        done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert "without-pytest.mark.jvm" in done.stderr
    assert "version" not in done.stderr


def test_what_starts_none_is_left_alone() -> None:
    with no_jvm():
        assert 0 == subprocess.run([sys.executable, "-c", ""], check=False).returncode
