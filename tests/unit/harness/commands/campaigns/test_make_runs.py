"""Campaigns: finished runs are never made again, an interrupted one leaves nothing half-done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.cluster.backends import absent
from harness.cluster.nodes import ClusterError
from harness.commands.campaigns import campaign, lines, make_runs
from harness.commands.campaigns.calibration import Calibration, Interrupted
from harness.commands.campaigns.file import backend_settings, read_campaign
from harness.commands.campaigns.todo import missing
from harness.model.campaigns.campaign import Cell
from harness.model.exit_codes import UNKNOWN, VALID
from harness.model.runs.ledger import ENDED, STARTED, Ledger, LedgerError, read
from harness.model.runs.ledger_line import Line
from harness.model.runs.report import report_of
from harness.model.runs.report_course import FaultTold, Window
from harness.model.runs.run_folder import RunFolder
from harness.model.scenario import ScenarioError
from harness.scenario.prepare import Prepared
from tests.support.pages import report_parts, reports
from tests.support.recorded_runs import run_record

TEXT = """
title = "t"
data = "data/runs.jsonl"
seed = 7
tries = 1
[[cells]]
scenario = "study-1"
repeats = 2
[[cells]]
name = "short"
scenario = "study-1"
repeats = 1
[cells.set]
"workload.rounds" = 9600
"""


def written(tmp_path, text: str = TEXT):
    path = tmp_path / "c.toml"
    path.write_text(text)
    return path


def test_cells_take_turns_and_seeds_follow_the_run(tmp_path):
    todo = missing(read_campaign(written(tmp_path)), [])

    assert [("study-1", 7), ("short", 7), ("study-1", 8)] == [
        (cell.key, request.seed) for cell, request in todo
    ]
    assert todo[1][1].settings == {"workload.rounds": 9600}


def test_a_finished_run_is_never_made_again_whatever_it_ended_with(tmp_path):
    plan = read_campaign(written(tmp_path))
    cell, request = missing(plan, [])[0]
    data = tmp_path / "data" / "runs.jsonl"
    names = lines.names(cell, request, "2026-11-24T10:00:00")
    with Ledger.open(data) as ledger:
        ledger.add({"event": ENDED, **names, **lines.summary(cell, 255, None)})

    todo = missing(plan, read(data).standing)

    assert [("short", 7), ("study-1", 8)] == [(cell.key, r.seed) for cell, r in todo]


@pytest.mark.parametrize(("asks", "kept"), [(True, True), (False, False)])
def test_who_led_what_is_kept_where_the_cell_asks_for_it(asks, kept):
    report = reports.kills(times=1).report | {"leadership": report_parts.leadership()}
    cell = Cell(scenario="study-1", repeats=1, balance=asks)

    line = lines.summary(cell, 0, report_of(report))

    assert line.get("leadership") == (report_parts.leadership() if kept else None)


ON_TWO = TEXT.replace("seed = 7", 'seed = 7\nbackends = ["local", "docker"]')
IMAGE = {"backend.docker.image": "mine"}


def test_backends_take_turns_within_a_cell_with_the_same_seed_and_settings(tmp_path):
    todo = missing(read_campaign(written(tmp_path, ON_TWO)), [], (), IMAGE)

    assert [("study-1", "local", 7), ("study-1", "docker", 7), ("short", "local", 7)] == [
        (cell.key, request.backend, request.seed) for cell, request in todo[:3]
    ]
    assert [{}, IMAGE, {"workload.rounds": 9600}] == [r.settings for _, r in todo[:3]]
    assert {"workload.rounds": 9600, **IMAGE} == todo[3][1].settings


def test_a_run_is_finished_on_its_own_backend_only(tmp_path):
    plan = read_campaign(written(tmp_path, ON_TWO))
    old: Line = {"cell": "study-1", "seed": 7}  # from before there were others: local
    cell, request = missing(plan, [old], ["docker"])[0]

    assert ("study-1", "docker", 7) == (cell.key, request.backend, request.seed)
    done = [old, lines.names(cell, request, "2026-11-24T10:00:00")]
    assert [("short", 7, "local"), ("short", 7, "docker"), ("study-1", 8, "local")] == [
        (cell.key, r.seed, r.backend) for cell, r in missing(plan, done)
    ][:3]


def test_a_backend_that_the_campaign_has_not_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="the campaign's backends are local"):
        missing(read_campaign(written(tmp_path)), [], ["docker"])


def test_the_command_sets_keys_of_backends_and_nothing_of_the_experiment():
    assert backend_settings(IMAGE) == IMAGE
    with pytest.raises(ScenarioError, match=r"workload\.rounds"):
        backend_settings({"workload.rounds": 1})


@pytest.mark.parametrize(
    ("phase", "began"), [("set-up", False), ("load", True), ("unknown", True), (None, True)]
)
def test_a_run_whose_cluster_did_not_come_up_is_no_outcome(phase, began):
    record = run_record(
        failure={"phase": phase, "error": "kafka1 did not start"} if phase else None
    )

    assert lines.began(record) is began


def test_a_campaign_s_file_may_begin_with_a_byte_order_mark(tmp_path):
    file = written(tmp_path)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())

    assert read_campaign(file).title


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = ", "not a TOML file"),
        (TEXT.replace("repeats = 1", "repeats = 0"), "second [[cells]] (short): repeats: "),
        (TEXT.replace("short", "study-1"), "two cells are called 'study-1'"),
        (TEXT.replace("scenario =", "scenarioo =", 1), "first [[cells]]"),
    ],
)
def test_a_campaign_that_cannot_be_is_refused_naming_file_and_key(tmp_path, text, told):
    with pytest.raises(ScenarioError, match=r"c\.toml") as refused:
        read_campaign(written(tmp_path, text))

    assert told in str(refused.value)


def stretch(start_s: float, length_s: float, kind: str = "produce") -> Window:
    """A window; what else is told of it does not matter here."""
    return Window.model_construct(kind=kind, start_s=start_s, length_s=length_s)


def test_the_gap_of_a_fault_is_the_longest_that_it_caused():
    faults = [
        FaultTold.model_construct(fault=number, start_s=start_s, healed_s=healed_s)
        for number, (start_s, healed_s) in enumerate([(5.0, 9.0), (9.0, None), (30.0, 31.0)])
    ]
    windows = [
        stretch(1.0, 3.9),  # over before any began
        stretch(4.9, 2.5),
        stretch(8.9, 3.0),  # two were in force; it began with the second
        stretch(20.0, 0.3),
        stretch(5.0, 9.0, "consume"),
    ]

    assert lines.fault_gaps_s(faults, windows) == [2.5, 3.0, 0.0]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How the next runs of a campaign end, one after the other; none of them is carried out."""
    ends: list[dict[str, Any]] = []

    def carry_out(prepared: Prepared, results: Path, **_: Any) -> tuple[int, RunFolder]:
        end = ends.pop(0)
        folder = RunFolder(path=results / prepared.record.scenario.name / f"{len(ends)}-1")
        folder.path.mkdir(parents=True)
        folder.write(prepared.record.changed(run_id="study-1/1-1", failure=end.get("failure")))
        return end["code"], folder

    monkeypatch.setattr(make_runs, "carry_out_run", carry_out)
    return ends


