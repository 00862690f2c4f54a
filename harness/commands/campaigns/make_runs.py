"""kafka-harness campaign: a campaign's missing runs, each of them with its lines in the ledger.

The ledger is read once, as the sitting begins; nobody else writes it while it is open here.
While runs are made, one line tells what is ahead, and one what they found so far:

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
    NAMES,
    STARTED,
    SUPERSEDED,
    Ledger,
    Line,
    Lines,
    has_digest,
    name_of,
    unreached_leaders,
)
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import Scenario, ScenarioError
from harness.release import commit
from harness.run.progress import Screen
from harness.scenario.expected_length import expected_s, in_words
from harness.scenario.prepare import Prepared, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """What of a campaign to do now: which cells on which of its backends (none: all), with which
    settings."""

    resume: bool
    backends: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()  # patterns of names
    settings: Mapping[str, Any] = field(default_factory=dict)
    calibrate: bool = True
    ledger: Path | None = None  # None: what the campaign's file says
    parallel: int = 1  # runs at a time
    dirty: bool = False  # lines of a harness with changes that no commit has may go into git


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
            plan=plan, ledger=ledger, told=[*done.all], results=results, console=console
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
    """Raise ScenarioError where lines of a harness that no commit has would go into a ledger that
    git keeps: nobody could make such a run again."""
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


def still_to_do(
    plan: Campaign, standing: Iterable[Mapping[str, Any]], options: CampaignOptions
) -> list[Todo]:
    """The runs that the command is to make. Raises ScenarioError."""
    settings = backend_settings(options.settings)
    return missing(plan, standing, options.backends, settings, options.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A run that is to be made once, and its recording where another process makes that."""

    cell: Cell
    request: Request
    prepared: Prepared
    recorded: Future[tuple[Line, int]] | None = None

    def is_of(self, line: Line) -> bool:
        """Whether a line tells of this run, whenever it was made."""
        mine = (self.cell.key, self.request.backend, self.request.seed)
        return name_of(line)[:3] == mine


def prepared(todo: Sequence[Todo]) -> list[Attempt]:
    """All of them, or none: runs that cannot be are refused before any starts, and are named."""
    found, wrong = [], dict[str, None]()  # the runs of a cell say the same
    for cell, request in todo:
        try:
            found.append(Attempt(cell=cell, request=request, prepared=prepare_run(request)))
        except ScenarioError as error:
            wrong[f"{cell.key}: {error}"] = None
    if wrong:
        raise ScenarioError(listed(wrong))
    return found


def complete(plan: Campaign, todo: Iterable[Todo], options: CampaignOptions) -> list[Todo]:
    """Of each cell that has all of its runs, on each backend, the first."""
    open_ = {(cell.key, request.backend) for cell, request in todo}
    every = {(c.key, r.backend): (c, r) for c, r in reversed(still_to_do(plan, (), options))}
    return [todo for place, todo in every.items() if place not in open_]


def require_unchanged(runs: Iterable[Attempt], standing: Iterable[Line]) -> None:
    """Raise ScenarioError for a cell whose runs that count put something else to the test."""
    before = {
        (str(line["cell"]), line.get("backend", "local")): str(line["configuration"])
        for line in standing
        if has_digest(line)
    }
    for each in runs:
        now = digest_of(each.prepared.record)
        for name in each.cell.names:
            then = before.get((name, each.request.backend), now)
            if then != now:
                raise ScenarioError(
                    f"{name}: its runs that count put another configuration to the test "
                    f"({then}, now {now}): let them count no more by `--supersede {name} --why "
                    "…`, or give the cell another name"
                )


