"""What faults and workers are called in the reasons of a verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.model.worker_kinds import KINDS

_PROCESS = re.compile(r"(?P<kind>.*?)-\d+(?:-\d+)*")


def called(fault: Mapping[str, Any]) -> str:
    """`fault 0 (pause leader)`: of a planned step or a row of the faults."""
    return f"fault {fault['step']} ({fault['verb']} {fault['target']})"


def kind_of(process: str) -> str | None:
    """The kind of the worker of that name; None: none of the load's."""
    found = _PROCESS.fullmatch(process)
    return found["kind"] if found and found["kind"] in KINDS else None