def test_each_run_has_a_line_as_it_begins_and_one_as_it_ends(
    tmp_path: Path, made: list[dict[str, Any]]
) -> None:
    no_cluster = {"phase": "set-up", "error": "kafka1 did not start"}
    made += [{"code": 0}, {"code": 255, "failure": no_cluster}, {"code": 130}]
    options = make_runs.CampaignOptions(resume=False, calibrate=False)

    make_runs.make_runs(written(tmp_path), tmp_path / "results", options, console=Console())

    told = read(tmp_path / "data" / "runs.jsonl")
    assert [each["event"] for each in told.all] == [STARTED, ENDED, STARTED, ENDED, STARTED]
    [done] = told.standing
    assert ("study-1", 7, "study-1/1-1") == (done["cell"], done["seed"], done["run"])
    assert len(done["configuration"]) == 16
    assert done["history"] is None
    assert ["short"] == [each["cell"] for each in told.without_cluster]
    assert [("study-1", 8)] == [(each["cell"], each["seed"]) for each in told.interrupted]


def test_what_has_not_ended_or_counts_no_more_is_made_again(
    tmp_path: Path, made: list[dict[str, Any]]
) -> None:
    made += [{"code": 0}, {"code": 0}, {"code": 130}]
    file, data = written(tmp_path), tmp_path / "data" / "runs.jsonl"
    first = make_runs.CampaignOptions(resume=False, calibrate=False)
    make_runs.make_runs(file, tmp_path / "results", first, console=Console())
    campaign.supersede(file, ["study-1"], "the scenario changed", NO_RESUME, console=Console())
    made += [{"code": 0}, {"code": 0}]

    again = make_runs.CampaignOptions(resume=True, calibrate=False)
    make_runs.make_runs(file, tmp_path / "more", again, console=Console())

    assert made == []
    assert [7, 7, 8] == sorted(each["seed"] for each in read(data).standing)
    assert len(read(data).superseded) == 1


