"""Whether CI may run failing test files once more.

A test on a real cluster can fail because the host had no CPU left for it. So a failing file is run
once more, whole, in a fresh process, if all of this holds:

- it is a live one: lint, rules, unit tests, the checker's and golden runs need no quiet host;
- at most two files failed, and what is wrong is in their tests alone;
- while the file ran, something waited for a CPU over 60 % of the time, the bound above which
  published gaps are not counted either: on a calm host a failure is a failure;
- it saw no forbidden anomaly and no traceback of ours, and it left nothing behind.

A defect that shows with chance p passes two tries with 1 - p²: a race of 10 % does so 99 times in
100. So what passes at its second try is printed as FLAKY, and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from analysis.studies.cells.shares import CALM_PERCENT
from scripts.test_parts.outcomes import Outcome, starved_percent
from scripts.test_parts.running import Ended

MOST_FILES = 2
TRACEBACK = "Traceback (most recent call last)"
# In what was said and not in a test's source, which pytest shows too. As harness.host.unforeseen.
OURS = re.compile(r"^E .*(Traceback \(most recent call last\)|: a defect of the harness)", re.M)
LEFT = ("LeftBehind", "failed on teardown")  # tests.support.left_behind, and what fixtures find
TEXTS = {".log", ".txt", ".err", ".out"}


def failing_files(parts: Iterable[Ended]) -> list[tuple[Ended, str]]:
    """The files that have a failure, each with its part, in the order in which they ran."""
    return [
        (ended, file)
        for ended in parts
        for file in dict.fromkeys(each.file for each in ended.outcomes if each.bad)
    ]


def refusal(failed: Sequence[Ended]) -> str | None:
    """Why nothing of these parts, which failed, is tried again; None: it may be."""
    return next(_reasons(failed), None)


def _reasons(failed: Sequence[Ended]) -> Iterator[str]:
    for ended in failed:
        if not ended.part.live:
            yield f"{ended.part.name} needs no quiet host"
        elif not ended.told:
            yield f"what is wrong with {ended.part.name} is not in its tests alone"
    files = failing_files(failed)
    if len(files) > MOST_FILES:
        yield f"{len(files)} files failed, and at most {MOST_FILES} may"
    for ended, file in files:
        of_file = [outcome for outcome in ended.outcomes if outcome.file == file]
        yield from (f"{file}: {why}" for why in _reasons_of(of_file, ended.runs))


def _reasons_of(of_file: Sequence[Outcome], runs: Path) -> Iterator[str]:
    percent = starved_percent(of_file)
    if percent is None:
        yield "how starved of CPU the host was is not known"
    elif percent <= CALM_PERCENT:
        yield f"the host was calm, something waited for a CPU {percent:.0f} % of the time"
    for each in of_file:
        if each.bad and any(mark in each.message for mark in LEFT):
            yield f"{each.name} found something left behind"
        if each.bad and OURS.search(each.details):
            yield f"{each.name} shows a traceback of ours"
    begun, ended = min(each.begun for each in of_file), max(each.ended for each in of_file)
    for file in sorted(runs.rglob("*")):
        if not file.is_symlink() and file.is_file() and begun <= file.stat().st_mtime <= ended:
            yield from (f"{file.relative_to(runs)} has {what}" for what in _shown(file))


def _shown(file: Path) -> Iterator[str]:
    """What a run's file shows that no busy host explains."""
    if file.name == "report.json":
        anomalies = json.loads(file.read_text()).get("anomalies", {})
        names = [name for name, found in anomalies.items() if found["judged"]["forbidden"]]
        if names:
            yield f"a forbidden anomaly: {', '.join(names)}"
    if file.suffix in TEXTS and TRACEBACK in file.read_text(errors="replace"):
        yield "a traceback of ours"
