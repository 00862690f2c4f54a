"""The command that installs a package is one that this environment has."""

from __future__ import annotations

import sys

import pytest

from harness.host import python_packages
from harness.host.python_packages import install_command


def test_pip_of_this_very_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/a b/python")

    assert "'/a b/python' -m pip install 'docker~=7.1'" == install_command("docker~=7.1")


def test_where_there_is_no_pip_uv_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/a b/python")
    monkeypatch.setattr(python_packages, "find_spec", lambda _: None)

    told = "uv pip install --python '/a b/python' 'docker~=7.1'"
    assert told == install_command("docker~=7.1")
