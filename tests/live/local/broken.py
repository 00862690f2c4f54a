"""The command with faults that are broken on purpose: `python broken.py HOW run SCENARIO …`.

    idle     cut makes its rules and never hangs them up, pause sends no signal
    hasty    a killed node has 1.2 s to be back, and no JVM is as fast as that
    held     a fault's record is written, and it is never injected: whoever conducts it waits

It stands for both sides of a run: outside it is the command, and names itself instead of
harness.run to the namespaces; inside (`broken.py HOW FOLDER`) it is harness.run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import cli
from harness.commands import carry_out as run_command
from harness.host.namespaces import run_enclosed
from harness.nemesis.faults.network import iptables, shaping
from harness.nemesis.undo_record import Undo
from harness.nemesis.verbs import VERBS
from harness.run import __main__ as inside

SOON = 0.02  # of the usual patience: 1.2 s to take effect


def nothing(*_: Any) -> None:
    """Instead of what should be done."""


def idle() -> None:
    """Faults that look as if they were injected."""
    iptables.hang = nothing  # type: ignore[assignment]
    shaping.JUDGED_AFTER_S = 2.0
    VERBS["cut"] = replace(VERBS["cut"], patience=SOON)
    VERBS["pause"] = replace(VERBS["pause"], inject=nothing, patience=SOON)


def hasty() -> None:
    """A node that is given too little time."""
    VERBS["kill"] = replace(VERBS["kill"], patience=0.01)


def held() -> None:
    """A harness that stands between a fault's record and its injection until it is killed."""
    begun = Undo.begun

    def then_nothing(*told: Any) -> None:
        begun(*told)
        threading.Event().wait()

    Undo.begun = then_nothing  # type: ignore[assignment]


def enclosed_with(how: str) -> Any:
    """run_enclosed, but with this file instead of harness.run."""

    def run(argv: Sequence[str], **more: Any) -> int:
        return run_enclosed([sys.executable, __file__, how, argv[-1]], **more)

    return run


def main() -> None:
    how = sys.argv.pop(1)
    if Path(sys.argv[1]).is_dir():
        {"idle": idle, "hasty": hasty, "held": held}[how]()
        inside.main()
    run_command.run_enclosed = enclosed_with(how)  # type: ignore[attr-defined]
    cli.main()


if __name__ == "__main__":
    main()
