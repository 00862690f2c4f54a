"""Set-up: Python packages are pinned, system packages only asked for where something needs them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.host import system_packages
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
    monkeypatch.setenv("KAFKA_HARNESS_CACHE", str(tmp_path / "cache"))
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


# --- system packages


def test_only_python_asks_for_nothing_of_the_system(
    commands: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(system_packages, "missing", lambda: ["iptables"])
    monkeypatch.setattr(install, "_apt_privilege", lambda: None)

    assert 0 == install.main(["--only-python"])
    assert {str(install.PYTHON)} == {command[0] for command in commands}
    assert 1 == install.main([])
    assert "set-up stopped: missing: iptables" in capsys.readouterr().err


def test_an_argument_that_set_up_does_not_know_is_told_with_those_it_knows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 1 == install.main(["--test"])
    assert "[--only-python | --tests]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("privilege", "had", "left"),
    [
        (None, [], "strace, browser, libfaketime"),  # apt may not be used
        ([], ["strace", "libfaketime"], "browser"),  # apt has no browser
    ],
)
def test_what_only_some_tests_need_stops_nothing(
    privilege: list[str] | None,
    had: list[str],
    left: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wanted = ["strace", "browser", "libfaketime"]
    installed: list[str] = []

    def apt(names: Sequence[str], _: Sequence[str]) -> None:
        if "browser" in names:
            raise install.SetUpError("apt-get could not install browser")
        installed.extend(names)

    monkeypatch.setattr(install, "apt_install", apt)
    monkeypatch.setattr(install, "_apt_privilege", lambda: privilege)
    monkeypatch.setattr(system_packages, "packages", lambda _, needs: needs)
    monkeypatch.setattr(
        system_packages, "missing_for_tests", lambda: [n for n in wanted if n not in installed]
    )

    install._install_for_tests()

    assert had == installed
    told = [line for line in capsys.readouterr().out.splitlines() if "skipped" in line]
    assert 1 == len(told)
    assert f"tests are skipped that need what is missing: {left} (install: " in told[0]
