"""Makes texts safe for a terminal: names and messages can come from anybody, so control characters
are shown, not obeyed."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text as one line, with invisible characters written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines, such as an error with the last lines of a log."""
    return "\n".join(printable(line) for line in text.expandtabs().split("\n"))
