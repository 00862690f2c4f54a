"""What a run ended with, as an annotation of a GitHub job: violation, proof or infrastructure.

    ::error title=violation::study-4, seed 7: invalid: what its configuration forbids was seen …

Printed where GITHUB_ACTIONS is `true`; a job's log shows such a line as an annotation
(docs.github.com, "Workflow commands"). A run that is valid has none.
"""

from __future__ import annotations

import os

from rich.console import Console

from harness.commands.closing_table import plain
from harness.model.exit_codes import FAILED, INVALID, UNKNOWN

TITLES = {
    INVALID: ("violation", "invalid: what its configuration forbids was seen, or a demand not met"),
    UNKNOWN: ("nothing was proved", "unknown: its report says what is missing"),
    FAILED: ("infrastructure", "the cluster or the harness failed: run it again"),
}


def annotate(code: int, scenario: str, seed: int, console: Console) -> None:
    """Print it, where somebody reads it."""
    if os.environ.get("GITHUB_ACTIONS") == "true" and code in TITLES:
        title, words = TITLES[code]
        console.print(plain(f"::error title={title}::{_escaped(scenario)}, seed {seed}: {words}"))


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
