"""What of a campaign is still to do: which cells, beside which older runs, with whose settings."""

from __future__ import annotations

import pytest

from harness.commands.campaigns import make_runs
from harness.commands.campaigns.file import read_campaign
from harness.commands.campaigns.todo import missing
from harness.model.scenario import ScenarioError

TEXT = """
title = "t"
data = "runs.jsonl"
seed = 7
[[cells]]
scenario = "study-1"
repeats = 2
[[cells]]
name = "short"
scenario = "study-1"
repeats = 1
"""


def written(tmp_path, text: str = TEXT):
    path = tmp_path / "c.toml"
    path.write_text(text)
    return path


def test_only_the_cells_that_are_asked_for(tmp_path):
    plan = read_campaign(written(tmp_path))

    assert ["short"] == [cell.key for cell, _ in missing(plan, [], patterns=["sh*"])]
    with pytest.raises(ScenarioError, match=r"--cell study-2: .* there are study-1, short"):
        missing(plan, [], patterns=["short", "study-2"])


def test_properties_are_beside_the_campaign(tmp_path):
    (tmp_path / "mine.properties").write_text("linger.ms=7\n")
    plan = read_campaign(written(tmp_path, f'producer_config = "mine.properties"\n{TEXT}'))

    run = make_runs.prepared(missing(plan, []))[0].prepared

    assert "7" == run.scenario.workload.producer["linger.ms"]


def test_properties_that_are_not_there_are_named(tmp_path):
    plan = read_campaign(written(tmp_path, f'server_properties = "none"\n{TEXT}'))

    with pytest.raises(ScenarioError, match=str(tmp_path / "none")):
        make_runs.prepared(missing(plan, []))


@pytest.mark.parametrize(("older", "left"), [("count", 2), ("beside", 3)])
def test_runs_without_a_digest_count_or_stand_beside(tmp_path, older, left):
    plan = read_campaign(written(tmp_path, f'older = "{older}"\n{TEXT}'))

    assert left == len(missing(plan, [{"cell": "study-1", "seed": 7}]))
    assert 2 == len(missing(plan, [{"cell": "study-1", "seed": 7, "configuration": "a"}]))
