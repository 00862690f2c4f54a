"""A GitHub job says whether a run violated, proved nothing, or could not be made."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.commands.carry_out import annotate


def said(code: int, scenario: str = "mine") -> str:
    output = io.StringIO()
    annotate(code, scenario, 7, Console(file=output, width=200))
    return output.getvalue()


@pytest.mark.parametrize(
    ("code", "title"),
    [(1, "violation"), (2, "nothing was proved"), (255, "infrastructure")],
)
def test_each_end_has_its_title(monkeypatch: pytest.MonkeyPatch, code: int, title: str) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    assert said(code).startswith(f"::error title={title}::mine, seed 7: ")


@pytest.mark.parametrize("code", [0, 130, 254])
def test_nothing_is_said_of_others(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    assert said(code) == ""


def test_nobody_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)

    assert said(1) == ""


def test_a_name_ends_no_annotation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    assert "a%0A::error::b%25" in said(1, "a\n::error::b%")
