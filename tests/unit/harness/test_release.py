"""Which release and which commit this is, wherever it lies."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness import release
from harness.checkout import ROOT
from harness.commands.carry_out import _at_start
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import parse

NAMED = ["-c", "user.name=a", "-c", "user.email=a@example.org"]


def git(folder: Path, *words: str) -> str:
    done = subprocess.check_output(["git", "-C", str(folder), *NAMED, *words], text=True)
    return done.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one commit, which `release` takes for its own."""
    folder = tmp_path / "a checkout"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "file").write_text("one")
    git(folder, "add", "file")
    git(folder, "commit", "--quiet", "--message", "one")
    monkeypatch.setattr(release, "ROOT", folder)
    monkeypatch.setattr(release, "COMMIT_FILE", folder / "commit.txt")
    return folder


def test_a_checkout_is_the_commit_that_it_has_out(checkout: Path) -> None:
    assert git(checkout, "rev-parse", "HEAD") == release.commit()


def test_a_changed_checkout_is_dirty(checkout: Path) -> None:
    (checkout / "file").write_text("two")

    assert f"{git(checkout, 'rev-parse', 'HEAD')} dirty" == release.commit()


def test_a_campaign_that_writes_its_ledger_makes_no_checkout_dirty(checkout: Path) -> None:
    ledger = checkout / "docs" / "data" / "study.jsonl"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("{}\n")

    assert git(checkout, "rev-parse", "HEAD") == release.commit()

    (ledger.parent / "notes.txt").write_text("not a ledger")

    assert f"{git(checkout, 'rev-parse', 'HEAD')} dirty" == release.commit()


def test_a_wheel_is_the_commit_that_it_was_made_of(checkout: Path) -> None:
    (checkout / "commit.txt").write_text("abc\n")

    assert "abc" == release.commit()


def test_sources_in_another_repository_are_not_its_commit(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = checkout / "unpacked"
    inside.mkdir()
    monkeypatch.setattr(release, "ROOT", inside)

    assert "unknown" == release.commit()


def test_without_git_the_commit_is_unknown(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))

    assert "unknown" == release.commit()


def test_a_run_keeps_release_and_commit(tmp_path: Path) -> None:
    versions = _at_start(RunFolder(path=tmp_path))["versions"]

    assert release.version() == versions["kafka_harness"]
    assert release.commit() == versions["kafka_harness_commit"]


def test_a_run_that_kept_no_commit_is_read_as_before() -> None:
    text = (ROOT / "tests" / "golden" / "leader-stopped" / "run.json").read_text()

    assert "kafka_harness_commit" not in json.loads(text)["versions"]
    assert "0.1.0" == parse(text).versions["kafka_harness"]
