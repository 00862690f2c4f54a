"""`python -m harness.run FOLDER` carries out a prepared run.

It reads the decisions from the run's folder and writes there everything that happened. On the local
backend it runs inside the private namespaces.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness.host.output import outlive_readers
from harness.host.unforeseen import details_go_to, exit_code_of
from harness.model.exit_codes import FAILED
from harness.model.runs.disk import DiskError
from harness.model.runs.run_folder import RunFolder
from harness.run.interrupts import stop_on_signals
from harness.run.phases import carry_out
from harness.run.progress import Screen


def main() -> None:
    """Carry out the run and exit with its code."""
    outlive_readers()
    stop_on_signals()
    sys.exit(exit_code_of(_carry_out, failed=FAILED))


def _carry_out() -> int:
    folder = RunFolder(path=Path(sys.argv[1]))
    with details_go_to(folder.path):
        try:
            return carry_out(folder, Screen())
        except DiskError:  # the command outside meets and reports it too
            return FAILED


if __name__ == "__main__":
    main()
