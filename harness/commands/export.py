"""kafka-harness export: a run's history on stdout, a line each, in one of two formats.

    jsonl     everything that was recorded, for people (harness.history.export)
    jepsen    what Jepsen's Kafka workload would have recorded (harness.history.jepsen)

Lines go out as they are made. What a format leaves out is counted on stderr. A reader that has seen
enough (`| head`) ends it quietly.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

from harness.host.unforeseen import details_go_to
from harness.model.printable import printable
from harness.model.runs.run_folder import RunFolder, errors_told

Format = Literal["jsonl", "jepsen"]
TELL_EVERY: Final = 1_000_000  # lines


def export_run(run: RunFolder, form: Format) -> None:
    """Print a run's history. Raises HistoryError and StoreError."""
    left_out: Counter[str] = Counter()
    try:
        with errors_told(run.path), details_go_to(run.path):
            _print(run, form, left_out)
    except BrokenPipeError:
        # Nobody reads: what is still buffered must not fail once more at the interpreter's end
        # (Python's documentation, signal: Note on SIGPIPE).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    if left_out:
        counts = ", ".join(f"{many:,} {what}" for what, many in sorted(left_out.items()))
        sys.stderr.write(f"{printable(str(run.path))}: left out: {counts}\n")


def _print(run: RunFolder, form: Format, left_out: Counter[str]) -> None:
    for number, line in enumerate(_lines(run, form, left_out), 1):
        sys.stdout.write(line + "\n")
        if number % TELL_EVERY == 0:
            sys.stderr.write(f"{number:,} lines\n")
    sys.stdout.flush()


def _lines(run: RunFolder, form: Format, left_out: Counter[str]) -> Iterator[str]:
    if form == "jepsen":
        from harness.history import jepsen  # noqa: PLC0415  needs pyarrow: most commands do not

        return jepsen.export(run.path, left_out)
    from harness.history import export  # noqa: PLC0415  the same

    return map(json.dumps, export.export(run.path))
