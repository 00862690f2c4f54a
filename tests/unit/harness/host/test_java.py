"""The Java of a machine: 17 and 21 will do, the user's choice first, others refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.host import java
from harness.host.java import find_java
from harness.host.machine import HostError


def fake_java(folder: Path, version: str) -> Path:
    """A `java` that claims to be of some version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f"echo '    java.version = {version}' >&2\n"
        f"echo '    java.vm.version = {version}+7 Debian/1' >&2\n"
    )
    program.chmod(0o755)
    return program


def only_java(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let JAVA_HOME's be the only Java of this machine."""
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(java, "_java_programs", lambda: [home / "bin" / "java"])


@pytest.mark.parametrize("version", ["17.0.15", "21.0.7"])
def test_java_17_and_21_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    program = fake_java(tmp_path / "jdk", version)
    only_java(monkeypatch, tmp_path / "jdk")

    found = find_java()
    assert (program, version) == (found.path, found.version)
    assert "/" not in found.build  # it becomes part of a file's name


def test_another_java_is_refused_by_its_name_and_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_java(tmp_path / "jdk", "11.0.2")
    only_java(monkeypatch, tmp_path / "jdk")

    with pytest.raises(HostError, match=f"needs Java 17 or 21, but {program} is Java 11.0.2"):
        find_java()


def test_no_java_at_all_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_java_programs", list)

    with pytest.raises(HostError, match="no Java is installed: install one"):
        find_java()


def test_the_users_choice_of_java_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = fake_java(tmp_path / "chosen", "21.0.7")
    on_path = fake_java(tmp_path / "path", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "chosen"))
    monkeypatch.setenv("PATH", str(on_path.parent))

    assert chosen == find_java().path
