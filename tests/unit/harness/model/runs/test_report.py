"""report.json is the dump of one model: what is read is written again, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from harness.checkout import DOCS, ROOT
from harness.model.runs.report import Report

KEPT = sorted(
    [*DOCS.glob("*/*/report.json"), *(ROOT / "tests" / "baseline" / "golden").glob("*.json")]
)
SAMPLE = DOCS / "sample" / "study-1" / "report.json"


def unknown(value: Any) -> Iterator[str]:
    """The fields that the model does not know."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        value = dict(value)
    parts = value.values() if isinstance(value, dict) else value
    for part in parts if isinstance(value, dict | list) else ():
        yield from unknown(part)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_kept_report_is_read_and_written_as_it_is(file: Path) -> None:
    text = file.read_text()
    report = Report.model_validate_json(text)

    assert report.text() == json.dumps(json.loads(text), indent=1) + "\n"
    assert [*unknown(report)] == []


def test_what_an_older_release_did_not_write_is_not_written() -> None:
    made = json.loads(SAMPLE.read_text())
    del made["cap"], made["stories"], made["windows"][0]["leader_s"]
    report = Report.model_validate(made)

    assert (report.cap, report.stories, report.windows[0].leader_s) == (None, None, None)
    assert json.loads(report.text()) == made


def test_what_a_newer_release_adds_is_kept() -> None:
    made = json.loads(SAMPLE.read_text())
    made["windows"][0]["weather"] = {"rain": True}

    assert json.loads(Report.model_validate(made).text()) == made


@pytest.mark.parametrize("number", [3, 3.0, 0, -0.0])
def test_a_number_is_written_as_it_was_read(number: float) -> None:
    made = json.loads(SAMPLE.read_text())
    made["rates"]["load_s"] = number

    assert f'"load_s": {json.dumps(number)}' in Report.model_validate(made).text()


@pytest.mark.parametrize("wrong", ["3", True, 3.5])
def test_a_count_is_a_whole_number(wrong: object) -> None:
    made = json.loads(SAMPLE.read_text())
    made["counts"]["acked"] = wrong

    with pytest.raises(ValidationError, match=r"counts\.acked"):
        Report.model_validate(made)


def test_what_every_release_wrote_must_be_there() -> None:
    made = json.loads(SAMPLE.read_text())
    del made["final_read"]["partitions"]

    with pytest.raises(ValidationError, match=r"final_read\.partitions"):
        Report.model_validate(made)


def test_half_a_character_is_written_as_it_was_read() -> None:
    made = json.loads(SAMPLE.read_text())
    made["run"]["title"] = "\udc80"

    assert json.loads(Report.model_validate(made).text()) == made
