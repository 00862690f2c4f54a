"""What the tables' texts say."""

from __future__ import annotations

import pytest

from harness.history.tables import partitions_named


@pytest.mark.parametrize(
    ("text", "partitions"),
    [("0, 2", [0, 2]), ("12", [12]), ("", []), (None, []), ("9" * 5000 + ", 1", [1])],
)
def test_an_assignment_names_its_partitions(text: str | None, partitions: list[int]) -> None:
    """A number that no partition can have, of whoever wrote it, is none."""
    assert partitions_named(text) == partitions
