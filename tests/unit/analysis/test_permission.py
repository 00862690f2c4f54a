"""Permission of a stored run: what of its record the causes are found from."""

from __future__ import annotations

import pytest

from analysis.causes.kinds import AFTER_STRIKE
from analysis.verdict.permission import permission_of
from tests.support.histories import fault, final_read, sent
from tests.support.stored_runs import run_of


@pytest.mark.parametrize(("node", "struck"), [("kafka1", True), ("zk1", False)])
def test_only_a_broker_has_records_to_lose(node: str, struck: bool) -> None:
    """By the roles of the run's nodes."""
    run = run_of(
        sent(1, at=0), fault("lose-power", node, ms=50, nodes=[node]), final_read(1), watched=True
    )
    kinds = {cause.kind for cause in permission_of(run).causes}

    assert (AFTER_STRIKE in kinds) is struck
