"""The tables of docs/scenario.md, and the schema for editors, from the models.

    python -m scripts.scenario_page      writes both

The page's sentences are written by hand; between `<!-- keys of NAME -->` and `<!-- end -->` stands
what is generated: a section's keys with type, unit, default and example, or what registries list.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from analysis.anomalies import ANOMALIES
from analysis.verdict.demands import DEMANDS
from harness.checkout import DOCS
from harness.model.campaigns.campaign import Campaign, Cell, Matrix, Note
from harness.model.plan import UNTIL, WHEN
from harness.model.scenario import (
    AttachPart,
    BackendPart,
    CheckPart,
    ClusterPart,
    ExternalPart,
    FaultPart,
    MixedPart,
    OutputsPart,
    ProgramPart,
    Scenario,
    SelectorsPart,
    TopicPart,
    WorkloadPart,
)
from harness.model.sections.backends import DockerPart, KubernetesPart
from harness.model.sections.expect import form_of
from harness.model.sections.members import MemberPart
from harness.nemesis.targets import TARGETS
from harness.nemesis.verbs import VERBS
from scripts import scenario_schema

PAGE = DOCS / "scenario.md"
SCHEMA = Path(str(files("harness.scenario") / "scenario.schema.json"))
MARKED = re.compile(r"(<!-- keys of (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# The tables of keys, by the name that the page gives them.
SECTIONS: dict[str, type[BaseModel]] = {
    "the file": Scenario,
    "cluster": ClusterPart,
    "topic": TopicPart,
    "workload": WorkloadPart,
    "workload.members": MemberPart,
    "programs": ProgramPart,
    "outputs": OutputsPart,
    "faults": FaultPart,
    "mixed": MixedPart,
    "check": CheckPart,
    "backend": BackendPart,
    "backend.docker": DockerPart,
    "backend.kubernetes": KubernetesPart,
    "backend.kubernetes.attach": AttachPart,
    "backend.kubernetes.attach.selectors": SelectorsPart,
    "backend.external": ExternalPart,
    "a campaign": Campaign,
    "a campaign's cell": Cell,
    "a campaign's matrix": Matrix,
    "a matrix's note": Note,
}
UNITS = {"_s": "s", "_ms": "ms", "_bytes": "bytes"}
NAMES = {"string": "text", "boolean": "`true` or `false`", "integer": "whole number"}
BOUNDLESS = 10**9  # what is allowed up to there has no limit worth telling
NO_LIMITS = dict.fromkeys(("minimum", "exclusiveMinimum", "exclusiveMaximum")) | {
    "maximum": BOUNDLESS
}
NO_CHOICES = {"items": {"type": "string"}}
Rows = Iterator[tuple[str, ...]]


def main() -> None:
    """Write both."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    SCHEMA.write_text(scenario_schema.text())
    sys.stdout.write(f"{PAGE} and {SCHEMA} written\n")


def with_tables(page: str) -> str:
    """The page with its tables as they are now."""
    return MARKED.sub(lambda m: f"{m[1]}{_generated(m['name'])}\n{m[3]}", page)


def _generated(name: str) -> str:
    if name in SECTIONS:
        return table(
            ("key", "type", "unit", "default", "example", "meaning"), _keys(SECTIONS[name])
        )
    heads, rows = OTHERS[name]
    return table(heads, rows())


def table(heads: tuple[str, ...], rows: Rows) -> str:
    """A table of Markdown."""
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


# Keys


def _keys(model: type[BaseModel]) -> Rows:
    """A row for each key of a model: as its schema has it, so that editors say the same."""
    for key, told in properties_of(model).items():
        default = _value(told["default"]) if "default" in told else "required"
        default = "—" if "$ref" in told else default
        example = _value(told["examples"][0]) if "examples" in told else ""
        yield f"`{key}`", _type(told), _unit(key, told), default, example, told["description"]


def properties_of(model: type[BaseModel]) -> Mapping[str, dict[str, Any]]:
    """A model's keys as JSON Schema has them, `null` kept out of unions."""
    properties: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    return {key: _without_null(told) for key, told in properties.items()}


def _without_null(told: dict[str, Any]) -> dict[str, Any]:
    others = [each for each in told.get("anyOf", []) if each != {"type": "null"}]
    return {**others[0], **told} if len(others) == 1 else told


def _unit(key: str, told: Mapping[str, Any]) -> str:
    by_end = (unit for end, unit in UNITS.items() if key.endswith(end))
    return str(told.get("unit") or next(by_end, ""))


def _type(told: Mapping[str, Any]) -> str:
    """What may stand there, in words."""
    if "anyOf" in told and not {"type", "$ref"} & told.keys():
        return " or ".join(map(_type, told["anyOf"]))
    if "enum" in told:
        return " or ".join(f"`{choice}`" for choice in told["enum"])
    if "$ref" in told or told.get("type") == "object":
        return "table"
    if told.get("type") == "array":
        of = told["items"]
        return "tables" if "$ref" in of else f"list of {_type(of)}".replace("text", "texts")
    return f"{NAMES.get(told['type'], told['type'])}{_limits(told)}"


def _limits(told: Mapping[str, Any]) -> str:
    least, most = told.get("minimum"), told.get("maximum", BOUNDLESS)
    above, below = told.get("exclusiveMinimum"), told.get("exclusiveMaximum")
    if least is not None and most < BOUNDLESS:
        return f", {least:,} to {most:,}"
    words = [
        f"at least {least:,}" if least is not None else "",
        f"more than {above:,}" if above is not None else "",
        f"at most {most:,}" if most < BOUNDLESS else "",
        f"less than {below:,}" if below is not None else "",
    ]
    told_words = " and ".join(filter(None, words))
    return f", {told_words}" if told_words else ""


def _value(value: Any) -> str:
    """A value as TOML writes it; a dash for what is not there, or empty."""
    return f"`{_toml(value)}`" if value not in (None, "", [], {}) else "—"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_key(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)


# What registries list


def _verbs() -> Rows:
    for name, verb in VERBS.items():
        told = properties_of(verb.options)
        options = (f"{_option(key, each)}: {each['description']}" for key, each in told.items())
        yield f"`{name}`", "<br>".join(options)


def _option(key: str, told: Mapping[str, Any]) -> str:
    """A key with what may stand there and its default; its words have the limits."""
    choices = [_toml(each) for each in told.get("enum", [])]
    of = " or ".join(f"`{each}`" for each in choices) or _type({**told, **NO_LIMITS, **NO_CHOICES})
    default = "" if told.get("default") is None else f", by default `{_toml(told['default'])}`"
    return f"`{key}` ({of}{default})"


def _targets() -> Rows:
    for name, target in TARGETS.items():
        yield f"`{name}`", target.who.strip(",")


def _moments() -> Rows:
    for key, words in (("when", WHEN), ("until", UNTIL)):
        for name, told in words.items():
            yield f'`{key} = "{name}"`', told


def _demands() -> Rows:
    meanings = {anomaly.name: anomaly.meaning for anomaly in ANOMALIES}
    for name in DEMANDS:
        form = ", ".join(f'`"{example}"`' for example in form_of(name).examples)
        yield f"`{name}`", form, meanings.get(name, "[anomalies.md](anomalies.md#demands)")


OTHERS: dict[str, tuple[tuple[str, ...], Callable[[], Rows]]] = {
    "verbs": (("verb", "options"), _verbs),
    "targets": (("target", "whom it means"), _targets),
    "moments": (("key", "what is waited for"), _moments),
    "expect": (("demand", "written", "about"), _demands),
}


if __name__ == "__main__":
    main()
