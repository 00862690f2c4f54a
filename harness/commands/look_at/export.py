"""kafka-harness export and history: prints a run's history as lines, in one of three formats.

    jsonl     everything that was recorded, for people (harness.history.export)
    jepsen    what Jepsen's Kafka workload would have recorded (harness.history.jepsen)
    lines     sends and reads as any program may write its own (harness.foreign.telling)

Each line is printed at once. What a format leaves out is counted on stderr. A reader that closes
the pipe (`| head`) ends it quietly.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from harness.commands.options import RESULTS, OneRun, Results
from harness.host.output import unread

if TYPE_CHECKING:
    from harness.model.runs.run_folder import RunFolder


Format = Literal["jsonl", "jepsen", "lines"]
TELL_EVERY: Final = 1_000_000  # lines


def export(
    run: OneRun,
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="jsonl: all that was recorded, for people. "
            "jepsen: EDN, as Jepsen's Kafka workload would have recorded it. "
            "lines: sends and reads, as `import` takes them.",
        ),
    ] = "jsonl",
    results: Results = RESULTS,
) -> None:
    """Print a run's history in order of time, a line an event.

    `kafka-harness docs history` and `docs lines` describe them.

    kafka-harness export --format jepsen study-1 > history.edn
    """
    from harness.host.unforeseen import details_go_to
    from harness.model.printable import printable
    from harness.model.runs.run_folder import find_run, store_errors

    folder = find_run(run, results)
    left_out: Counter[str] = Counter()
    with store_errors(folder.path), details_go_to(folder.path):
        _print(folder, form, left_out)
    if left_out:
        counts = ", ".join(f"{many:,} {what}" for what, many in sorted(left_out.items()))
        sys.stderr.write(f"{printable(str(folder.path))}: left out: {counts}\n")


def history(run: OneRun, results: Results = RESULTS) -> None:
    """Print a run's history as JSON lines: `export --format jsonl`.

    kafka-harness history study-1 | head
    """
    export(run, "jsonl", results)


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
