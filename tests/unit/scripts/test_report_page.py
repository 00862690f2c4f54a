"""docs/report.md and report.json's JSON Schema are made of the model, which must say enough."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from harness.checkout import DOCS
from harness.model.runs.report_course import ReportPart
from scripts import report_page

PAGE = DOCS / "report.md"
VALIDATOR = Draft202012Validator(json.loads(report_page.schema_text()))


def test_the_page_and_the_schema_are_generated() -> None:
    """`python -m scripts.report_page` writes both; by hand they would not stay true."""
    assert PAGE.read_text() == report_page.with_tables(PAGE.read_text())
    assert report_page.SCHEMA.read_text() == report_page.schema_text()


def test_the_page_has_each_table_once() -> None:
    assert re.findall(r"<!-- keys of (.+) -->", PAGE.read_text()) == [*report_page.SECTIONS]


@pytest.mark.parametrize("part", ReportPart.__subclasses__(), ids=lambda part: part.__name__)
def test_each_field_says_what_it_is(part: type[BaseModel]) -> None:
    assert [key for key, field in part.model_fields.items() if not field.description] == []


def test_a_report_is_as_the_schema_has_it() -> None:
    report = json.loads((DOCS / "sample" / "study-1" / "report.json").read_text())

    assert [*VALIDATOR.iter_errors(report)] == []
    report["counts"]["acked"] = "many"
    assert [error.json_path for error in VALIDATOR.iter_errors(report)] == ["$.counts.acked"]
