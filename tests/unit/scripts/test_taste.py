"""What `make lint` says of taste: a finding ends it with 1, a size does not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts import taste


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page, and a module that is too long, as is its function."""
    code = "def f() -> None:\n" + taste.FILE_LINES * "    g()\n"
    (tmp_path / "page.md").write_text("One.\nTwo.\n")
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "long.py").write_text(code)
    monkeypatch.setattr(taste, "ROOT", tmp_path)
    monkeypatch.setattr(taste, "python_files", lambda: ("harness/long.py",))
    monkeypatch.setattr(taste, "nodes", lambda _: ast.walk(ast.parse(code)))
    return tmp_path


@pytest.mark.usefixtures("checkout")
def test_sizes_are_told_and_end_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == taste.main()
    assert capsys.readouterr().out.splitlines() == [
        "size: harness/long.py has 401 lines (400)",
        "size: harness/long.py:1: f has 401 lines (60)",
    ]


def test_a_finding_is_a_line_and_ends_it(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "page.md").write_text("One.\nTwo. And three.\n")

    assert 1 == taste.main()
    assert "page.md:2: more than one sentence" == capsys.readouterr().out.splitlines()[-1]


def test_two_sentences_are_seen_and_a_list_s_marker_is_none() -> None:
    text = "It is. It was.\n1. One.\n- Two `a. B`. Three.\n| A. B |\n"

    assert [1, 3] == taste.with_several(text)


def test_a_name_that_says_nothing_is_seen_in_any_part() -> None:
    files = ["harness/utils.py", "harness/base/wait.py", "harness/waiting.py"]

    assert files[:2] == taste.nameless(files)
