"""The undo record: each fault is on disk before it is injected, so that it can be undone.

    undo.jsonl in the run's folder:
        {"event": "begun", "fault": 3, "verb": "cut", "undo": "mend", "nodes": ["kafka1"], …}
        {"event": "undone", "fault": 3, …}

A fault that was begun and not undone may still be in force: `kafka-harness heal RUN` reads this
record where a backend's cluster outlives the harness. On the local backend every fault ends with
the namespaces.

A record may come from anywhere: any other line is refused, in one sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from harness.history.recorder import Lines
from harness.model.bounds import Name, Number
from harness.model.runs import json_text
from harness.model.runs.run_folder import StoreError
from harness.model.runs.run_record import problem_of

UNDO = "undo.jsonl"


class Undo:
    """Writes the record of one run; safe from any thread."""

    def __init__(self, folder: Path) -> None:
        self._lines = Lines(folder / UNDO)

    def begun(
        self, fault: int, verb: str, undo: str, nodes: list[str], options: dict[str, Any]
    ) -> None:
        """Record a fault. Call it before the injection."""
        self._lines.write("begun", fault=fault, verb=verb, undo=undo, nodes=nodes, options=options)

    def undone(self, fault: int) -> None:
        """Record that the fault is healed. Call it once that is proved."""
        self._lines.write("undone", fault=fault)


class Begun(BaseModel):
    """A fault that was about to be done."""

    event: Literal["begun"]
    fault: Number
    verb: Name
    undo: str
    nodes: list[Name]
    options: dict[str, Any]


class Undone(BaseModel):
    """A fault whose healing was proved."""

    event: Literal["undone"]
    fault: Number


LINE: TypeAdapter[Begun | Undone] = TypeAdapter(
    Annotated[Begun | Undone, Field(discriminator="event")]
)


def outstanding(folder: Path) -> list[dict[str, Any]]:
    """Faults of a run that were begun and not undone, newest first: the order to undo them in.

    A half line at the end was being written when the harness died: its fault was not injected yet.
    Raises StoreError.
    """
    file = folder / UNDO
    if not file.exists():
        return []
    try:
        text = json_text.read_bytes(file).decode()
    except OSError as error:
        raise StoreError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise StoreError(f"{file}: cannot be read: {error}") from None
    complete = [line for line in text.split("\n")[:-1] if line]
    lines = [_line(file, number, line) for number, line in enumerate(complete, 1)]
    undone = {line.fault for line in lines if isinstance(line, Undone)}
    begun = [line for line in lines if isinstance(line, Begun) and line.fault not in undone]
    return [line.model_dump() for line in begun[::-1]]


def _line(file: Path, number: int, text: str) -> Begun | Undone:
    try:
        return LINE.validate_python(json_text.loads(text))
    except ValidationError as error:
        reason = problem_of(error)
    except ValueError as error:
        reason = str(error)
    raise StoreError(f"{file}, line {number}: {reason}: restore the file")
