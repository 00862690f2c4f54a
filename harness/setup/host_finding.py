"""One finding on a host for each thing that a run may need, and its table for the user.

    ok            can be done
    missing       cannot be done, and what `needed_for` names will not work until it can
    unavailable   cannot be done here; only a fault or backend that asks for it is refused
    warning       works, but runs may be slow or may stop half-way

A remedy is a command wherever there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.table import Table
from rich.text import Text

Status = Literal["ok", "missing", "unavailable", "warning"]

LOCAL = "the local backend"
TESTS = "the tests"
FASTER = "faster starts"
FAULTS = "some faults"  # which ones, the verbs say (harness.commands.host.setup)
_STYLE: dict[Status, str] = {
    "ok": "green",
    "missing": "bold red",
    "unavailable": "dim",
    "warning": "yellow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFinding:
    """One thing that a run may need."""

    name: str
    status: Status
    detail: str  # what was found
    remedy: str = ""  # what to do about it, a command where there is one
    needed_for: str = LOCAL


def can_run(findings: Sequence[HostFinding]) -> bool:
    """Whether the local backend can run here."""
    return not any(f.status == "missing" and f.needed_for == LOCAL for f in findings)


def render(findings: Sequence[HostFinding], apart: str = "\n") -> Table:
    """The findings as a table; with purpose and remedy, separated by `apart`, only where something
    needs a fix."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for keep in (True, True, False):
        table.add_column(overflow="fold", no_wrap=keep)
    for finding in findings:
        text = Text(finding.detail)
        if finding.status != "ok":
            text.append(f"{apart}needed for {finding.needed_for}", style="dim")
            text.append(f"{apart}{finding.remedy}" if finding.remedy else "", style="bold")
        table.add_row(finding.name, Text(finding.status, style=_STYLE[finding.status]), text)
    return table
