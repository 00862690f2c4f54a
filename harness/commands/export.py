"""kafka-harness export: a run's history on stdout, a line each, in one of three formats.

    jsonl     everything that was recorded, for people (harness.history.export)
    jepsen    what Jepsen's Kafka workload would have recorded (harness.history.jepsen)
    lines     sends and reads as any program may tell its own (harness.foreign.telling)

Lines go out as they are made. What a format leaves out is counted on stderr. A reader that has seen
enough (`| head`) ends it quietly.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

from harness.host.output import unread
from harness.host.unforeseen import details_go_to
from harness.model.printable import printable
from harness.model.runs.run_folder import RunFolder, errors_told

Format = Literal["jsonl", "jepsen", "lines"]
TELL_EVERY: Final = 1_000_000  # lines


def export_run(run: RunFolder, form: Format) -> None:
    """Print a run's history. Raises HistoryError and StoreError."""
    left_out: Counter[str] = Counter()
    with errors_told(run.path), details_go_to(run.path):
        _print(run, form, left_out)
    if left_out:
        counts = ", ".join(f"{many:,} {what}" for what, many in sorted(left_out.items()))
        sys.stderr.write(f"{printable(str(run.path))}: left out: {counts}\n")


def _print(run: RunFolder, form: Format, left_out: Counter[str]) -> None:
    for number, line in enumerate(_lines(run, form, left_out), 1):
        sys.stdout.write(line + "\n")
        if number % TELL_EVERY == 0:
            sys.stderr.write(f"{number:,} lines\n")
        if unread():
            left_out.clear()  # nobody has asked for the rest
            return
    sys.stdout.flush()


def _lines(run: RunFolder, form: Format, left_out: Counter[str]) -> Iterator[str]:
    if form == "jepsen":
        from harness.history import jepsen  # needs pyarrow: most commands do not

        return jepsen.export(run.path, left_out)
    if form == "lines":
        from harness.foreign import telling  # the same

        return telling.export(run.path, left_out)
    from harness.history import export  # the same

    return map(json.dumps, export.export(run.path))
