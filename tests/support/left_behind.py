"""What a run left behind: who finds something raises LeftBehind, and CI tries that never again."""

from __future__ import annotations

from collections.abc import Iterable


class LeftBehind(AssertionError):
    """A process, rule, link, mount, container, pod or file that a run should have taken away."""


def assert_nothing_left(found: Iterable[object]) -> None:
    """Raises LeftBehind, a line for each that was found."""
    if lines := [str(each) for each in found]:
        raise LeftBehind("\n".join(lines))
