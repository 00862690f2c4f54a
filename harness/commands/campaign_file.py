"""A campaign: scenarios x settings x backends x repeats, one file, any number of starts.

    title = "…"
    data = "data/study.jsonl"        # beside the campaign's file: the ledger of its runs
    [[cells]]
    scenario = "study-1"
    repeats = 10
    [cells.set]                      # as --set, the same on every backend
    "workload.rounds" = 10000

All keys: docs/scenario.md, made of the models below.

The data are a ledger (harness.model.runs.ledger): a run is finished when its end stands there, and
is never made again then, whatever it ended with. One that was interrupted is made again, and one
whose cluster did not come up: that is no outcome of the experiment, which had not begun; and one
that was superseded. Cells take turns, run by run, and backends
within a cell, so that a campaign cut short has something of each. `--backends` limits the
command to some of the backends; what a backend needs on this machine is not part of the experiment
and is given with `--set` (`backend.docker.image` and the like).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.history.seal_record import SEALED
from harness.model.runs.configuration import digest_of
from harness.model.runs.run_folder import RunFolder, StoreError
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import ScenarioError
from harness.scenario.file import explain, tables_in
from harness.scenario.prepare import Request


class Cell(BaseModel):
    """One scenario with one set of settings, run `repeats` times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[
        str,
        Field(
            description="what it is called in the data; by default as its scenario",
            examples=["study-1"],
        ),
    ] = ""
    scenario: Annotated[
        str, Field(description="a shipped scenario's name, or a file", examples=["study-1"])
    ]
    repeats: Annotated[int, Field(ge=1, description="how many runs it has", examples=[10])]
    claim: Annotated[
        str,
        Field(
            description="what its runs are measured against, for the reader",
            examples=["acks=1: records are lost"],
        ),
    ] = ""
    part: Annotated[
        str, Field(description="the part of the page that shows it", examples=["Replication"])
    ] = ""
    note: Annotated[
        str, Field(description="what the page says of it", examples=["On one machine."])
    ] = ""
    every_gap: Annotated[
        bool,
        Field(description="show how the gaps of all its faults are distributed", examples=[True]),
    ] = False
    latency: Annotated[bool, Field(description="show how long acks took", examples=[True])] = False
    balance: Annotated[
        bool, Field(description="show what part of the load each broker bore", examples=[True])
    ] = False
    set: dict[str, Any] = Field(
        default={},
        description="changes of the scenario, as by `--set`, the same on every backend",
        examples=[{"workload.rounds": 10000}],
    )

    @property
    def key(self) -> str:
        """What the cell is called in the data."""
        return self.name or self.scenario


class Campaign(BaseModel):
    """The file, checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Annotated[str, Field(description="what it is for", examples=["The study"])]
    data: Annotated[
        str,
        Field(
            description="the ledger of its runs, beside the campaign's file",
            examples=["data/study.jsonl"],
        ),
    ]
    seed: Annotated[
        int,
        Field(description="run n of a cell has this seed + n, on every backend", examples=[1]),
    ] = 1000
    backends: Annotated[
        tuple[str, ...],
        Field(description="each cell is run on each of them", examples=[("local", "docker")]),
    ] = ("local",)
    cells: Annotated[
        tuple[Cell, ...],
        Field(description="what is run", examples=[({"scenario": "study-1", "repeats": 10},)]),
    ]


def read_campaign(path: Path) -> Campaign:
    """Read a campaign's file. Raises ScenarioError naming file and key."""
    tables = tables_in(path, str(path))
    try:
        campaign = Campaign.model_validate(tables)
    except ValidationError as error:
        raise ScenarioError(f"{path}: {explain(error, tables)}") from None
    keys = [cell.key for cell in campaign.cells]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise ScenarioError(f"{path}: two cells are called {twice.pop()!r}: give one another name")
    return campaign


def of(campaign: Campaign, asked: Sequence[str]) -> tuple[str, ...]:
    """The backends to run on: those asked for, all if none is."""
    for name in asked:
        if name not in campaign.backends:
            there = ", ".join(campaign.backends)
            raise ScenarioError(f"--backends {name}: the campaign's backends are {there}")
    return tuple(name for name in campaign.backends if not asked or name in asked)


def backend_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings given with the command, backends' only: what is measured is in the file."""
    for key in settings:
        if not key.startswith("backend."):
            raise ScenarioError(
                f"--set {key}: a campaign's settings are in its file; --set "
                "accepts only backend.… keys"
            )
    return settings


