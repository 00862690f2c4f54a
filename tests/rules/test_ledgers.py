"""No line of a published ledger has ever vanished: git's history is held against it; and its cells
are still what its runs put to the test."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from harness.checkout import DOCS, ROOT
from harness.commands.campaigns.file import read_campaign
from harness.commands.campaigns.make_runs import CampaignOptions, still_to_do
from harness.model.campaigns.ledger import read
from harness.model.runs.configuration import digest_of
from harness.scenario.prepare import prepare

DATA = "docs/data"
NO_LEDGER = "faults.jsonl"  # what `make nemesis-table` measured: no campaign's


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def vanished(versions: list[list[str]]) -> list[str]:
    """The lines that some version had, more often than the last one has them."""
    last, ever = Counter(versions[-1]), Counter[str]()
    for each in versions:
        ever |= Counter(each)
    return list((ever - last).elements())


@pytest.fixture
def history() -> None:
    """Skip where there is none to look at."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: there is no history to look at")
    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("this clone is shallow: `git fetch --unshallow` brings the history to look at")


@pytest.mark.usefixtures("history")
def test_each_ledger_that_was_ever_committed_is_there() -> None:
    assert set() == ever_committed() - {file.name for file in (ROOT / DATA).glob("*.jsonl")}


@pytest.mark.usefixtures("history")
def test_each_line_that_was_ever_committed_is_there() -> None:
    """What goes again is put back, and said in lines `superseded` why it does not count."""
    gone = [
        f"{path}: {line}"
        for path in (f"{DATA}/{name}" for name in sorted(ever_committed() - {NO_LEDGER}))
        for line in vanished([*versions(path), (ROOT / path).read_text().splitlines()])
    ]

    assert [] == gone


def ever_committed() -> set[str]:
    told = git("log", "--format=", "--name-only", "--diff-filter=A", "--", f"{DATA}/*.jsonl")
    return {Path(path).name for path in told.split()}


def versions(path: str) -> list[list[str]]:
    """The lines of a file in each commit that changed it, the oldest first."""
    commits = git("log", "--format=%H", "--", path).split()
    return [git("show", f"{commit}:{path}").splitlines() for commit in reversed(commits)]


@pytest.mark.parametrize(
    ("versions", "gone"),
    [
        ([["a"], ["a", "b"]], []),
        ([["a", "b"], ["b", "a"]], []),
        ([["a", "b"], ["a"]], ["b"]),
        ([["a"], [], ["b"]], ["a"]),
        ([["a", "a"], ["a"]], ["a"]),
    ],
)
def test_a_line_that_vanished_is_told(versions: list[list[str]], gone: list[str]) -> None:
    assert gone == vanished(versions)


@pytest.mark.parametrize("name", ["study", "configurations"])
def test_each_cell_has_the_digest_of_its_runs_whatever_words_its_scenario_has(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where lines have one: the older ones have not."""
    monkeypatch.setenv("KAFKA_HARNESS_CACHE", str(tmp_path))  # no jars are asked for keys
    plan = read_campaign(DOCS / f"{name}.toml")
    ran = {
        (line["cell"], line.get("backend", "local")): line["configuration"]
        for line in read(DOCS / plan.data).standing
        if line.get("configuration")
    }
    asked = {
        (cell.key, request.backend): request
        for cell, request in still_to_do(plan, [], CampaignOptions(resume=False))
    }
    now = {key: digest_of(prepare(asked[key]).record) for key in ran if key in asked}

    assert now
    assert now == {key: ran[key] for key in now}
