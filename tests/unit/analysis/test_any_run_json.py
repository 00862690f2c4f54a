"""run.json as anybody may have changed it: a report, or one sentence that names file and key.

Every field of a recorded one is changed in every way below and judged without Spark: the run is
opened, its report made of what a check may have found, and the page and junit.xml of that. Where a
field may be changed in several ways, the tables are read anew and the page is made for the first.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from analysis.anomalies import NAMES
from analysis.measures.windows import WindowRow
from analysis.report import junit, page
from analysis.report.build import report
from analysis.report.found import COUNTED, PAST, Found, no_finding
from analysis.stored.run_files import CheckError, read_record
from analysis.stored.stored_run import BUCKETS_MAX, Run, open_run
from analysis.verdict.permission import permission_of
from harness.checkout import ROOT
from harness.model.runs.report import Report
from harness.model.runs.run_folder import RunFolder

GOLDEN = ROOT / "tests" / "golden" / "leader-stopped"
LOOKED_AT = 3  # of a list's elements, which are alike
GONE = object()
VERDICTS = {"valid", "invalid", "unknown"}
PATHS = tuple[Any, ...]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


CHANGES: dict[str, Any] = {
    "gone": GONE,
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "huge": 10**30,
    "large": 2**62,
    "fraction": 0.5,
    "no number": float("nan"),
    "infinite": float("inf"),
    "word": "all",
    "digits": "9" * 5000,
    "long": "x" * 100_000,
    "time": "2026-01-01T00:00:00+00:00",
    "path": "../../<b>é\x00",
    "half a character": "\udc80",
    "list": [[1], None, {"x": 1}],
    "table": {"a": {"b": [None]}},
    "deep": nested(300),
}


def paths_of(value: Any, at: PATHS = ()) -> Iterator[PATHS]:
    """Every place in it, the whole first."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from paths_of(value[key], (*at, key))
    if isinstance(value, list):
        for number in range(min(LOOKED_AT, len(value))):
            yield from paths_of(value[number], (*at, number))


def changed(value: Any, at: PATHS, to: Any) -> Any:
    """A copy, as far as it differs, with another value there."""
    if not at:
        return None if to is GONE else to
    copy, key = value.copy(), at[0]
    if len(at) == 1 and to is GONE:
        del copy[key]
    else:
        copy[key] = changed(value[key], at[1:], to)
    return copy