def missing(
    campaign: Campaign,
    done: Iterable[Mapping[str, Any]],
    backends: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> list[tuple[Cell, Request]]:
    """The runs that are still to be made, cells taking turns, and backends within a cell."""
    have = {(line["cell"], line.get("backend", "local"), line["seed"]) for line in done}
    most = max((cell.repeats for cell in campaign.cells), default=0)
    return [
        (
            cell,
            Request(
                scenario=cell.scenario,
                seed=campaign.seed + number,
                backend=backend,
                settings={**cell.set, **_of_backend(backend, settings or {})},
            ),
        )
        for number in range(most)
        for cell in campaign.cells
        for backend in of(campaign, backends)
        if number < cell.repeats and (cell.key, backend, campaign.seed + number) not in have
    ]


def _of_backend(backend: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is meant for this backend."""
    return {key: value for key, value in settings.items() if key.startswith(f"backend.{backend}.")}


def began(record: RunRecord) -> bool:
    """Whether a run that has ended came as far as its experiment."""
    return record.failure is None or record.failure.phase not in ("start", "set-up")


SAME = ("scenario", "plan", "seed", "backend")


def unchecked(record: RunRecord, results: Path) -> RunFolder | None:
    """A stored run that is exactly the wanted one and ended in order, but is in no data file yet.

    It was recorded with --no-check, or the campaign was stopped between the run and its check.
    """
    for path in sorted((results / record.scenario.name).glob(f"*-{record.seed}")):
        folder = RunFolder(path=path.resolve())
        with contextlib.suppress(StoreError):
            folder.refuse_links()
            stored = folder.read()
            same = all(getattr(stored, key) == getattr(record, key) for key in SAME)
            if same and stored.state == "complete":
                return folder
    return None


def names(cell: Cell, request: Request, started_utc: str) -> dict[str, Any]:
    """By what a run is known in the ledger, and its scenario."""
    return {
        "cell": cell.key,
        "scenario": cell.scenario,
        "backend": request.backend,
        "seed": request.seed,
        "started_utc": started_utc,
    }


def origin(folder: RunFolder) -> dict[str, Any]:
    """Of which run a line is, what was put to the test in it, and by which code."""
    record, sealed = folder.read(), folder.history / SEALED
    load = next((phase for phase in record.phases if phase.name == "load"), None)
    starved = load.cpu_starvation if load else None
    return {
        "run": record.run_id,
        "began": began(record),
        "configuration": digest_of(record),
        "versions": record.versions,
        "starved_in_load": starved.model_dump() if starved else None,
        "history": sha256(sealed.read_bytes()).hexdigest() if sealed.is_file() else None,
    }


def summary(cell: Cell, code: int, report: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a run came to: small enough for git, enough for every table."""
    line: dict[str, Any] = {"exit": code}
    if report is None:
        return line
    counts = report["counts"]
    windows = report["windows"]
    return {
        **line,
        "verdict": report["verdict"],
        "reasons": report["reasons"],
        "sends": counts["sends"],
        "acked": counts["acked"],
        "indeterminate": counts["indeterminate"],
        "failed": counts["failed"],
        "anomalies": {name: found["count"] for name, found in report["anomalies"].items()},
        "lost_split": report["anomalies"]["lost"]["split"],
        "faults": len(report["faults"]),
        "produce_gaps_s": [round(w["length_s"], 3) for w in windows if w["kind"] == "produce"],
        "consume_gaps_s": [round(w["length_s"], 3) for w in windows if w["kind"] == "consume"],
        "fault_gaps_s": fault_gaps_s(report["faults"], windows),
        **({"replication": report["replication"]} if report.get("replication") else {}),
        **({"leadership": report.get("leadership", [])} if cell.balance else {}),
        "ack_ms": report["latency_ms"]["ack"],
        "kafka": report["versions"].get("kafka"),
        "host": report["host"],
    }


def fault_gaps_s(
    faults: Sequence[Mapping[str, Any]], windows: Iterable[Mapping[str, Any]]
) -> list[float]:
    """For each fault the longest stretch without acks that it caused, 0 without any of a window's
    length: of the faults in force during a stretch, the one injected nearest to its start did."""
    longest = {fault["fault"]: 0.0 for fault in faults}
    for window in windows:
        begin_s, length_s = window["start_s"], window["length_s"]
        in_force = [
            fault
            for fault in faults
            if fault["start_s"] < begin_s + length_s
            and (fault["healed_s"] is None or fault["healed_s"] > begin_s)
        ]
        if window["kind"] == "produce" and in_force:
            cause = min(in_force, key=lambda fault: abs(float(fault["start_s"]) - begin_s))
            longest[cause["fault"]] = max(longest[cause["fault"]], length_s)
    return [round(length_s, 3) for length_s in longest.values()]
