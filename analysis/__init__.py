"""The checkers: a Spark job over stored runs. It never talks to Kafka.

    import analysis
    runs = analysis.open("results/study-1/latest")

docs/queries.md says what they can be asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.ask.asked import Asked


def open(*runs: str | Path, master: str | None = None) -> Asked:  # noqa: A001  as a user says it
    """Stored runs for SQL, Spark and pandas: folders of runs, or folders that runs are below.

    Raises analysis.ask.stored_tables.AskError, one sentence.
    """
    from pathlib import Path  # noqa: PLC0415  whoever imports a part of the room need not wait

    from analysis.ask.asked import Asked  # noqa: PLC0415  Spark is slow to import

    return Asked([Path(run) for run in runs], master=master)
