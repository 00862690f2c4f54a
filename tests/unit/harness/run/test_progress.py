"""What a run and the command say: whatever is in it, the terminal shows it and obeys nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness import cli
from harness.run.progress import Screen

STEERING = "\x1b]0;owned\x07\x1b[2J\r\u202e\ud800"


def said(how: str, text: str) -> str:
    out = io.StringIO()
    screen = Screen(Console(file=out, force_terminal=False, highlight=False, soft_wrap=True))
    getattr(screen, how)(text)
    return out.getvalue()


@pytest.mark.parametrize("how", ["say", "error"])
def test_what_would_steer_the_terminal_is_shown(how: str) -> None:
    shown = said(how, f"history/{STEERING}.seg: not a segment")

    assert r"history/\x1b]0;owned\x07\x1b[2J\r\u202e\ud800.seg: not a segment" in shown
    assert not any(word in shown for word in ("\x1b]", "\x1b[2J", "\r", "\x07"))


@pytest.mark.parametrize("how", ["say", "error"])
def test_lines_umlauts_and_marks_stay_what_they_are(how: str) -> None:
    """The twin: an error may have the last lines of a log below it."""
    text = "kafka1 is gone; its log:\n  [red]für"

    assert text in said(how, text)


def test_the_command_s_own_errors_are_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    cli._say_error("sealed.json: of run \x1b[2J")

    assert capsys.readouterr().err == "kafka-harness: sealed.json: of run \\x1b[2J\n"