@pytest.mark.parametrize(
    ("cells", "why", "told"),
    [
        (["study-1"], " ", "--why"),
        ([], "the scenario changed", "--supersede"),
        (["study-1", "nothing"], "the scenario changed", "nothing: .*/data/runs.jsonl has no run"),
    ],
)
def test_what_is_to_count_no_more_is_named_with_its_reason(
    tmp_path: Path, made: list[dict[str, Any]], cells: list[str], why: str, told: str
) -> None:
    made += [{"code": 0}, {"code": 130}]
    file, options = written(tmp_path), make_runs.CampaignOptions(resume=False, calibrate=False)
    make_runs.make_runs(file, tmp_path / "results", options, console=Console())
    before = read(tmp_path / "data" / "runs.jsonl")

    with pytest.raises(ScenarioError, match=told):
        campaign.supersede(file, cells, why, NO_RESUME, console=Console())
    assert before == read(tmp_path / "data" / "runs.jsonl")


def test_two_campaigns_do_not_write_one_ledger(tmp_path: Path) -> None:
    options = make_runs.CampaignOptions(resume=True, calibrate=False)
    with (
        Ledger.open(tmp_path / "data" / "runs.jsonl"),
        pytest.raises(LedgerError, match="another campaign"),
    ):
        make_runs.make_runs(written(tmp_path), tmp_path, options, console=Console())


