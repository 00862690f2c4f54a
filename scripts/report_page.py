"""The tables of docs/report.md, and report.json's JSON Schema, from the model.

    python -m scripts.report_page      writes both

The page's sentences are written by hand; between `<!-- keys of NAME -->` and `<!-- end -->` stand a
part's fields. A part without a table of its own is told within the one that it is in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from harness.checkout import DOCS
from harness.model.runs.report import Report
from harness.model.runs.report_course import FaultTold, Replication, Stretch, Window
from harness.model.runs.report_findings import (
    CauseTold,
    Counts,
    Example,
    Finding,
    Stories,
    StoryTold,
)
from scripts.scenario_page import MARKED, table

PAGE, SCHEMA = DOCS / "report.md", DOCS / "report.schema.json"
# The tables of fields, by the name that the page gives them.
SECTIONS: dict[str, type[BaseModel]] = {
    "the file": Report,
    "counts": Counts,
    "an anomaly": Finding,
    "evidence": Example,
    "stories": Stories,
    "a story": StoryTold,
    "a cause": CauseTold,
    "a window": Window,
    "a fault": FaultTold,
    "replication": Replication,
    "a stretch": Stretch,
}
TYPES = {
    "string": "text",
    "integer": "whole number",
    "boolean": "`true` or `false`",
    "object": "table",
    "null": "`null`",
}


def main() -> None:
    """Write both."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    SCHEMA.write_text(schema_text())
    sys.stdout.write(f"{PAGE} and {SCHEMA} written\n")


def schema_text() -> str:
    """The JSON Schema as it is kept: only what every release wrote is required."""
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", **_schema()}
    return json.dumps(made | {"title": "kafka-harness report.json"}, indent=1) + "\n"


def with_tables(page: str) -> str:
    """The page with its tables as they are now."""
    return MARKED.sub(lambda m: f"{m[1]}{_table(m['name'])}\n{m[3]}", page)


def _table(name: str) -> str:
    definitions = _schema()["$defs"] | {Report.__name__: _schema()}
    return table(("field", "type", "meaning"), _fields(SECTIONS[name].__name__, definitions))


def _schema() -> dict[str, Any]:
    made: dict[str, Any] = _untitled(Report.model_json_schema())
    return made


def _untitled(node: Any) -> Any:
    """Without titles, which are made of names."""
    if isinstance(node, list):
        return [_untitled(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: each for key, each in node.items() if key != "title" or isinstance(each, dict)}
    return {key: _untitled(each) for key, each in kept.items()}


def _fields(model: str, definitions: dict[str, Any], before: str = "") -> Iterator[tuple[str, ...]]:
    """A row for each field of a part, and of the parts in it."""
    elsewhere = {section.__name__ for section in SECTIONS.values()}
    for key, told in definitions[model]["properties"].items():
        yield f"{before}`{key}`", _type(told), told["description"]
        inner = _part(told)
        if inner and inner not in elsewhere:
            yield from _fields(inner, definitions, f"{before}`{key}`.")


def _part(told: dict[str, Any]) -> str:
    """The part that a field has one or several of; empty: none."""
    if "$ref" in told:
        return str(told["$ref"]).rpartition("/")[2]
    inner = [*told.get("anyOf", ()), told.get("items"), told.get("additionalProperties")]
    return next(filter(None, (_part(each) for each in inner if isinstance(each, dict))), "")


def _type(told: dict[str, Any]) -> str:
    """What may stand there, in words."""
    if "enum" in told or "const" in told:
        return " or ".join(f"`{each}`" for each in told.get("enum", [told.get("const")]))
    if union := told.get("anyOf"):
        words = dict.fromkeys(map(_type, union))
        if "number" in words:
            words.pop("whole number", None)
        return " or ".join(words)
    if told.get("type") == "array":
        return f"list of {_type(told['items'])}s"
    if isinstance(of := told.get("additionalProperties"), dict):
        return f"{_type(of)}s by name"
    return "table" if "$ref" in told else TYPES.get(told.get("type", ""), told.get("type", "any"))


if __name__ == "__main__":
    main()