def require_backends(todo: Sequence[Todo], settings: Mapping[str, Any]) -> None:
    """Raise ClusterError for a backend that is not to be had."""
    for name in dict.fromkeys(request.backend for _, request in todo):
        if why := absent(name, settings):
            raise ClusterError(f"--backends: {name} is not available on this machine: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """A campaign's sitting: what is made goes into the ledger, of which all lines are `told`."""

    plan: Campaign
    ledger: Ledger
    told: list[Line]
    results: Path
    console: Console
    codes: list[int] = field(default_factory=list)
    doubts: dict[str, str] = field(default_factory=dict)  # by backend: why nothing is believed
    writing: Lock = field(default_factory=Lock)
    sittings: dict[str, str] = field(default_factory=dict)  # by backend: when it was calibrated

    def calibrate(self, backends: Iterable[str], settings: Mapping[str, Any]) -> None:
        """Calibrate on each backend. Raises Interrupted."""
        for backend in backends:
            names = {"cell": CALIBRATED, "backend": backend, "seed": self.plan.seed}
            names["started_utc"] = datetime.now(UTC).isoformat()
            own = of_backend(backend, settings)
            found = calibrate(
                Request(scenario="", seed=self.plan.seed, backend=backend, settings=own),
                self.results,
                tries=self.plan.tries,
                console=self.console,
            )
            why = found.why
            told = {"met": why is None, "why": why, "runs": found.runs}
            self._add({"event": CALIBRATED, **names, **told})
            self.sittings[backend] = str(names["started_utc"])
            if why is not None:
                self.doubts[backend] = why
                Screen(self.console).say(f"the calibration failed: {why}", style="bold red")

    def _add(self, line: Line) -> None:
        with self.writing:
            self.ledger.add(line)
            self.told.append(line)

    def make(self, runs: Sequence[Attempt], recordings: Recordings | None = None) -> None:
        """Make the runs, one after the other until one is interrupted; with `recordings` they are
        recorded meanwhile."""
        screen = Screen(self.console)
        outlook = Outlook([each.prepared.scenario for each in runs])
        begun = [
            replace(each, recorded=recordings.begin(each.request, partial(self._begun, each)))
            if recordings and self._stored(each, self._since(each)) is None
            else each
            for each in runs
        ]
        for each in begun:
            screen.say(outlook.before(f"{each.cell.key}, {each.request.backend}"), style="bold")
            code, line = self._made(each)
            for _ in range(self.plan.tries - 1):
                if line is None or code != FAILED or _tells(line):
                    break
                self._set_aside(line, screen)
                code, line = self._made(replace(each, recorded=None))
            self.codes.append(code)
            if line is None:
                break
            screen.say(outlook.after(line))

    def _begun(self, attempt: Attempt) -> Line:
        """Write that a run begins; by what it is known from then on."""
        names = lines.names(attempt.cell, attempt.request, datetime.now(UTC).isoformat())
        self._add({"event": STARTED, **names})
        return names

    def _made(self, attempt: Attempt) -> tuple[int, Line | None]:
        """Make one, or check what is recorded: its exit code, and its line in the ledger unless it
        was interrupted."""
        if attempt.recorded is None:
            since = self._since(attempt)
            names, code = self._begun(attempt), VALID
        else:
            names, code = attempt.recorded.result()
            since = utc_of(names["started_utc"])
        if code not in INTERRUPTED:
            code, folder = self._carried_out(attempt, since, failed=code == FAILED)
        if code in INTERRUPTED:
            return code, None
        line = {"event": ENDED, **names, **lines.line_of(folder, code, attempt.cell)}
        if all(line["configuration"] != other.get("configuration") for other in self.told):
            line["settings"] = settings_of(folder.read())
        if sitting := self.sittings.get(attempt.request.backend):
            line["sitting"] = sitting
        if why := self.doubts.get(attempt.request.backend):
            doubted = {"verdict": "unknown", "judged": line.get("verdict")}
            line |= {**doubted, "reasons": [f"the calibration failed: {why}"]}
            code = worst([code, UNKNOWN])
        self._add(line)
        return code, line

    def _set_aside(self, line: Line, screen: Screen) -> None:
        """Let a run that came to nothing count no more; it is made once more."""
        screen.say("it ended with 255 and shows no anomaly: once more", style="yellow")
        if line["began"]:
            names = {key: line[key] for key in NAMES}
            why = "it ended with 255, shows no anomaly, and was tried again"
            self._add({"event": SUPERSEDED, **names, "reason": why})

    def _carried_out(
        self, attempt: Attempt, since: datetime | None, *, failed: bool
    ) -> tuple[int, RunFolder]:
        """Make a run and check it, or check it where it is there already, begun after `since`;
        `failed`: its recording ended so."""
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
        """A run that was recorded and has no line yet; none of what nobody said began."""
        if since is None:
            return None
        known = {str(line.get("run")) for line in self.told}
        calibrations = Lines(all=self.told).calibrations
        known |= {run for line in calibrations for run in line.get("runs", ())}
        return unchecked(attempt.prepared.record, self.results, known, since, whole=whole)

    def _since(self, attempt: Attempt) -> datetime | None:
        """When the first of its attempts began that were interrupted since it last ended; None:
        none was."""
        since: datetime | None = None
        for line in self.told:
            if not attempt.is_of(line):
                continue
            if line.get("event") == STARTED:
                since = since or utc_of(str(line["started_utc"]))
            elif line.get("event", ENDED) == ENDED:
                since = None
        return since


def _tells(line: Line) -> bool:
    """Whether a run that failed tells something of Kafka or its clients all the same."""
    return bool(any(line.get("anomalies", {}).values()) or unreached_leaders(line))


class Outlook:
    """What of a sitting's runs is ahead, at the pace of those that are done, and what was found."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._expected_s = list(map(expected_s, scenarios))
        self._done = 0
        self._began_s = time.monotonic()
        self._found = Counter[str]()

    def before(self, what: str) -> str:
        """As a run begins."""
        left = in_words(self.left_s(time.monotonic() - self._began_s))
        return f"run {self._done + 1} of {len(self._expected_s)}, about {left} to go: {what}"

    def left_s(self, took_s: float) -> float:
        """How long all that are not done will take, where those that are took so long."""
        expected_s = sum(self._expected_s[: self._done])
        pace = took_s / expected_s if self._done else 1.0
        return pace * sum(self._expected_s[self._done :])

    def after(self, line: Line) -> str:
        """As a run has ended, with its line in the ledger."""
        self._done += 1
        anomalies = line.get("anomalies", {})
        self._found["lost"] += anomalies.get("lost", 0) > 0
        self._found["duplicate"] += anomalies.get("duplicate", 0) > 0
        self._found[str(line.get("verdict", "without a verdict"))] += 1
        found = self._found
        others = [f"{found[end]} {end}" for end in ("invalid", "unknown", "without a verdict")]
        return (
            f"so far: {found['lost']} of {self._done} lost records, {found['duplicate']} have "
            f"duplicates, {', '.join(others)}"
        )
