"""Calibrates a campaign: known losses must show, and a clean run must be clean.

Before the campaign's runs, on each backend:

    study-1-sure             must lose acknowledged records, as acks=1 allows: valid
    the same as acks=all     its history, judged as if its producer had asked for acks=all, must be
                             invalid: a forbidden loss is convicted
    baseline                 must be valid, with no anomaly at all

If one of them fails, all later verdicts of the campaign are unknown: a broker that loses nothing
and a harness that sees nothing look the same.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from harness.commands.carry_out import carry_out_run, prepare_run
from harness.commands.check_runs import check_runs
from harness.model.exit_codes import FAILED, INTERRUPTED, INVALID, VALID
from harness.model.runs.report import read_report
from harness.model.runs.run_folder import RunFolder
from harness.run.progress import Screen
from harness.scenario.prepare import Request

LOSES, CLEAN = "study-1-sure", "baseline"


class Interrupted(Exception):
    """A signal interrupted the calibration; `code` is the command's exit code."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


@dataclass(slots=True, kw_only=True)
class Calibration:
    """The ids of its `runs`, and `why` it failed; None: it did not."""

    why: str | None = None
    runs: list[str] = field(default_factory=list)


def calibrate(request: Request, results: Path, *, tries: int, console: Console) -> Calibration:
    """Calibrate on the backend of a request, with its seed and settings; a run that ends with 255
    is made `tries` times at most. Raises Interrupted."""
    Screen(console).say(
        f"calibration on {request.backend}: known losses must show, a clean run be clean"
    )
    calibration = Calibration()

    def run(scenario: str) -> tuple[int, RunFolder]:
        prepared = prepare_run(replace(request, scenario=scenario))
        for _ in range(tries):
            code, folder = carry_out_run(prepared, results, check=True, console=console)
            if code in INTERRUPTED:
                raise Interrupted(code)
            calibration.runs.append(folder.run_id)
            if code != FAILED or any(_anomaly_counts(folder).values()):
                break
        return code, folder

    calibration.why = _doubt(run, console)
    return calibration


def _doubt(run: Callable[[str], tuple[int, RunFolder]], console: Console) -> str | None:
    """Why the calibration failed; None: it did not."""
    code, folder = run(LOSES)
    if code != VALID or not _anomaly_counts(folder).get("lost"):
        return f"{LOSES} did not lose what it must (exit code {code}): {folder.path}"
    with _judged_as_acks_all(folder) as other:
        if check_runs([other], master=None, console=console) != INVALID:
            return f"{LOSES}, judged as acks=all, is not invalid: {folder.path}"
    code, folder = run(CLEAN)
    seen = [name for name, count in _anomaly_counts(folder).items() if count]
    if code != VALID or seen:
        trouble = f"has {', '.join(seen)}" if seen else f"is not valid (exit code {code})"
        return f"{CLEAN} {trouble}: {folder.path}"
    return None


def _anomaly_counts(folder: RunFolder) -> dict[str, int]:
    """How often each anomaly was seen; nothing without a report."""
    file = folder.path / "report.json"
    if not file.is_file():
        return {}
    return {name: finding.count for name, finding in read_report(file).anomalies.items()}


@contextmanager
def _judged_as_acks_all(folder: RunFolder) -> Iterator[RunFolder]:
    """A temporary copy of a run, with acks=all as its producer's setting."""
    with tempfile.TemporaryDirectory(prefix="calibration-") as place:
        copy = RunFolder(path=Path(place) / LOSES / folder.path.name)
        shutil.copytree(folder.path, copy.path)
        scenario = copy.read().scenario
        producer = {**scenario.workload.producer, "acks": "all"}
        workload = scenario.workload.model_copy(update={"producer": producer})
        copy.update(scenario=scenario.model_copy(update={"workload": workload}))
        yield copy
