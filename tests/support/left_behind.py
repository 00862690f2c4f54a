"""What a test raises that finds something left behind: CI does not try such a test again."""

from __future__ import annotations


class LeftBehind(AssertionError):
    """A process, rule, link, mount, container, pod or file that its run should have taken away."""