def test_a_backend_that_is_not_to_be_had_stops_a_campaign_before_its_first_run(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    options = make_runs.CampaignOptions(resume=False, backends=("docker",))

    with pytest.raises(ClusterError, match=r"--backends: docker .* no Docker engine answers"):
        make_runs.make_runs(written(tmp_path, ON_TWO), tmp_path, options, console=Console())
    assert absent("local", {}) is None
    assert absent("moon", {}) == "there is no such backend"


TWICE = TEXT.replace("tries = 1", "tries = 2")
NO_RESUME = make_runs.CampaignOptions(resume=False, calibrate=False)


def test_a_run_that_ends_255_is_tried_again_and_the_first_is_listed(
    tmp_path: Path, made: list[dict[str, Any]]
) -> None:
    made += [{"code": 255}, {"code": 0}, {"code": 130}]

    make_runs.make_runs(written(tmp_path, TWICE), tmp_path, NO_RESUME, console=Console())

    told = read(tmp_path / "data" / "runs.jsonl")
    assert [0] == [line["exit"] for line in told.standing]
    assert [255] == [line["exit"] for line in told.superseded]
    assert ["tried again" in why for why in told.reasons.values()] == [True]


def test_a_run_is_not_tried_again_more_often_than_stated(
    tmp_path: Path, made: list[dict[str, Any]]
) -> None:
    made += [{"code": 255}, {"code": 255}, {"code": 130}]

    code = make_runs.make_runs(written(tmp_path, TWICE), tmp_path, NO_RESUME, console=Console())

    assert code == 130
    assert [255] == [line["exit"] for line in read(tmp_path / "data" / "runs.jsonl").standing]


@pytest.mark.parametrize(
    ("seen", "stands"),
    [
        ({"anomalies": {"lost": 1}}, True),
        ({"produce_gaps_s": [90.0], "produce_led_s": [80.0]}, True),
        ({"produce_gaps_s": [90.0], "produce_led_s": [2.0]}, False),
        ({"produce_gaps_s": [90.0], "produce_led_s": [None]}, False),
    ],
)
def test_a_run_that_shows_an_anomaly_or_a_lost_producer_is_never_tried_again(
    tmp_path: Path,
    made: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    seen: dict[str, Any],
    stands: bool,
) -> None:
    made += [{"code": 255}, {"code": 130}]
    nothing = {"anomalies": {"lost": 0}, "produce_gaps_s": [], "produce_led_s": []}
    found = {"exit": 255, **nothing, **seen}
    monkeypatch.setattr(lines, "summary", lambda *_: found)

    make_runs.make_runs(written(tmp_path, TWICE), tmp_path, NO_RESUME, console=Console())

    assert not made
    standing = read(tmp_path / "data" / "runs.jsonl").standing
    told = [{key: value for key, value in line.items() if key in found} for line in standing]
    assert told == ([found] if stands else [])


@pytest.mark.parametrize("why", ["no loss", None])
def test_what_follows_a_calibration_that_failed_is_unknown(
    tmp_path: Path,
    made: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    why: str | None,
) -> None:
    made += [{"code": 0}] * 3
    monkeypatch.setattr(make_runs, "calibrate", lambda *_, **__: Calibration(why=why))
    options = make_runs.CampaignOptions(resume=False)

    ended = make_runs.make_runs(written(tmp_path), tmp_path, options, console=Console())

    told = read(tmp_path / "data" / "runs.jsonl")
    assert ended == (UNKNOWN if why else VALID)
    assert [(why is None, why)] == [(line["met"], line["why"]) for line in told.calibrations]
    assert ["unknown" if why else None] * 3 == [line.get("verdict") for line in told.standing]
    [sitting] = told.calibrations
    assert {line["sitting"] for line in told.standing} == {sitting["started_utc"]}


def test_a_calibration_that_is_interrupted_ends_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> str | None:
        raise Interrupted(130)

    monkeypatch.setattr(make_runs, "calibrate", interrupted)
    options = make_runs.CampaignOptions(resume=False)

    assert make_runs.make_runs(written(tmp_path), tmp_path, options, console=Console()) == 130
    assert not (tmp_path / "data" / "runs.jsonl").exists()


def test_a_cell_that_changed_between_two_sittings_is_refused_before_it_runs(
    tmp_path: Path, made: list[dict[str, Any]]
) -> None:
    made += [{"code": 0}, {"code": 130}]
    make_runs.make_runs(written(tmp_path), tmp_path, NO_RESUME, console=Console())
    changed = TEXT.replace("repeats = 2", 'repeats = 2\nset = {"workload.rounds" = 9700}')
    again = make_runs.CampaignOptions(resume=True, calibrate=False)

    with pytest.raises(ScenarioError, match=r"study-1: its runs that count .*--supersede study-1"):
        make_runs.make_runs(written(tmp_path, changed), tmp_path, again, console=Console())

    lines_ = read(tmp_path / "data" / "runs.jsonl")
    assert [line["seed"] for line in lines_.standing] == [7]
    assert len(lines_.all) == 3


def test_another_title_is_no_other_experiment(tmp_path: Path, made: list[dict[str, Any]]) -> None:
    made += [{"code": 0}, {"code": 130}, {"code": 130}]
    make_runs.make_runs(written(tmp_path), tmp_path, NO_RESUME, console=Console())
    renamed = TEXT.replace("repeats = 2", 'repeats = 2\nset = {"title" = "another"}')
    again = make_runs.CampaignOptions(resume=True, calibrate=False)

    assert (
        make_runs.make_runs(written(tmp_path, renamed), tmp_path, again, console=Console()) == 130
    )


def test_what_a_cell_was_called_before_counts_for_it(tmp_path: Path) -> None:
    text = TEXT.replace('name = "short"', 'name = "short"\nformerly = ["brief"]')
    done: list[Line] = [{"cell": "brief", "seed": 7}]

    todo = missing(read_campaign(written(tmp_path, text)), done)

    assert ["study-1", "study-1"] == [cell.key for cell, _ in todo]
