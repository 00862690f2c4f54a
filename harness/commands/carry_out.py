"""Carries out runs: makes the folder and namespaces, runs the child, checks, prints the result.

The run itself happens in a child (on the local backend inside private namespaces); this process
owns the run's folder, survives the child, seals the history and has it checked.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import confluent_kafka
from rich.console import Console

from analysis.spark.ahead import Ahead, Rehearsal
from harness import release
from harness.cluster.backends import BACKENDS, absent
from harness.cluster.local.backend import home_of
from harness.cluster.nodes import ClusterError
from harness.commands.check_runs import check_runs, tell_spark_of_java
from harness.commands.closing_table import plain, show_how_many_valid, shown
from harness.commands.copy_to import Copies, copy_run
from harness.commands.host.fetch_kafka import fetch_kafka, make_ready
from harness.history import sealing
from harness.host import machine, system_packages
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.host.namespaces import run_beside, run_enclosed
from harness.host.unforeseen import details_go_to
from harness.model.client_settings import acks_of, of_one_generation
from harness.model.exit_codes import FAILED, INTERRUPTED, INVALID, UNKNOWN, worst
from harness.model.runs import run_folder
from harness.model.runs.disk import disk_errors
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import ScenarioError
from harness.model.sections.expect import Looks, unjudged
from harness.model.worker_kinds import KINDS, asked_for
from harness.run.progress import Screen
from harness.scenario.prepare import Prepared, Request, prepare

# How a run ended, as an annotation of a GitHub job: its title and words. A valid one has none.
TITLES = {
    INVALID: ("violation", "invalid: what its configuration forbids was seen, or a demand not met"),
    UNKNOWN: ("nothing was proved", "unknown: its report says what is missing"),
    FAILED: ("infrastructure", "the cluster or the harness failed: run it again"),
}


def prepare_run(request: Request) -> Prepared:
    """A request resolved, its demands understood: they are the checker's words."""
    from analysis.causes.run_facts.placement import placed_by_kafka
    from analysis.verdict.demands import DemandError, parse

    resolved = prepare(request)
    scenario = resolved.scenario
    try:
        demands = parse(scenario.expect)
    except DemandError as error:
        raise ScenarioError(f"{request.scenario}: {error}") from None
    work = scenario.workload
    kinds = [KINDS[name] for name in asked_for(work)]
    looks = Looks(
        tailing=any(kind.follows for kind in kinds),
        grouped=any(kind.member for kind in kinds),
        generations=of_one_generation(work.consumer),
        watched=scenario.check.watermarks,
        placed=placed_by_kafka(resolved.record.model_dump(mode="json")),
        programs=bool(scenario.programs),
        outputs=scenario.outputs is not None,
    )
    for name, why in unjudged(demands, acks_of(work.producer), looks):
        if not request.files or name in resolved.set_demands:
            raise ScenarioError(f"{request.scenario}: expect.{name}: {why}; remove this demand")
        resolved = resolved.without_demand(name, why)
    return resolved


def prepare_runs(requests: Sequence[Request], console: Console) -> list[Prepared]:
    """Prepare all runs, and fetch their Kafkas. If one is refused, none starts."""
    for request in requests:
        fetch_kafka(request, console)
    return [prepare_run(request) for request in requests]


def carry_out_runs(
    prepared: Sequence[Prepared],
    results: Path,
    *,
    check: bool,
    copies: Copies | None,
    console: Console,
) -> int:
    """Carry out prepared runs, one after the other until one is interrupted: the exit code."""
    ended = [
        (carried.code, carried.copied)
        for carried in each_carried_out(
            prepared, results, check=check, copies=copies, console=console
        )
    ]
    if check:
        show_how_many_valid([code for code, _ in ended], len(prepared), console)
    return worst([code for both in ended for code in both])


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A run that was carried out: its exit code, that of its copy, and its folder."""

    code: int
    copied: int
    folder: RunFolder


def each_carried_out(
    prepared: Sequence[Prepared],
    results: Path,
    *,
    check: bool,
    copies: Copies | None,
    console: Console,
) -> Iterator[Carried]:
    """Carry out prepared runs; yields each when it has ended."""
    for run in prepared:
        code, folder = carry_out_run(run, results, check=check, console=console)
        yield Carried(code=code, copied=copy_run(folder, copies, console), folder=folder)
        if code in INTERRUPTED:
            break


def carry_out_run(
    prepared: Prepared, results: Path, *, check: bool, console: Console
) -> tuple[int, RunFolder]:
    """Carry out one prepared run and, unless told otherwise, check it: exit code and folder.

    Raises ClusterError or HostError, before there is a folder, where its backend is not to be had.
    """
    record = prepared.record
    _check_host(record)
    screen = Screen(console)
    screen.say(f"seed {record.seed}", style="bold")
    folder = run_folder.create(results, record.scenario.name, record.seed)
    with details_go_to(folder.path), disk_errors(folder.path):
        code = _carried_out(prepared, folder, check=check, screen=screen)
    annotate(code, record.scenario.name, record.seed, console)
    return code, folder


def _check_host(record: RunRecord) -> None:
    """Refuse a run whose nodes this host cannot start."""
    if BACKENDS[record.backend].enclosed:
        system_packages.require(system_packages.PROGRAMS)
        home_of(record)
        find_java()
    context = record.scenario.backend.kubernetes.context
    if why := absent(record.backend, {"backend.kubernetes.context": context}):
        raise ClusterError(why)


def _carried_out(prepared: Prepared, folder: RunFolder, *, check: bool, screen: Screen) -> int:
    """The run's exit code."""
    record = prepared.record
    folder.write(record.changed(**_at_start(folder)))
    screen.say(f"{record.scenario.title}: {shown(folder.path)}")
    for note in prepared.notes:
        screen.say(f"note: {note}", style="yellow")
    for line in prepared.layers:
        screen.say(line)
    for step in prepared.steps:
        screen.say(f"plan: step {step.step} {step.describe()}")
    backend = BACKENDS[record.backend]
    if backend.enclosed:
        _make_ready(record, screen)
    inner = [sys.executable, "-P", "-m", "harness.run", str(folder.path)]
    start = run_enclosed if backend.enclosed else run_beside
    with _Checker(folder, wanted=check) as checker:
        code = _ended(folder, start(inner, meanwhile=checker.look))
        if code not in INTERRUPTED and check and _has_history(folder):
            return worst([code, checker.check(screen.console)])
    with contextlib.suppress(sealing.HistoryError):
        sealing.seal(folder.path)
    where = shown(folder.path)
    screen.say(f"stored in {where}; check it with `kafka-harness check {shlex.quote(where)}`")
    return code


