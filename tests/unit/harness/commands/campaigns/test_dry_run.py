"""A campaign's cells are listed with how long they will take; nothing is started or written."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands.campaigns.campaign import show_what_is_missing
from harness.commands.campaigns.make_runs import CampaignOptions
from harness.model.scenario import ScenarioError

TEXT = """
title = "t"
data = "runs.jsonl"
seed = 7
[[cells]]
scenario = "study-1"
repeats = 2
[[matrix]]
scenarios = ["study-1"]
repeats = 3
[matrix.axes]
"workload.producer.acks" = ["1", "all"]
"""


def shown(file: Path) -> list[str]:
    said = io.StringIO()
    console = Console(file=said, width=200)
    assert show_what_is_missing(file, CampaignOptions(resume=False), console=console) == 0
    return said.getvalue().splitlines()


def test_each_cell_has_what_is_finished_and_what_is_to_do(tmp_path: Path) -> None:
    file, data = tmp_path / "c.toml", tmp_path / "runs.jsonl"
    file.write_text(TEXT)
    data.write_text(json.dumps({"cell": "study-1", "seed": 7}) + "\n")

    rows = shown(file)

    assert ["study-1", "local", "1", "1"] == rows[1].split()[:4]
    assert ["study-1/acks=1", "local", "0", "3"] == rows[2].split()[:4]
    assert rows[-1].startswith("7 runs to do, about ")
    assert sorted(tmp_path.iterdir()) == [file, data]


def test_a_setting_that_no_scenario_has_is_refused_with_all_its_cells(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(TEXT.replace("workload.producer.acks", "workload.procuder.acks"))

    with pytest.raises(ScenarioError) as refused:
        shown(file)
    head, *cells = str(refused.value).splitlines()
    assert "2 errors:" == head
    assert ["study-1/acks=1", "study-1/acks=all"] == [each.split(":")[0].strip() for each in cells]
    assert all("procuder" in each for each in cells)
