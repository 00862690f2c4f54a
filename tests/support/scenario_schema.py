"""The shipped schema of scenarios, asked as an editor asks it."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jsonschema import Draft7Validator


@functools.cache
def validator() -> Draft7Validator:
    shipped = (files("harness.scenario") / "scenario.schema.json").read_text()
    schema = json.loads(shipped)
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def complaints(scenario: str | Mapping[str, Any]) -> list[str]:
    """What it marks in a file as it is written, or in its tables."""
    tables = tomllib.loads(scenario) if isinstance(scenario, str) else scenario
    return [f"{found.json_path}: {found.message}" for found in validator().iter_errors(tables)]