def ways() -> list[Any]:
    """Each way by the part of run.json that it changes."""
    recorded = json.loads((GOLDEN / "run.json").read_text())
    parts: dict[str, list[PATHS]] = {}
    for path in paths_of(recorded):
        parts.setdefault(str(path[0]) if path else "all", []).append(path)
    return [pytest.param(paths, id=name) for name, paths in parts.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(GOLDEN, tmp_path_factory.mktemp("changed") / "run")


def made(run: Run) -> Report:
    """The run's report, after a check that found something."""
    start_ns = run.load_start_ns
    window: WindowRow = {
        "kind": "produce",
        "partition": 0,
        "start_ns": start_ns,
        "end_ns": start_ns + 10**9,
        "next_success_ns": None,
        "attempts": 3,
    }
    found = Found(
        counts=dict.fromkeys((*COUNTED, *PAST), 3),
        ack_ms=[1.0] * 5,
        delivery_ms=None,
        findings={name: no_finding(name) for name in NAMES},
        windows=[window],
    )
    return report(run, found, permission_of(run))


def written(told: Report) -> Report:
    """The report, once it was written in every form."""
    page.render(told, [], [])
    junit.render(told)
    json.dumps(told.written(), allow_nan=False)
    return told


def outcome(folder: Path, record: Any, opened: Run | None = None) -> str:
    """The verdict, or the sentence with which it is refused; quicker with a run `opened` before."""
    (folder / "run.json").write_text(json.dumps(record))
    try:
        if opened is not None:
            return made(replace(opened, record=read_record(folder))).verdict
        return written(made(open_run(folder))).verdict
    except CheckError as refused:
        return str(refused)


def names(sentence: str, path: PATHS) -> bool:
    """Whether a sentence names the changed key, a table that it is in, or the phase it is of."""
    return any(str(key) in sentence for key in path if isinstance(key, str)) or not path


@pytest.mark.parametrize("paths", ways())
def test_whatever_is_changed_there_is_a_report_or_one_sentence_that_names_the_key(
    folder: Path, paths: list[PATHS]
) -> None:
    recorded = json.loads((GOLDEN / "run.json").read_text())
    before = open_run(GOLDEN)
    for path in paths:
        opened = None
        for way, to in CHANGES.items():
            said = outcome(folder, changed(recorded, path, to), opened)
            if said in VERDICTS:
                opened = None if path[0] in {"phases", "run_id"} else before
                continue
            assert "run.json" in said, (path, way, said)
            assert names(said, path), (path, way, said)
            assert said.isprintable(), (path, way, said)
            assert len(said) < 1000, (path, way)


def test_what_was_recorded_is_judged(folder: Path) -> None:
    recorded = json.loads((GOLDEN / "run.json").read_text())

    assert outcome(folder, recorded) in VERDICTS


def step_twice(record: dict[str, Any]) -> None:
    record["plan"].append(record["plan"][0])


def node_twice(record: dict[str, Any]) -> None:
    record["nodes"]["kafka9"] = record["nodes"]["kafka1"]


def reversed_phases(record: dict[str, Any]) -> None:
    record["phases"].reverse()


def phase_twice(record: dict[str, Any]) -> None:
    record["phases"].append({**record["phases"][-1], "start_ns": 2**61, "end_ns": 2**61})


def backward_load(record: dict[str, Any]) -> None:
    load = next(phase for phase in record["phases"] if phase["name"] == "load")
    load["start_ns"], load["end_ns"] = load["end_ns"], load["start_ns"]


def partitions(record: dict[str, Any]) -> None:
    record["scenario"]["topic"]["partitions"] = 10**30


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (step_twice, "plan: step 0 is there 2 times"),
        (node_twice, "nodes: the id of ('broker', 1) is there 2 times"),
        (reversed_phases, "phases: "),
        (phase_twice, "phases 'collect' is there 2 times"),
        (backward_load, "phases: 'load' ends before it starts"),
        (partitions, "scenario.topic.partitions is beyond 64 bits"),
    ],
)
def test_what_contradicts_itself_is_refused(folder: Path, change: Any, told: str) -> None:
    record = json.loads((GOLDEN / "run.json").read_text())
    change(record)

    assert told in outcome(folder, record)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"schema": 2, "schema": 2}',
        b'{"schema": [2]}',
        b'{"schema": ' + b"9" * 10_000 + b"}",
        b"null",
    ],
)
def test_what_is_no_record_at_all_is_one_sentence(folder: Path, text: bytes) -> None:
    (folder / "run.json").write_bytes(text)

    with pytest.raises(CheckError) as refused:
        open_run(folder)

    assert str(refused.value).startswith(f"{folder / 'run.json'}: ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("hours", "most_ms"), [(0.01, 100), (1, 500), (10**6, 18_000_001)])
def test_a_load_of_any_length_has_a_timeline_that_can_be_held(
    folder: Path, hours: float, most_ms: int
) -> None:
    record = json.loads((GOLDEN / "run.json").read_text())
    start_ns = 10**9
    end_ns = start_ns + int(hours * 3600 * 10**9)
    record["phases"] = [{"name": "load", "start_ns": start_ns, "end_ns": end_ns}]
    outcome(folder, record)
    run = open_run(folder)

    assert run.bucket_ms <= most_ms
    assert (end_ns - start_ns) // (run.bucket_ms * 10**6) <= BUCKETS_MAX


def test_the_phases_of_a_recorded_run_follow_each_other() -> None:
    phases = RunFolder(path=GOLDEN).read().phases

    assert len(phases) > 3
    assert all(one.end_ns <= two.start_ns for one, two in pairwise(phases))
