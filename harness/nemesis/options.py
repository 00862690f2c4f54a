"""The options of a verb: a model of them, and a sentence for each that is wrong.

    class RollOptions(Options):
        how: Literal["clean", "hard"] = Field("clean", description="…")

    problems(RollOptions, {"how": "gently"})    how is 'gently', must be one of clean, hard
    problems(RollOptions, {"hw": "hard"})       'hw' is unknown (did you mean 'how'?): this verb
                                                takes how

A field's description says what its value is, with unit and limits; sentences are made of it. An
option that must be given has an example. The plan keeps the options as the user gave them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from harness.model.spelling import did_you_mean


class Options(BaseModel):
    """The options of a verb that takes none; the base of all others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def of(cls, options: Options | Mapping[str, Any]) -> Self:
        """The options as this model: given by a scenario, or an instance already."""
        return options if isinstance(options, cls) else cls.model_validate(options)

    @classmethod
    def example(cls) -> dict[str, Any]:
        """Valid options: the required ones, as in their examples."""
        fields = _fields(cls).items()
        return {
            n: field.examples[0] for n, field in fields if field.is_required() and field.examples
        }

    def as_given(self) -> dict[str, Any]:
        """Those that were given, by their names in the scenario."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def problems(model: type[Options], given: Mapping[str, Any]) -> list[str]:
    """A sentence for each option that is wrong; nothing when all are right."""
    try:
        model.model_validate(dict(given))
    except ValidationError as error:
        return list(dict.fromkeys(_sentence(model, dict(problem)) for problem in error.errors()))
    return []


def _sentence(model: type[Options], error: dict[str, Any]) -> str:
    fields = _fields(model)
    key = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "extra_forbidden":
        takes = f"takes {', '.join(fields)}" if fields else "takes none"
        return f"{key!r} is unknown{did_you_mean(key, fields)}: this verb {takes}"
    wanted = _wanted(key, fields[key]) if key in fields else "one text, number or boolean"
    if error["type"] == "missing":
        return f"{key} is missing: give {wanted}"
    return f"{key} is {error['input']!r}, must be {wanted}"


def _fields(model: type[Options]) -> dict[str, FieldInfo]:
    """The model's fields by their names in the scenario."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _wanted(key: str, field: FieldInfo) -> str:
    """What would be right."""
    if choices := _choices(field.annotation):
        return f"one of {', '.join(choices)}"
    as_in = f", as in {key} = {json.dumps(field.examples[0])}" if field.examples else ""
    return f"{field.description}{as_in}"


def _choices(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    inner = [part for part in get_args(annotation) if part is not NoneType]
    return _choices(inner[0]) if len(inner) == 1 else []
