"""What is listed: by family, and a line each where there is no terminal."""

from __future__ import annotations

import subprocess

from harness.release import PAGES
from harness.scenario.file import families, read_scenario, shipped
from tests.support.commands import COMMAND


def test_scenarios_are_listed_by_family_a_line_each_with_how_long_they_take() -> None:
    said = subprocess.run([*COMMAND, "scenarios"], capture_output=True, text=True, check=True)
    lines = said.stdout.splitlines()

    assert lines[1].split()[:3] == ["baseline", "20", "s"]
    at = lines.index("study")
    assert lines[at + 1].split()[:3] == ["study-1", "2", "min"]
    assert len(lines) == 1 + len(shipped()) + len([family for family in families() if family])
    titles = [read_scenario(name).title for name in shipped()]
    assert [] == [title for title in titles if not any(f" {title}" in line for line in lines)]
    assert [] == [line for line in lines if line != line.rstrip()]


def test_a_family_is_a_folder_of_scenarios() -> None:
    found = families()

    assert found[""] == ["baseline"]
    assert "study-1" in found["study"]
    assert sorted(shipped()) == sorted(name for names in found.values() for name in names)


def test_pages_of_the_documentation_are_listed_and_printed() -> None:
    listed = subprocess.run([*COMMAND, "docs"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines()[:-1]]

    assert f"as files: {PAGES}" == listed.splitlines()[-1]
    assert sorted(path.stem for path in PAGES.glob("*.md")) == names
    printed = subprocess.run([*COMMAND, "docs", "tutorial"], capture_output=True, check=True)
    assert (PAGES / "tutorial.md").read_bytes() == printed.stdout


def test_a_page_that_is_not_there_is_refused_with_those_that_are() -> None:
    asked = [*COMMAND, "docs", "nowhere"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)

    assert (254, "") == (said.returncode, said.stdout)
    assert "no page 'nowhere'; there are anomalies, " in said.stderr
