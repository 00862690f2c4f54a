"""The undo record: what must be undone is on disk before it is done.

    undo.jsonl in the run's folder:
        {"event": "begun", "fault": 3, "verb": "cut", "undo": "mend", "nodes": ["kafka1"], …}
        {"event": "undone", "fault": 3, …}

A fault that was begun and not undone may be in force still: `kafka-harness heal RUN` reads this
record where a backend's cluster outlives the harness. On the local backend the kernel has taken
everything with the namespaces, whatever the record says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.history.recorder import Lines

UNDO = "undo.jsonl"


class Undo:
    """Writes the record of one run; safe from any thread."""

    def __init__(self, folder: Path) -> None:
        self._lines = Lines(folder / UNDO)

    def begun(
        self, fault: int, verb: str, undo: str, nodes: list[str], options: dict[str, Any]
    ) -> None:
        """To be called before anything is done."""
        self._lines.write("begun", fault=fault, verb=verb, undo=undo, nodes=nodes, options=options)

    def undone(self, fault: int) -> None:
        """To be called once the healing is proved."""
        self._lines.write("undone", fault=fault)


def outstanding(folder: Path) -> list[dict[str, Any]]:
    """Faults of a run that were begun and not undone, newest first: the order to undo them in.

    A line that was cut off in the middle was being written when the harness died: nothing had been
    done yet.
    """
    file = folder / UNDO
    text = file.read_text() if file.is_file() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    undone = {line["fault"] for line in lines if line["event"] == "undone"}
    begun = [line for line in lines if line["event"] == "begun" and line["fault"] not in undone]
    return begun[::-1]
