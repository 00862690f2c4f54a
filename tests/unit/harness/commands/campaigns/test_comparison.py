"""`compare`: ledgers and results folders, the last against all before, and its exit code."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.checkout import DOCS
from harness.commands.campaigns.comparison import compare_runs, lines_of
from harness.model.runs.run_folder import StoreError


def ledger(path: Path, lost: list[int], **more: object) -> Path:
    lines = [
        {"cell": "c", "seed": seed, "verdict": "valid", "anomalies": {"lost": each}, **more}
        | {"produce_gaps_s": [], "consume_gaps_s": [], "started_utc": f"{path.stem} {seed}"}
        for seed, each in enumerate(lost)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def damaged(path: Path, **changes: Any) -> Path:
    """A ledger whose second line has these, and lacks what is `...`."""
    first, second = map(json.loads, ledger(path, [0, 0]).read_text().splitlines())
    second = {key: value for key, value in {**second, **changes}.items() if value is not ...}
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    return path


def compared(*sides: Path) -> tuple[int, str]:
    said = io.StringIO()
    code = compare_runs(sides, gap_factor=1.5, console=Console(file=said, width=200))
    return code, said.getvalue()


def test_tonight_is_held_against_all_nights_before(tmp_path: Path) -> None:
    nights = [ledger(tmp_path / f"{n}.jsonl", [0] * 5) for n in range(4)]
    tonight = ledger(tmp_path / "now.jsonl", [2] * 5)

    code, said = compared(*nights, tonight)

    assert code == 1
    assert "c: lost: 0 of 20 before, 5 of 5 now" in said


def test_nights_that_do_not_differ_end_with_0(tmp_path: Path) -> None:
    one, other = (ledger(tmp_path / f"{n}.jsonl", [0, 1, 0, 0]) for n in "ab")

    code, said = compared(one, other)

    assert code == 0
    assert "nothing changed in 1 cells" in said


def test_settings_that_differ_come_first(tmp_path: Path) -> None:
    key = "scenario.topic.config.min.insync.replicas"
    old = ledger(tmp_path / "a.jsonl", [0] * 20, configuration="x", settings={key: 2})
    new = ledger(tmp_path / "b.jsonl", [9] * 20, configuration="y", settings={key: 1})

    code, said = compared(old, new)

    assert said.startswith("settings c: topic.config.min.insync.replicas: 2 before, 1 now\n")
    assert code == 1


def test_a_folder_s_runs_are_cells_by_their_scenario(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "sample", tmp_path / "results")

    [line] = lines_of(tmp_path / "results")

    assert (line["cell"], line["anomalies"]["lost"]) == ("study-1", 7)


@pytest.mark.parametrize("what", ["missing.jsonl", "empty"])
def test_a_side_without_runs_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(StoreError, match=what):
        lines_of(tmp_path / what)


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"exit_code": 0, "counts": 7}'])
def test_a_damaged_report_is_one_sentence_with_its_file(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "results" / "study-1" / "run"
    shutil.copytree(DOCS / "sample" / "study-1", folder)
    (folder / "report.json").write_text(text)

    with pytest.raises(StoreError, match=r"run/report\.json: not what a check of this release"):
        lines_of(tmp_path / "results")


@pytest.mark.parametrize(
    ("key", "value"), [("cap", "AP"), ("lost", "3"), ("lost", -1), ("lost", None)]
)
def test_a_report_with_a_text_for_a_number_is_one_sentence(
    tmp_path: Path, key: str, value: object
) -> None:
    folder = tmp_path / "results" / "study-1" / "run"
    shutil.copytree(DOCS / "sample" / "study-1", folder)
    report = json.loads((folder / "report.json").read_text())
    if key == "cap":
        report["cap"] = value
    else:
        report["anomalies"][key]["count"] = value
    (folder / "report.json").write_text(json.dumps(report))

    with pytest.raises(StoreError, match=r"run/report\.json: not what a check of this release"):
        lines_of(tmp_path / "results")


@pytest.mark.parametrize("value", ["AP", {"cpu_starvation": "much"}, ["cpus"]])
def test_a_report_with_a_host_that_is_none_is_one_sentence(tmp_path: Path, value: object) -> None:
    folder = tmp_path / "results" / "study-1" / "run"
    shutil.copytree(DOCS / "sample" / "study-1", folder)
    report = json.loads((folder / "report.json").read_text())
    (folder / "report.json").write_text(json.dumps(report | {"host": value}))

    with pytest.raises(StoreError, match=r"run/report\.json: not what a check of this release"):
        lines_of(tmp_path / "results")


WAITED = "pressure_some_percent"
NO_NUMBERS: tuple[object, ...] = (None, "3", -1, [], True, float("nan"), float("inf"))
DAMAGED: dict[str, list[object]] = {
    "verdict": [..., None, "splendid", []],
    "anomalies": [..., None, [], "lost", *({"lost": each} for each in (*NO_NUMBERS, 1.5, 2**70))],
    "produce_gaps_s": [..., None, "3", {}, 3.0, *([each] for each in NO_NUMBERS)],
    "consume_gaps_s": [..., None, [[]]],
    "versions": [None, [], {"kafka": 3}, {"kafka": ["3.9.2"]}],
    "forbidden": [None, "lost", {"lost": True}, [[]]],
    "configuration": [None, [], {}, 7],
    "settings": [[], "acks"],
    "cap": [[], "AP"],
    "host": [
        "local",
        ["cpus"],
        {"cpu_starvation": "much"},
        *({"cpu_starvation": {WAITED: each}} for each in NO_NUMBERS[1:]),
    ],
    "starved_in_load": ["much", {WAITED: "9"}, {WAITED: []}],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in DAMAGED.items() for value in values]
)
def test_a_damaged_line_is_one_sentence_with_file_line_and_key(
    tmp_path: Path, key: str, value: object
) -> None:
    sound, bad = ledger(tmp_path / "a.jsonl", [0]), damaged(tmp_path / "b.jsonl", **{key: value})

    for sides in ((sound, bad), (bad, sound)):
        with pytest.raises(StoreError, match=rf"b\.jsonl: line 2: .*{key}.*put back the file"):
            compared(*sides)


@pytest.mark.parametrize(
    "lacks",
    [
        {"cap": None, "host": None, "settings": None, "starved_in_load": None},
        {"host": {"cpu_starvation": None}, "versions": {"zookeeper": None}},
        {"host": {"cpu_starvation": {WAITED: None}}, "starved_in_load": {}},
        {"settings": {"acks": "all"}},  # and no digest that they belong to
    ],
)
def test_what_older_lines_lack_is_no_damage(tmp_path: Path, lacks: dict[str, Any]) -> None:
    one, other = (damaged(tmp_path / f"{name}.jsonl", **lacks) for name in "ab")

    assert compared(one, other)[0] == 0


def test_a_run_that_came_to_no_report_has_nothing_to_be_damaged(tmp_path: Path) -> None:
    none = dict.fromkeys(("verdict", "anomalies", "produce_gaps_s", "consume_gaps_s"), ...)
    failed = damaged(tmp_path / "a.jsonl", exit=255, **none)

    assert compared(failed, failed)[0] == 0
    assert [line.get("exit") for line in lines_of(failed)] == [None, 255]


def test_a_damaged_line_that_counts_no_more_is_not_looked_at(tmp_path: Path) -> None:
    path = damaged(tmp_path / "a.jsonl", anomalies=None)
    names = {key: json.loads(path.read_text().splitlines()[1])[key] for key in ("cell", "seed")}
    told = {**names, "started_utc": "a 1", "event": "superseded", "reason": "damaged"}
    with path.open("a") as file:
        file.write(json.dumps(told) + "\n")

    assert len(lines_of(path)) == 1


@pytest.mark.parametrize("name", ["study", "again", "backends", "configurations"])
def test_the_ledgers_of_all_releases_can_be_compared(name: str) -> None:
    file = DOCS / "data" / f"{name}.jsonl"

    code, said = compared(file, file)

    assert "nothing changed" in said
    assert ("which is forbidden" in said) is bool(code)
