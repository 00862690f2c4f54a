"""A page tells of the runs that its tables are not made of, and mixes none that do not belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.studies.beside import beside, require_one_configuration
from harness.model.runs.ledger import ENDED, STARTED, SUPERSEDED, LedgerError, Lines


def line(event: str, seed: int, cell: str = "c", **more: Any) -> Any:
    return {"event": event, "cell": cell, "seed": seed, "started_utc": f"at {seed}", **more}


def test_each_run_beside_the_tables_is_counted_once() -> None:
    told = Lines(
        all=[
            line(ENDED, 1, verdict="valid"),
            line(ENDED, 2, verdict="unknown", exit=2),
            line(ENDED, 3, exit=255),
            line(ENDED, 4, verdict="unknown"),
            line(ENDED, 5, verdict="valid"),
            line(STARTED, 6),
            line(ENDED, 7, exit=255, began=False),
            *(line(SUPERSEDED, seed, reason="another topic") for seed in (4, 5)),
            line(ENDED, 1, cell="quiet", verdict="valid"),
        ]
    )

    [row] = beside(told)
    assert row == {
        "cell": "c",
        "backend": "local",
        "counted": "3",
        "superseded": "1 unknown, 1 valid",
        "unknown": "1",
        "failed": "1",
        "interrupted": "1",
        "without_cluster": "1",
        "reasons": "another topic",
    }


def test_a_cell_whose_runs_put_two_things_to_the_test_makes_no_page() -> None:
    one, other = line(ENDED, 1, configuration="aa"), line(ENDED, 2, configuration="bb")
    away = line(SUPERSEDED, 1, reason="the topic changed")
    require_one_configuration(Path("l"), Lines(all=[one, line(ENDED, 3), line(ENDED, 4, cell="d")]))
    require_one_configuration(Path("l"), Lines(all=[one, other, away]))

    with pytest.raises(LedgerError, match=r"the runs of c that count .* aa and bb"):
        require_one_configuration(Path("l"), Lines(all=[one, other]))
