"""Jepsen's own checker about one of our runs, beside ours.

    make second-judge RUN=study-1 JEPSEN=~/jepsen

The run's history is exported, judge.clj reads it inside the checkout of Jepsen by Leiningen (no
plug-in, nothing installed), and both judges' findings are printed value by value. What lein says
goes to stderr.

Exit codes: 0 they agree but where they define things otherwise, 1 they differ, 254 bad arguments,
255 Leiningen or Jepsen failed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from harness.checkout import ROOT
from harness.history import jepsen
from harness.history.sealing import HistoryError
from harness.model import exit_codes
from harness.model.runs.run_folder import StoreError, find_run
from scripts.second_judge import comparison, findings
from scripts.second_judge.findings import Jepsens, JudgeError

JUDGE: Final = ROOT / "scripts" / "second_judge" / "judge.clj"
CHECKER: Final = Path("src/jepsen/tests/kafka.clj")  # in the project


class ArgumentError(Exception):
    """What was given cannot be used: one sentence with the remedy."""


def main(arguments: Sequence[str]) -> int:
    """Ask both judges and print what they say; the exit code."""
    try:
        run, project, lein = _given(arguments)
        ends = _ends(run)
        ours = findings.ours(run)
        theirs = _ask(lein, project, run)
        values = comparison.disputed(ours, theirs.found)
        facts = comparison.facts(run, ends, values)
    except (ArgumentError, StoreError, HistoryError) as error:
        return _failed(error, exit_codes.BAD_ARGUMENTS)
    except JudgeError as error:
        return _failed(error, exit_codes.FAILED)
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED[0]
    found = comparison.differences(ours, theirs.found, facts)
    for line in comparison.told(ours, theirs.found, theirs.others, found):
        sys.stdout.write(line + "\n")
    return int(any(each.reason is None for each in found))


def _given(arguments: Sequence[str]) -> tuple[Path, Path, str]:
    """The run, Jepsen's project and lein. Raises ArgumentError and StoreError."""
    if len(arguments) != 2 or not all(arguments):
        raise ArgumentError("give both: make second-judge RUN=RUN JEPSEN=CHECKOUT")
    run = find_run(arguments[0], Path("results")).path
    checkout = Path(arguments[1]).resolve()
    project = next((p for p in (checkout / "jepsen", checkout) if (p / CHECKER).is_file()), None)
    if project is None:
        raise ArgumentError(
            f"{checkout}: no checkout of Jepsen with a Kafka workload: it has no jepsen/{CHECKER}"
        )
    lein = shutil.which("lein")
    if lein is None:
        raise ArgumentError("lein is not on the PATH: install Leiningen, which Jepsen is run by")
    return run, project, lein


def _ends(run: Path) -> list[dict[str, Any]]:
    """How far the final read of each partition got. Raises ArgumentError."""
    file = run / "report.json"
    try:
        ends: list[dict[str, Any]] = json.loads(file.read_text())["final_read"]["partitions"]
    except FileNotFoundError:
        raise ArgumentError(f"{run}: not checked yet: {findings.to_check(run)}") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise ArgumentError(f"{file}: no report of ours: {findings.to_check(run)}") from None
    return ends


def _ask(lein: str, project: Path, run: Path) -> Jepsens:
    """What Jepsen's checker finds in the run. Raises JudgeError."""
    with tempfile.TemporaryDirectory(prefix="second-judge-") as folder:
        history, found = Path(folder, "history.edn"), Path(folder, "findings.jsonl")
        left_out: Counter[str] = Counter()
        lines = 0
        with history.open("w") as file:
            for line in jepsen.export(run, left_out):
                file.write(line + "\n")
                lines += 1
        _say(f"{lines:,} operations for Jepsen", left_out)
        command = [lein, "run", "-m", "clojure.main", str(JUDGE), str(history), str(found)]
        ended = subprocess.run(
            command, cwd=project, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
        )
        if ended.returncode:
            raise JudgeError(
                f"lein failed in {project} with exit code {ended.returncode}: what it said is above"
            )
        theirs = findings.jepsens(found)
    if theirs.operations != lines:
        raise JudgeError(f"Jepsen read {theirs.operations:,} of {lines:,} operations: ask it again")
    return theirs


def _say(what: str, left_out: Counter[str]) -> None:
    without = ", ".join(f"{many:,} {words}" for words, many in sorted(left_out.items()))
    sys.stderr.write(what + (f", without {without}" if without else "") + "\n")


def _failed(error: Exception, code: int) -> int:
    sys.stderr.write(f"second-judge: {error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
