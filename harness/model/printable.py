"""Texts for a terminal: names and messages may be anybody's, and what would steer the terminal is
shown instead of obeyed."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text as one line: what is no character to be seen is written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, such as an error with the last lines of a log."""
    return "\n".join(printable(line) for line in text.expandtabs().split("\n"))
