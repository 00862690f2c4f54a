"""SPEC.json: how a worker reads it, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workloads.worker import Spec, SpecError


def test_a_spec_is_read_and_what_it_does_not_know_is_passed_over(tmp_path: Path) -> None:
    """The harness hands over the whole workload; a worker takes what it needs."""
    path = tmp_path / "SPEC.json"
    given = {
        "run_id": "a/b",
        "process": "p",
        "history": "/h",
        "topic": "t",
        "partitions": 2,
        "config": {"acks": 1},
        "limit_s": 9,
        "rate": 5,
        "consumers": 7,
    }
    path.write_text(json.dumps(given))

    spec = Spec.read(path)

    assert (Path("/h"), 2, {"acks": 1}, 9, 5, 30.0) == (
        spec.history,
        spec.partitions,
        spec.config,
        spec.limit_s,
        spec.rate,
        spec.flush_s,
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topic": None}, "topic: str is needed, not None"),
        ({"partitions": "2"}, "partitions: int is needed, not '2'"),
        ({"partitions": True}, "partitions: int is needed, not True"),
        ({"limit_s": "soon"}, "limit_s: float is needed, not 'soon'"),
        ({"limit_s": -1}, "limit_s: -1 is negative"),
        ({"config": []}, "config: Mapping[str, Any] is needed, not []"),
    ],
)
def test_a_wrong_spec_is_refused_by_name(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    """One sentence: the file, the key, what would be right."""
    path = tmp_path / "SPEC.json"
    good = {
        "run_id": "a/b",
        "process": "p",
        "history": "/h",
        "topic": "t",
        "partitions": 2,
        "config": {},
        "limit_s": 9,
    }
    path.write_text(json.dumps({**good, **change}))

    with pytest.raises(SpecError) as error:
        Spec.read(path)
    assert f"{path}: {words}" == str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_spec_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    """So is a file that is not there."""
    path = tmp_path / "SPEC.json"
    path.write_text(text)
    for each in (path, tmp_path / "gone"):
        with pytest.raises(SpecError, match="not a worker's SPEC"):
            Spec.read(each)
