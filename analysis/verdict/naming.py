"""What faults, workers and demands are called in the reasons of a verdict, and on pages: it imports
no Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.model.worker_kinds import KINDS

_SIGNS = {  # the longer ones first
    ">=": "at least ",
    "<=": "at most ",
    "==": "",
    ">": "more than ",
    "<": "less than ",
    "=": "",
}
_PROCESS = re.compile(r"(?P<kind>.*?)-\d+(?:-\d+)*")


def called(fault: Mapping[str, Any]) -> str:
    """`fault 0 (pause leader)`: of a planned step or a row of the faults."""
    return f"fault {fault['step']} ({fault['verb']} {fault['target']})"


def kind_of(process: str) -> str | None:
    """The kind of the worker of that name; None: none of the load's."""
    found = _PROCESS.fullmatch(process)
    return found["kind"] if found and found["kind"] in KINDS else None


def amount_words(demand: str) -> str:
    """`at least 1` of `>= 1`, `at most 2`, `0`, `1.5 to 4`."""
    text = demand.strip()
    sign = next((sign for sign in _SIGNS if text.startswith(sign)), "")
    return f"{_SIGNS.get(sign, '')}{text.removeprefix(sign).strip()}"
