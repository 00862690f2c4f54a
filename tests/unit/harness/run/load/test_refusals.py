"""A set-up in which no send can ever be taken ends at once, with what to change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.nodes import ClusterError
from harness.run.load.start import REMEDIES, raise_if_refused
from workloads.client.errors import REFUSALS


def producers(*pages: tuple[int, int]) -> Any:
    """By (acked, refusal)."""
    return cast(
        "Any",
        [
            SimpleNamespace(progress=SimpleNamespace(acked=acked, refusal=refusal))
            for acked, refusal in pages
        ],
    )


def test_all_refused_is_an_error_with_its_key() -> None:
    with pytest.raises(ClusterError, match=r"refused with INVALID_RECORD: .* set workload.keys"):
        raise_if_refused(producers((0, 87), (0, 87)))


@pytest.mark.parametrize("pages", [(), ((0, 0),), ((1, 87),), ((0, 87), (0, 0))])
def test_anything_else_is_waited_for(pages: tuple[tuple[int, int], ...]) -> None:
    """Nobody sends, no send has ended, one was taken, or one of two producers waits."""
    raise_if_refused(producers(*pages))


def test_each_refusal_has_a_remedy() -> None:
    for code in REFUSALS:
        with pytest.raises(ClusterError) as refused:
            raise_if_refused(producers((0, code)))
        assert any(remedy in str(refused.value) for remedy in REMEDIES.values())