class _Checker(contextlib.ExitStack):
    """Starts Spark once the run's load is over, beside healing and the final read; then checks."""

    def __init__(self, folder: RunFolder, *, wanted: bool) -> None:
        super().__init__()
        self._folder, self._waits = folder, wanted
        self._ahead: Ahead | None = None
        self._seen_ns = 0

    def look(self) -> None:
        """Start Spark if the load is over; called again and again while the run goes on."""
        if not self._waits:
            return
        if self._load_is_over():
            self._waits = False
            tell_spark_of_java()
            self._ahead = self.enter_context(Ahead(scratch=self._folder.path, rehearsal=_rehearsal))
            self._ahead.start()

    def _load_is_over(self) -> bool:
        changed_ns = self._folder.changed_ns()
        if changed_ns == self._seen_ns:
            return False
        self._seen_ns = changed_ns
        return any(phase.name == "load" for phase in self._folder.read().phases)

    def check(self, console: Console) -> int:
        """Check the run and show its report; the exit code."""
        return check_runs([self._folder], master=None, console=console, ahead=self._ahead)


def _rehearsal() -> Rehearsal:
    from analysis.job.train_archive import rehearse  # slow to import: in Spark's thread

    return rehearse


def _make_ready(record: RunRecord, screen: Screen) -> None:
    """Make what lets a Kafka's nodes start faster; without it they start too, or say why not."""
    try:
        make_ready(home_of(record), record.scenario.cluster, screen.say)
    except HostError as error:
        screen.say(str(error), style="yellow")


def _at_start(folder: RunFolder) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "run_id": folder.run_id,
        "started_utc": now.isoformat(),
        "ended_utc": None,
        "clock": {"monotonic_ns": time.monotonic_ns(), "utc": now.isoformat()},
        "versions": {
            "kafka_harness": release.version(),
            "kafka_harness_commit": release.commit(),
            "python": platform.python_version(),
            "confluent_kafka": confluent_kafka.__version__,
            "librdkafka": confluent_kafka.libversion()[0],
        },
        "host": {**machine.describe(), "cpu_starvation": None},  # known when the run ends in order
        "workers": [],
        "phases": [],
        "nodes": {},
    }


def _ended(folder: RunFolder, code: int) -> int:
    """Mark a run incomplete if its child could not do so."""
    record = folder.read()
    if record.state != "running":
        return code
    why = f"the run's process ended with exit code {code} and gave no reason"
    folder.update(
        state="incomplete",
        ended_utc=datetime.now(UTC).isoformat(),
        failure={"phase": "unknown", "error": why},
    )
    return code if code in INTERRUPTED else FAILED


def _has_history(folder: RunFolder) -> bool:
    return any(folder.history.glob("*.seg"))


def annotate(code: int, scenario: str, seed: int, console: Console) -> None:
    """Print how a run ended as GitHub shows it beside a job's log (docs.github.com, "Workflow
    commands"), where GITHUB_ACTIONS is `true`:

        ::error title=violation::study-4, seed 7: invalid: what its configuration forbids was …
    """
    if os.environ.get("GITHUB_ACTIONS") == "true" and code in TITLES:
        title, words = TITLES[code]
        console.print(plain(f"::error title={title}::{_escaped(scenario)}, seed {seed}: {words}"))


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
