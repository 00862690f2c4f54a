"""What is listed: by family, and a line each where there is no terminal."""

from __future__ import annotations

import subprocess

from harness.scenario.file import families, read_scenario, shipped
from tests.support.commands import COMMAND


def test_scenarios_are_listed_by_family_a_line_each_with_how_long_they_take() -> None:
    said = subprocess.run([*COMMAND, "scenarios"], capture_output=True, text=True, check=True)
    lines = said.stdout.splitlines()

    assert lines[1].split()[:3] == ["baseline", "20", "s"]
    at = lines.index("study")
    assert lines[at + 1].split()[:3] == ["study-1", "2", "min"]
    assert len(lines) == 1 + len(shipped()) + len([family for family in families() if family])
    for name in shipped():
        assert any(f" {read_scenario(name).title}" in line for line in lines)
    assert [] == [line for line in lines if line != line.rstrip()]


def test_a_family_is_a_folder_of_scenarios() -> None:
    found = families()

    assert found[""] == ["baseline"]
    assert "study-1" in found["study"]
    assert sorted(shipped()) == sorted(name for names in found.values() for name in names)
