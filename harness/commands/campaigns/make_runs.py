"""kafka-harness campaign: makes a campaign's missing runs and writes their lines to the ledger.

The ledger is read once, at the start, and locked until the end. Before each run a line says what is
ahead, and after it a line what was found so far:

    run 12 of 320, about 2 h 40 min to go: failover-hard/acks=1, local
    so far: 3 of 12 lost records, 5 have duplicates, 1 invalid, 0 unknown
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from rich.console import Console

from harness.cluster.backends import absent
from harness.cluster.nodes import ClusterError
from harness.commands.campaigns import lines
from harness.commands.campaigns.calibration import Interrupted, calibrate
from harness.commands.campaigns.file import backend_settings, read_campaign
from harness.commands.campaigns.recordings import Recordings, require_room
from harness.commands.campaigns.todo import Todo, counting, missing, of_backend, unchecked
from harness.commands.carry_out import carry_out_run, prepare_run
from harness.commands.check_runs import check_runs
from harness.commands.closing_table import show_how_many_valid
from harness.config_files.settings import listed
from harness.model.bounds import utc_of
from harness.model.campaigns.campaign import Campaign, Cell
from harness.model.exit_codes import FAILED, INTERRUPTED, UNKNOWN, VALID, worst
from harness.model.runs.configuration import digest_of, settings_of
from harness.model.runs.ledger import (
    CALIBRATED,
    ENDED,
    STARTED,
    Ledger,
    Lines,
    has_digest,
    name_of,
    superseded,
    unreached_leaders,
)
from harness.model.runs.ledger_line import Line
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import Scenario, ScenarioError
from harness.release import commit
from harness.run.progress import Screen
from harness.scenario.expected_length import expected_s, in_words
from harness.scenario.prepare import Prepared, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """The part of a campaign to do now: its cells and backends (none: all), and the settings."""

    resume: bool
    backends: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()  # patterns of names
    settings: Mapping[str, Any] = field(default_factory=dict)
    calibrate: bool = True
    ledger: Path | None = None  # None: the campaign's own
    parallel: int = 1  # runs at a time
    dirty: bool = False  # a harness with uncommitted changes may write to a ledger in git


def make_runs(file: Path, results: Path, options: CampaignOptions, *, console: Console) -> int:
    """Make a campaign's missing runs. Returns the worst exit code of those made now."""
    plan = read_campaign(file)
    data = options.ledger or file.parent / plan.data
    if not options.dirty:
        require_clean(data)
    with Ledger.open(data) as ledger:
        done = ledger.read()
        todo = still_to_do(plan, done.standing, options)
        if done.all and not options.resume:
            raise ScenarioError(
                f"{data} has {len(done.standing)} finished runs: continue with --resume, or move "
                "the file away"
            )
        finished = len(counting(plan, done.standing))
        Screen(console).say(f"{plan.title}: {finished} runs finished, {len(todo)} to do")
        runs = prepared(todo)
        require_unchanged([*runs, *prepared(complete(plan, todo, options))], done.standing)
        require_backends(todo, options.settings)
        require_room(options.parallel)
        making = Making(
            plan=plan, ledger=ledger, written=[*done.all], results=results, console=console
        )
        if todo and options.calibrate:
            try:
                making.calibrate(dict.fromkeys(r.backend for _, r in todo), options.settings)
            except Interrupted as interrupted:
                return interrupted.code
        with ExitStack() as stack:
            recordings = None
            if options.parallel > 1:
                recordings = stack.enter_context(Recordings(options.parallel, results))
            making.make(runs, recordings)
    if making.codes:
        show_how_many_valid(making.codes, len(todo), console)
    return worst(making.codes) if making.codes else VALID


def require_clean(data: Path) -> None:
    """Raise ScenarioError where a harness with uncommitted changes would write to a ledger in git:
    such a run could not be repeated."""
    if not commit().endswith(" dirty"):
        return
    words = ["git", "-C", str(data.parent), "ls-files", "--error-unmatch", "--", data.name]
    try:
        kept = subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:  # no git
        return
    if kept:
        raise ScenarioError(
            f"{data} is kept in git, and this harness has changes that no commit has: commit them "
            "first, or let its lines say so by --dirty"
        )


