"""The shipped scenarios: their schema, asked as an editor asks it, and where two of them differ."""

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


def differences(one: Any, other: Any, path: str = "") -> set[str]:
    """Dotted paths at which two resolved scenarios differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        return {
            d for key in keys for d in differences(one.get(key), other.get(key), f"{path}/{key}")
        }
    return set() if one == other else {path}
