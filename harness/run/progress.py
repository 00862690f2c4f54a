"""Prints a run's progress: plain lines, and on a terminal one live line below them.

The live line shows sends, acks, reads, errors and the time since the last ack; where stdout is no
terminal, a plain line says the same every five seconds. Control characters are shown, not obeyed,
because names and errors can come from anybody.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.text import Text

from harness.model.printable import printable_lines

PLAIN_EVERY_S = 5.0
GAP_WORTH_SHOWING_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The load at one moment."""

    elapsed_s: float
    sends: int
    acks: int
    reads: int
    errors: int
    gap_s: float | None  # since the last ack; None before the first and after the load
    in_force: tuple[str, ...]

    def text(self) -> str:
        """One line for people."""
        line = (
            f"{self.elapsed_s:6.1f} s   sends {self.sends:,}  acks {self.acks:,}  "
            f"reads {self.reads:,}  errors {self.errors:,}"
        )
        if self.gap_s is not None:
            line += f"  last ack {self.gap_s:.1f} s ago"
        return line + "".join(f"  [{fault}]" for fault in self.in_force)


class Screen:
    """Prints lines behind the run's clock; shows the live line inside `live()`."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._begin_s = time.monotonic()
        self._live: Live | None = None
        self._plain_due_s = 0.0

    def say(self, line: str, style: str | None = None) -> None:
        """Print one line; safe from any thread."""
        since = time.monotonic() - self._begin_s
        self.console.print(Text(f"{since:7.1f} s  {printable_lines(line)}", style=style or ""))

    def error(self, sentence: str) -> None:
        """Print what went wrong, for the user to repair."""
        self.console.print(Text(f"kafka-harness: {printable_lines(sentence)}", style="bold red"))

    @contextmanager
    def live(self) -> Iterator[None]:
        """While inside, `show` redraws one line in place, where there is a terminal."""
        if not self.console.is_terminal:
            yield
            return
        with Live(console=self.console, refresh_per_second=8, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def show(self, status: Status) -> None:
        """Show the load as it is now."""
        if self._live is not None:
            stale = status.gap_s is not None and status.gap_s > GAP_WORTH_SHOWING_S
            self._live.update(Text(status.text(), style="bold red" if stale else "cyan"))
        elif status.elapsed_s >= self._plain_due_s:
            self._plain_due_s = status.elapsed_s + PLAIN_EVERY_S
            self.say(status.text())
