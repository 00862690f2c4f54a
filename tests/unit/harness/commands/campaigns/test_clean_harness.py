"""Lines of a harness with changes that no commit has go into no ledger that git keeps."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands.campaigns import make_runs
from harness.model.runs.ledger import Ledger, LedgerError
from harness.model.scenario import ScenarioError

PLAN = """
title = "t"
data = "runs.jsonl"
[[cells]]
scenario = "study-1"
repeats = 1
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign's file beside its ledger, which git keeps; the harness is dirty."""
    (tmp_path / "c.toml").write_text(PLAN)
    (tmp_path / "runs.jsonl").write_text("")
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "runs.jsonl"], check=True)
    monkeypatch.setattr(make_runs, "commit", lambda: "abc dirty")
    return tmp_path / "c.toml"


def begin(file: Path, *, dirty: bool = False) -> None:
    """Begin the campaign while somebody else writes its ledger: that ends what may begin."""
    options = make_runs.CampaignOptions(resume=True, calibrate=False, dirty=dirty)
    with Ledger.open(file.parent / "runs.jsonl"):
        make_runs.make_runs(file, file.parent / "results", options, console=Console())


def test_a_dirty_harness_is_refused(file: Path) -> None:
    told = r"runs.jsonl is kept in git, .* commit them first, or .* by --dirty"

    with pytest.raises(ScenarioError, match=told):
        begin(file)


def test_it_may_where_it_is_told_to(file: Path) -> None:
    with pytest.raises(LedgerError, match="another campaign"):
        begin(file, dirty=True)


def test_a_ledger_that_git_does_not_keep_takes_all(file: Path) -> None:
    subprocess.run(
        ["git", "-C", str(file.parent), "rm", "-q", "--cached", "runs.jsonl"], check=True
    )

    with pytest.raises(LedgerError, match="another campaign"):
        begin(file)


def test_a_clean_harness_begins(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_runs, "commit", lambda: "abc")

    with pytest.raises(LedgerError, match="another campaign"):
        begin(file)
