"""Set-up's Python packages: what is pinned and nothing else, and anew when a pin changes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.setup import install


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of a set-up that runs none, in a folder of its own."""
    ran: list[list[str]] = []

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        ran.append([*command])
        return subprocess.CompletedProcess(command, 0, stdout="")

    pinned = [tmp_path / "build.txt", tmp_path / "packages.txt"]
    for file in pinned:
        file.write_text("")
    (tmp_path / "python").touch()
    monkeypatch.setattr(install, "_run", run)
    monkeypatch.setattr(install, "PYTHON", tmp_path / "python")
    monkeypatch.setattr(install, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(install, "REQUIREMENTS", tuple(pinned))
    return ran


def test_nothing_is_installed_that_has_no_hash(commands: list[list[str]]) -> None:
    install._install_python_packages()

    installs = [command for command in commands if "install" in command]
    assert len(installs) == 3
    for command in installs:
        assert "--no-build-isolation" in command  # which would fetch what builds, unchecked
        assert "--require-hashes" in command or "--no-deps" in command


def test_what_builds_comes_before_what_is_built(commands: list[list[str]]) -> None:
    install._install_python_packages()

    last = [Path(command[-1]).name for command in commands if "install" in command]
    assert last == ["build.txt", "packages.txt", ROOT.name]


def test_pip_is_asked_again_when_a_pin_changes(commands: list[list[str]], tmp_path: Path) -> None:
    install._install_python_packages()
    commands.clear()
    install._install_python_packages()
    assert commands == []

    (tmp_path / "packages.txt").write_text("rich==15.0.1\n")
    install._install_python_packages()

    assert len([command for command in commands if "install" in command]) == 3


def test_a_file_that_pip_cannot_install_leaves_no_stamp(
    commands: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        failed = str(tmp_path / "packages.txt") in command
        return subprocess.CompletedProcess(command, int(failed), stdout="no such hash")

    monkeypatch.setattr(install, "_run", refuse)

    with pytest.raises(install.SetUpError, match="no such hash"):
        install._install_python_packages()
    assert not install.STAMP.exists()
