"""What is listed: by family, and a line each where there is no terminal."""

from __future__ import annotations

from harness.release import PAGES
from harness.scenario.file import families, read_scenario, shipped
from tests.support.commands import called


def test_scenarios_are_listed_by_family_a_line_each_with_how_long_they_take() -> None:
    lines = called("scenarios").out.splitlines()

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
    listed = called("docs").out
    names = [line.split()[0] for line in listed.splitlines()[:-1]]

    assert f"as files: {PAGES}" == listed.splitlines()[-1]
    assert sorted(path.stem for path in PAGES.glob("*.md")) == names
    assert (PAGES / "tutorial.md").read_text() == called("docs", "tutorial").out


def test_any_other_word_is_looked_for_in_all_of_them() -> None:
    found = called("docs", "Group.Instance.ID").out.splitlines()
    plural = called("docs", "timeouts").out
    said = called("docs", "no-such-word")

    assert "session.timeout.ms" in plural
    assert any(line.startswith("scenario:") and "group.instance.id" in line for line in found)
    assert (254, "") == (said.code, said.out)
    assert "'no-such-word' stands on none of the pages anomalies, " in said.err
