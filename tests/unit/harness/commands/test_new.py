"""new: a file that runs as it is, written where nothing was; and the schema that it names."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest
from rich.console import Console

from harness.commands import new
from harness.commands.carry_out import prepare_run
from harness.model.scenario import ScenarioError
from harness.model.sections.kafka_releases import NEWEST
from harness.scenario.prepare import Request
from tests.support.scenarios import complaints


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str) -> str:
    console = Console(record=True, quiet=False, soft_wrap=True)
    with mock.patch.object(new, "console", console):
        new.new(name)
    return console.export_text()


def test_what_is_written_is_a_run_as_it_stands(here: Path) -> None:
    assert "what-if.toml written" in write("what-if")

    prepared = prepare_run(Request(scenario="what-if.toml", seed=1))

    assert [step.verb for step in prepared.steps] == ["kill"]
    assert prepared.scenario.workload.producer["acks"] == "all"
    assert prepared.scenario.cluster.release == NEWEST
    assert [note for note in prepared.notes if "has not been fetched yet" not in note] == []


def test_what_is_commented_out_in_it_may_stand_there(here: Path) -> None:
    """Line by line: a hash and one space before a key or a section."""
    write("what-if")
    lines = (here / "what-if.toml").read_text().splitlines()
    head = lines.index("[cluster]")
    told = [
        line[2:] if line[:2] == "# " and ("=" in line or line[2] == "[") else line
        for line in lines[head:]
    ]
    (here / "whole.toml").write_text("\n".join(['title = "all of it"', *told]))

    prepared = prepare_run(Request(scenario="whole.toml", seed=1))

    assert len(told) > sum(a == b for a, b in zip(told, lines[head:], strict=True)) + 10
    assert [step.verb for step in prepared.steps] == ["kill", "kill", "kill", "cut"]


def test_each_section_of_a_scenario_stands_in_it(here: Path) -> None:
    write("what-if")
    text = (here / "what-if.toml").read_text()

    for section in ("[cluster]", "[topic]", "[workload]", "[[faults]]", "[check]", "[expect]"):
        assert section in text


def test_its_first_line_names_the_schema_beside_it(here: Path) -> None:
    said = write("what-if")
    text = (here / "what-if.toml").read_text()

    assert text.splitlines()[0] == f"#:schema ./{new.SCHEMA}"
    assert f"{new.SCHEMA} written" in said
    assert json.loads((here / new.SCHEMA).read_text())["title"] == "kafka-harness scenario"
    assert complaints(text) == []


def test_nothing_is_overwritten(here: Path) -> None:
    (here / "what-if.toml").write_text("mine")
    (here / new.SCHEMA).write_text("{}")

    with pytest.raises(ScenarioError, match=r"what-if\.toml: already exists: choose another name"):
        write("what-if")
    said = write("what-else")

    assert (here / "what-if.toml").read_text() == "mine"
    assert (here / new.SCHEMA).read_text() == "{}"
    assert f"kafka-harness schema > {new.SCHEMA}" in said


def test_a_schema_that_is_right_is_not_spoken_of(here: Path) -> None:
    write("what-if")

    assert new.SCHEMA not in write("what-else")


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".hidden", "-x", "a b", "ä", "a\n", "x" * 101])
def test_a_name_that_is_none_is_refused(name: str, here: Path) -> None:
    with pytest.raises(ScenarioError, match="a name has letters, digits"):
        write(name)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["study-1", "latest", "baseline.toml"])
def test_a_name_that_the_harness_uses_is_refused(name: str, here: Path) -> None:
    with pytest.raises(ScenarioError, match="taken by the harness"):
        write(name)
    assert list(here.iterdir()) == []


def test_the_name_may_be_given_as_the_file(here: Path) -> None:
    write("what-if.toml")

    assert (here / "what-if.toml").is_file()


def test_a_folder_that_cannot_be_written_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    """As root may write anywhere, a folder that is gone stands for one that is not ours."""
    gone = here / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(ScenarioError, match=r"what-if\.toml: cannot be written: No such file"):
        write("what-if")
