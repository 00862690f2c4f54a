"""What the commands do around a run: its folder, its namespaces, the check and the closing table.

The run itself happens in a child (on the local backend inside private namespaces); this side owns
the run's folder, outlives whatever happens to the child, seals the history and has it checked.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import confluent_kafka
from rich.console import Console
from rich.table import Table

from harness.cluster.backends import BACKENDS, absent
from harness.cluster.ownership import Orphan
from harness.commands import campaign_file as campaigns
from harness.distribution import class_archives
from harness.distribution.kafka_home import find as find_home
from harness.history import sealing
from harness.host import machine
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.host.namespaces import living, run_beside, run_enclosed
from harness.model import run_folder
from harness.model.run_folder import RunFolder
from harness.model.scenario import ScenarioError
from harness.nemesis import undo_record
from harness.nemesis.faults.command import COMMAND, heal_left
from harness.run.screen import Screen
from harness.scenario.prepare import Prepared, Request, prepare

VALID, INVALID, UNKNOWN, FAILED = 0, 1, 2, 255
SEVERITY = (VALID, UNKNOWN, FAILED, INVALID)  # later beats earlier
INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs: interrupted, else 1 beats 255 beats 2 beats 0."""
    given = list(codes)
    stopped = [code for code in given if code in INTERRUPTED]
    return stopped[0] if stopped else max(given, key=SEVERITY.index, default=UNKNOWN)


def prepared(request: Request) -> Prepared:
    """A request resolved, its demands understood: they are the checker's words."""
    from analysis.verdict.expectations import ExpectationError, parse  # noqa: PLC0415

    resolved = prepare(request)
    try:
        parse(resolved.scenario.expect)
    except ExpectationError as error:
        raise ScenarioError(f"{request.scenario}: {error}") from None
    return resolved


def run(
    prepared: Prepared, results: Path, *, check: bool, console: Console
) -> tuple[int, RunFolder]:
    """Carry out one prepared run and, unless told otherwise, check it: exit code and folder."""
    record = prepared.record
    screen = Screen(console)
    screen.say(f"seed {record['seed']}", style="bold")
    folder = run_folder.create(results, record["scenario"]["name"], record["seed"])
    folder.write({**record, **_at_start(folder)})
    screen.say(f"{record['scenario']['title']}: {_shown(folder.path)}")
    for note in prepared.notes:
        screen.say(f"note: {note}", style="yellow")
    for step in prepared.steps:
        screen.say(f"plan: step {step.step} {step.describe()}")
    backend = BACKENDS[record["backend"]]
    if backend.enclosed:
        _make_archives(record["kafka_home"], screen)
    inner = [sys.executable, "-m", "harness.run", str(folder.path)]
    code = run_enclosed(inner) if backend.enclosed else run_beside(inner)
    code = _ended(folder, code)
    if code in INTERRUPTED or not check or not _has_history(folder):
        with contextlib.suppress(sealing.HistoryError):
            sealing.seal(folder.path)
        screen.say(
            f"kept in {_shown(folder.path)}; `kafka-harness check {_shown(folder.path)}` checks it"
        )
        return code, folder
    return worst([code, check_runs([folder], master=None, console=console)]), folder