def still_to_do(plan: Campaign, standing: Iterable[Line], options: CampaignOptions) -> list[Todo]:
    """The runs that the command is to make. Raises ScenarioError."""
    settings = backend_settings(options.settings)
    return missing(plan, standing, options.backends, settings, options.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A run to be made, and its recording where another process makes that."""

    cell: Cell
    request: Request
    prepared: Prepared
    recorded: Future[tuple[Line, int]] | None = None

    def is_of(self, line: Line) -> bool:
        """Whether a line is of this run, whenever it was made."""
        own = (self.cell.key, self.request.backend, self.request.seed)
        return name_of(line)[:3] == own


def prepared(todo: Sequence[Todo]) -> list[Attempt]:
    """Prepare all runs. Raises ScenarioError that names every impossible one."""
    attempts, wrong = [], dict[str, None]()  # the runs of a cell say the same
    for cell, request in todo:
        try:
            attempts.append(Attempt(cell=cell, request=request, prepared=prepare_run(request)))
        except ScenarioError as error:
            wrong[f"{cell.key}: {error}"] = None
    if wrong:
        raise ScenarioError(listed(wrong))
    return attempts


def complete(plan: Campaign, todo: Iterable[Todo], options: CampaignOptions) -> list[Todo]:
    """The first run of each cell and backend that has all of its runs."""
    open_ = {(cell.key, request.backend) for cell, request in todo}
    every = {(c.key, r.backend): (c, r) for c, r in reversed(still_to_do(plan, (), options))}
    return [todo for place, todo in every.items() if place not in open_]


def require_unchanged(runs: Iterable[Attempt], standing: Iterable[Line]) -> None:
    """Raise ScenarioError for a cell whose runs that count tested another configuration."""
    before = {
        (str(line["cell"]), line.get("backend", "local")): str(line["configuration"])
        for line in standing
        if has_digest(line)
    }
    for attempt in runs:
        now = digest_of(attempt.prepared.record)
        for name in attempt.cell.names:
            then = before.get((name, attempt.request.backend), now)
            if then != now:
                raise ScenarioError(
                    f"{name}: its runs that count put another configuration to the test "
                    f"({then}, now {now}): let them count no more by `--supersede {name} --why "
                    "…`, or give the cell another name"
                )


def require_backends(todo: Sequence[Todo], settings: Mapping[str, Any]) -> None:
    """Raise ClusterError for a backend that is not available."""
    for name in dict.fromkeys(request.backend for _, request in todo):
        if why := absent(name, settings):
            raise ClusterError(f"--backends: {name} is not available on this machine: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """Makes runs and writes them to the ledger, whose lines are `written`."""

    plan: Campaign
    ledger: Ledger
    written: list[Line]
    results: Path
    console: Console
    codes: list[int] = field(default_factory=list)
    doubts: dict[str, str] = field(default_factory=dict)  # by backend: why its calibration failed
    writing: Lock = field(default_factory=Lock)
    sittings: dict[str, str] = field(default_factory=dict)  # by backend: when it was calibrated

    def calibrate(self, backends: Iterable[str], settings: Mapping[str, Any]) -> None:
        """Calibrate on each backend. Raises Interrupted."""
        for backend in backends:
            began = datetime.now(UTC).isoformat()
            own = of_backend(backend, settings)
            calibration = calibrate(
                Request(scenario="", seed=self.plan.seed, backend=backend, settings=own),
                self.results,
                tries=self.plan.tries,
                console=self.console,
            )
            why = calibration.why
            self._add(
                {
                    "event": CALIBRATED,
                    "cell": CALIBRATED,
                    "backend": backend,
                    "seed": self.plan.seed,
                    "started_utc": began,
                    "met": why is None,
                    "why": why,
                    "runs": calibration.runs,
                }
            )
            self.sittings[backend] = began
            if why is not None:
                self.doubts[backend] = why
                Screen(self.console).say(f"the calibration failed: {why}", style="bold red")

    def _add(self, line: Line) -> None:
        with self.writing:
            self.ledger.add(line)
            self.written.append(line)

    def make(self, runs: Sequence[Attempt], recordings: Recordings | None = None) -> None:
        """Make the runs, one after the other until one is interrupted; with `recordings` they are
        recorded meanwhile."""
        screen = Screen(self.console)
        outlook = Outlook([run.prepared.scenario for run in runs])
        begun = [
            replace(run, recorded=recordings.begin(run.request, partial(self._begun, run)))
            if recordings and self._stored(run, self._since(run)) is None
            else run
            for run in runs
        ]
        for run in begun:
            screen.say(outlook.before(f"{run.cell.key}, {run.request.backend}"), style="bold")
            code, line = self._made(run)
            for _ in range(self.plan.tries - 1):
                if line is None or code != FAILED or _shows_something(line):
                    break
                self._set_aside(line, screen)
                code, line = self._made(replace(run, recorded=None))
            self.codes.append(code)
            if line is None:
                break
            screen.say(outlook.after(line))

    def _begun(self, run: Attempt) -> Line:
        """Write that a run begins; returns its names."""
        names = lines.names(run.cell, run.request, datetime.now(UTC).isoformat())
        self._add({"event": STARTED, **names})
        return names

    def _made(self, run: Attempt) -> tuple[int, Line | None]:
        """Make a run, or check its recording: its exit code, and its line unless interrupted."""
        if run.recorded is None:
            since = self._since(run)
            names, code = self._begun(run), VALID
        else:
            names, code = run.recorded.result()
            since = utc_of(names["started_utc"])
        if code not in INTERRUPTED:
            code, folder = self._carried_out(run, since, failed=code == FAILED)
        if code in INTERRUPTED:
            return code, None
        line: Line = {"event": ENDED, **names, **lines.line_of(folder, code, run.cell)}
        if all(line["configuration"] != other.get("configuration") for other in self.written):
            line["settings"] = settings_of(folder.read())
        if sitting := self.sittings.get(run.request.backend):
            line["sitting"] = sitting
        if why := self.doubts.get(run.request.backend):
            line["judged"] = line.get("verdict")
            line["verdict"] = "unknown"
            line["reasons"] = [f"the calibration failed: {why}"]
            code = worst([code, UNKNOWN])
        self._add(line)
        return code, line

    def _set_aside(self, line: Line, screen: Screen) -> None:
        """Supersede a run without a result: it is made once more."""
        screen.say("it ended with 255 and shows no anomaly: once more", style="yellow")
        if line["began"]:
            why = "it ended with 255, shows no anomaly, and was tried again"
            self._add(superseded(line, why))

    def _carried_out(
        self, attempt: Attempt, since: datetime | None, *, failed: bool
    ) -> tuple[int, RunFolder]:
        """Make a run and check it, or only check it where it is stored, begun after `since`.
        `failed`: its recording failed."""
        stored = self._stored(attempt, since, whole=not failed)
        if stored is not None and failed and not any(stored.history.glob("*.seg")):
            return FAILED, stored
        if stored is not None:
            code = check_runs([stored], master=None, console=self.console)
            return worst([code, FAILED]) if failed else code, stored
        return carry_out_run(attempt.prepared, self.results, check=True, console=self.console)

    def _stored(
        self, attempt: Attempt, since: datetime | None, *, whole: bool = True
    ) -> RunFolder | None:
        """The recorded run that has no line yet; None without a line that it began."""
        if since is None:
            return None
        run_ids = {str(line.get("run")) for line in self.written}
        calibrations = Lines(all=self.written).calibrations
        run_ids |= {run for line in calibrations for run in line.get("runs", ())}
        return unchecked(attempt.prepared.record, self.results, run_ids, since, whole=whole)

    def _since(self, attempt: Attempt) -> datetime | None:
        """When its first attempt since its last end began; None: there is none."""
        since: datetime | None = None
        for line in self.written:
            if not attempt.is_of(line):
                continue
            if line.get("event") == STARTED:
                since = since or utc_of(str(line["started_utc"]))
            elif line.get("event", ENDED) == ENDED:
                since = None
        return since


def _shows_something(line: Line) -> bool:
    """Whether a run that failed still shows something of Kafka or its clients."""
    return bool(any(line.get("anomalies", {}).values()) or unreached_leaders(line))


class Outlook:
    """The time that the runs ahead will take, at the pace of those done, and the results so far."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._expected_s = list(map(expected_s, scenarios))
        self._done = 0
        self._began_s = time.monotonic()
        self._found = Counter[str]()

    def before(self, what: str) -> str:
        """The line before a run."""
        left = in_words(self.left_s(time.monotonic() - self._began_s))
        return f"run {self._done + 1} of {len(self._expected_s)}, about {left} to go: {what}"

    def left_s(self, took_s: float) -> float:
        """How long the runs ahead will take, when those done took `took_s`."""
        expected_s = sum(self._expected_s[: self._done])
        pace = took_s / expected_s if self._done else 1.0
        return pace * sum(self._expected_s[self._done :])

    def after(self, line: Line) -> str:
        """The line after a run."""
        self._done += 1
        anomalies = line.get("anomalies", {})
        self._found["lost"] += anomalies.get("lost", 0) > 0
        self._found["duplicate"] += anomalies.get("duplicate", 0) > 0
        self._found[str(line.get("verdict", "without a verdict"))] += 1
        counts = self._found
        others = [f"{counts[end]} {end}" for end in ("invalid", "unknown", "without a verdict")]
        return (
            f"so far: {counts['lost']} of {self._done} lost records, {counts['duplicate']} have "
            f"duplicates, {', '.join(others)}"
        )
