"""docs/scenario.md and the schema for editors are made of the models, which must say enough."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from harness.checkout import DOCS
from harness.model.sections.part import Part
from harness.nemesis.options import Options
from harness.scenario.file import read_scenario
from scripts import scenario_page, scenario_schema

PAGE = DOCS / "scenario.md"


def every(model: type[BaseModel]) -> set[type[BaseModel]]:
    """All models of a kind."""
    return {model}.union(*(every(kind) for kind in model.__subclasses__()))


def test_the_page_and_the_schema_are_generated() -> None:
    """`python -m scripts.scenario_page` writes both; by hand they would not stay true."""
    assert PAGE.read_text() == scenario_page.with_tables(PAGE.read_text())
    assert scenario_page.SCHEMA.read_text() == scenario_schema.text()


def test_the_page_has_each_table_once() -> None:
    tables = re.findall(r"<!-- keys of (.+) -->", PAGE.read_text())

    assert sorted(tables) == sorted([*scenario_page.SECTIONS, *scenario_page.OTHERS])
    assert every(Part) - {Part} <= {*scenario_page.SECTIONS.values()}


def test_each_key_says_what_it_is_and_has_a_right_example() -> None:
    wrong: list[str] = []
    for model in scenario_page.SECTIONS.values():
        for key, field in model.model_fields.items():
            if not field.description:
                wrong.append(f"{model.__name__}.{key}: Field(description=…)")
            if not field.examples:
                wrong.append(f"{model.__name__}.{key}: Field(examples=[…])")
                continue
            try:
                model.model_validate({**needed(model), key: field.examples[0]})
            except ValidationError as error:
                wrong.append(f"{model.__name__}.{key}: {error}")

    assert [] == wrong


def needed(model: type[BaseModel]) -> dict[str, Any]:
    """The examples of what must be given."""
    fields = model.model_fields.items()
    return {
        key: field.examples[0] for key, field in fields if field.is_required() and field.examples
    }


def test_each_option_of_a_verb_says_what_it_is() -> None:
    options = {
        f"{model.__name__}.{key}": field
        for model in every(Options)
        for key, field in model.model_fields.items()
    }

    assert len(options) > 30
    assert [] == [key for key, field in options.items() if not field.description]


@pytest.mark.parametrize("number", range(3))
def test_the_scenarios_on_the_page_can_be_run(number: int, tmp_path: Any) -> None:
    written = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(written) == 3
    (tmp_path / "shown.toml").write_text(written[number])

    assert tomllib.loads(written[number])
    assert read_scenario(str(tmp_path / "shown.toml"))