def check_runs(folders: Sequence[RunFolder], *, master: str | None, console: Console) -> int:
    """Seal and check stored runs in one Spark job, show each report, return the exit code."""
    from analysis import job  # noqa: PLC0415  Spark is slow to import, and only needed here

    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = str(find_java().path.resolve().parents[1])
    for folder in folders:
        folder.read()
        sealing.seal(folder.path)
    with console.status("checking the history with Spark"):
        try:
            reports = job.check([folder.path for folder in folders], master=master)
        except job.CheckError as error:
            raise run_folder.StoreError(str(error)) from None
    codes = []
    for folder, report in zip(folders, reports, strict=True):
        show_report(report, folder, console)
        codes.append(int(report["exit_code"]))
    return worst(codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """What of a campaign to do now: on which of its backends (none: all), and where they are."""

    resume: bool
    backends: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def campaign(file: Path, results: Path, sitting: Sitting, *, console: Console) -> int:
    """Make a campaign's missing runs. Returns the worst exit code of those made now."""
    plan = campaigns.load(file)
    data = file.parent / plan.data
    done = campaigns.finished(data)
    todo = campaigns.missing(plan, done, sitting.backends, campaigns.places(sitting.settings))
    if done and not sitting.resume:
        raise ScenarioError(
            f"{data} has {len(done)} finished runs: go on with --resume, or move it away"
        )
    screen = Screen(console)
    screen.say(f"{plan.title}: {len(done)} runs finished, {len(todo)} to make")
    runs = [prepared(request) for _, request in todo]  # refuse all before any starts
    for name in dict.fromkeys(request.backend for _, request in todo):
        if why := absent(name, sitting.settings):
            raise ScenarioError(f"--backends: {name} is not to be had here: {why}")
    if not todo:
        return VALID
    from analysis.spark.session import session  # noqa: PLC0415

    codes = []
    with session():  # one Spark for all checks of the campaign
        for number, ((cell, request), each) in enumerate(zip(todo, runs, strict=True), 1):
            where = f"{cell.key}, {request.backend}"
            screen.say(f"run {number} of {len(todo)}: {where}", style="bold")
            stored = campaigns.unchecked(each.record, results)
            if stored is not None:
                code, folder = check_runs([stored], master=None, console=console), stored
            else:
                code, folder = run(each, results, check=True, console=console)
            if code in INTERRUPTED:
                return code
            if campaigns.began(folder.read()):
                campaigns.append(data, campaigns.summary(cell, code, _report(folder), request))
            codes.append(code)
    return worst(codes)


def heal(folder: RunFolder, console: Console, *, down: bool) -> int:
    """Undo what a run left in force because its harness was killed. Raises StoreError, and
    ClusterError where its cluster cannot be reached."""
    record = folder.read()
    if pids := living(folder.path):
        raise run_folder.StoreError(
            f"{_shown(folder.path)}: the run is still going on (process {pids[0]}); end it with "
            "Ctrl-C or TERM, and it heals its faults itself"
        )
    left = undo_record.outstanding(folder.path)
    for fault in left:
        console.print(
            f"fault {fault['fault']}: {fault['verb']} {', '.join(fault['nodes'])}, not "
            f"known to be undone ({fault['undo']})"
        )
    if not BACKENDS[record["backend"]].enclosed:
        for fault in filter(lambda fault: fault["verb"] == COMMAND.name, left):
            for line in heal_left(fault, record["nodes"]):
                console.print(line)
    orphan = Orphan(record=record, name=None, down=down)
    code = heal_cluster(record["backend"], orphan, console)
    written = undo_record.Undo(folder.path)
    for fault in left:
        written.undone(fault["fault"])
    return code


def heal_cluster(backend: str, orphan: Orphan, console: Console) -> int:
    """The same by what is left in the cluster itself, wherever its run was."""
    if backend not in BACKENDS:
        raise ScenarioError(f"--backend {backend}: unknown; there is {', '.join(BACKENDS)}")
    for line in BACKENDS[backend].heal(orphan):
        console.print(line)
    return VALID


def up(prepared: Prepared, command: Sequence[str]) -> int:
    """The scenario's cluster in the foreground until its shell or command, TERM or INT ends it."""
    argv = [sys.executable, "-m", "harness.commands.up", json.dumps(prepared.record), *command]
    return run_enclosed(argv, own_session=False)


# What the user reads at the end

STYLE = {"valid": "bold green", "invalid": "bold red", "unknown": "bold yellow"}


def show_report(report: dict[str, Any], folder: RunFolder, console: Console) -> None:
    """The closing table: anomalies, demands, windows, the page, the command to run it again."""
    verdict = report["verdict"]
    console.print()
    console.print(f"{verdict.upper()}: {report['sentence']}", style=STYLE[verdict])
    for reason in report["reasons"]:
        console.print(f"  because {reason}")
    console.print(_anomaly_table(report))
    if report["windows"]:
        console.print(_window_table(report))
    console.print(f"report   {_shown(folder.path / 'report.html')}")
    console.print(f"again    {report['run']['command']}")


def _anomaly_table(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("anomaly", "seen", "forbidden", "demanded"):
        table.add_column(column, justify="right" if column == "seen" else "left")
    for name, found in report["anomalies"].items():
        demand = found["demanded"] or ""
        if demand:
            demand += {True: "  met", False: "  NOT met", None: "  unknown"}[found["demand_met"]]
        bad = found["convicts"] or found["demand_met"] is False
        table.add_row(
            name,
            f"{found['count']:,}",
            "yes" if found["forbidden"] else "no",
            demand,
            style="red" if bad else None,
        )
    return table


def _window_table(report: dict[str, Any], most: int = 12) -> Table:
    windows = report["windows"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("unavailable", "partition", "from s", "for s", "attempts", "fault"):
        table.add_column(column, justify="left" if column in ("unavailable", "fault") else "right")
    faults = {fault["fault"]: fault for fault in report["faults"]}
    for window in windows[:most]:
        hit = [faults[i] for i in window["faults"] if i in faults]
        names = ", ".join(f"{f['verb']} {'+'.join(f['nodes'])}" for f in hit)
        table.add_row(
            window["kind"],
            str(window["partition"]),
            f"{window['start_s']:.2f}",
            f"{window['length_s']:.2f}",
            f"{window['attempts']:,}",
            names,
        )
    if len(windows) > most:
        table.caption = f"and {len(windows) - most} more in the report"
    return table


# Parts


def _make_archives(kafka_home: str | None, screen: Screen) -> None:
    """Class archives for a Kafka that has none yet; without them nodes only start slower."""
    try:
        home = find_home(Path(kafka_home) if kafka_home else None)
        class_archives.ensure(home, find_java(), screen.say)
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
            "kafka_harness": version("kafka-harness"),
            "python": platform.python_version(),
            "confluent_kafka": confluent_kafka.__version__,
            "librdkafka": confluent_kafka.libversion()[0],
        },
        "host": {**machine.facts(), "cpu_starvation": None},  # told when the run ends in order
        "workers": [],
        "phases": [],
        "nodes": {},
    }


def _ended(folder: RunFolder, code: int) -> int:
    """Mark a run incomplete whose inner harness could not do so itself."""
    record = folder.read()
    if record["state"] != "running":
        return code
    why = f"the harness inside the run ended with exit code {code} before it could say why"
    folder.update(
        state="incomplete",
        ended_utc=datetime.now(UTC).isoformat(),
        failure={"phase": "unknown", "error": why},
    )
    return code if code in INTERRUPTED else FAILED


def _report(folder: RunFolder) -> dict[str, Any] | None:
    file = folder.path / "report.json"
    return json.loads(file.read_text()) if file.is_file() else None


def _has_history(folder: RunFolder) -> bool:
    return any(folder.history.glob("*.seg"))


def _shown(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)
