"""Stories are checked some at a time, none twice, and none before it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import story_runs
from tests.support.histories import final_read, sent, story
from tests.support.story_runs import CheckedStories


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs of each job of two stories, as it is begun; a job with the run `3` fails."""
    begun: list[list[str]] = []

    def checked(runs: list[Path]) -> list[dict[str, Any]]:
        begun.append([run.name for run in runs])
        if "3" in begun[-1]:
            raise ValueError("3")
        return [{"run": run.name, "anomalies": {}} for run in runs]

    monkeypatch.setattr(story_runs, "JOB", 2)
    monkeypatch.setattr(story_runs, "checked", checked)
    return begun


@pytest.fixture
def stories(jobs: list[list[str]], tmp_path: Path) -> CheckedStories:
    return CheckedStories(
        {test: story(sent(1, at=0), final_read(1)) for test in "abcdefg"}, tmp_path
    )


def test_a_job_has_the_story_that_is_asked_for_and_those_after_it(stories, jobs, tmp_path):
    assert [] == jobs
    assert ({"run": "1", "anomalies": {}}, tmp_path / "1") == (stories.of("c"), stories.of("d"))[1]
    assert [["0", "1"]] == jobs


def test_what_was_passed_over_is_checked_when_it_is_asked_for(stories, jobs):
    assert "0" == stories.of("g")[0]["run"]
    assert "1" == stories.of("b")[0]["run"]

    assert [["0"], ["1", "2"]] == jobs


def test_a_job_that_fails_does_so_once_and_for_its_own_tests_only(stories, jobs):
    stories.of("a")
    for test in ("c", "d"):
        with pytest.raises(ValueError, match="3"):
            stories.of(test)

    assert "4" == stories.of("e")[0]["run"]
    assert [["0", "1"], ["2", "3"], ["4", "5"]] == jobs
