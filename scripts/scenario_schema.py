"""The JSON Schema of scenario files, which editors complete and check them by.

    python -m scripts.scenario_page      writes it into harness/scenario, and docs/scenario.md

Of a file as it is written: one that extends another needs no key. What pydantic makes of the models
is brought to draft 7, which editors of TOML read, and then told what only registries know: verbs
and their options, targets, demands, the keys that the harness sets itself.

Cannot say: what depends on two sections (a target that this cluster has not, a fault after the
load's end), and whether Kafka knows a key. `kafka-harness show` tells both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from analysis.anomalies import ANOMALIES
from analysis.verdict.demands import DEMANDS
from harness.cluster.client_security import SECRET
from harness.cluster.node_settings import OWNED_BY_HARNESS
from harness.model.scenario import Scenario
from harness.model.sections.expect import form_of
from harness.model.worker_kinds import KINDS
from harness.nemesis.targets import TARGETS
from harness.nemesis.verbs import VERBS

Schema = dict[str, Any]

EXTENDS = (
    "the scenario that this one starts from: a file's name beside it, without .toml, a shipped "
    "scenario, or a path; what is named here is changed, all else kept"
)
# When a fault is first due, and the key for those after it.
WHEN = {"at_s": "every_s", "after_acks": "every_acks", "after_rounds": "every_rounds"}
_NULL = {"type": "null"}
_WHOLE = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^\d+$"}]}
_SIMPLE = ("string", "integer", "number", "boolean")


def schema() -> Schema:
    """The whole of it."""
    made = _plain(Scenario.model_json_schema())
    definitions = made.pop("$defs")
    required = {
        "": made.pop("required"),
        "workload": definitions["WorkloadPart"].pop("required"),
        "mixed": definitions["MixedPart"].pop("required"),
    }
    _name_faults(definitions["FaultPart"])
    _refuse_keys(definitions)
    for part, section in (("ClusterPart", "server"), ("TopicPart", "config")):
        definitions[part]["properties"][section]["properties"] = {"min.insync.replicas": _WHOLE}
    kinds = "|".join(kind.name for kind in KINDS.values() if kind.hit_alone)
    definitions["target"] = {
        "anyOf": [
            {"enum": list(TARGETS)},
            {"pattern": rf"^((kafka|zk|controller)\d+|({kinds})-\d+(-\d+)*)$"},
        ]
    }
    definitions["TopicPart"]["properties"]["leader"]["pattern"] = (
        r"^(any|controller|not-controller|kafka\d+)$"
    )
    properties = {"extends": {"type": "string", "description": EXTENDS}, **made["properties"]}
    properties["faults"]["items"] = {"allOf": [properties["faults"]["items"], *_timing()]}
    properties["expect"] |= {"properties": _demands(), "additionalProperties": False}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "kafka-harness scenario",
        "description": made["description"],
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "if": {"not": {"required": ["extends"]}},
        "then": {
            "required": required.pop(""),
            "properties": {section: {"required": keys} for section, keys in required.items()},
        },
        "definitions": definitions,
    }


def text() -> str:
    """As it is shipped."""
    return json.dumps(schema(), indent=1) + "\n"


# From pydantic's dialect


def _plain(node: Any) -> Any:
    """Without nulls, which TOML has not, without titles made of names, in the words of draft 7."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: value if key in ("default", "examples") else _plain(value)
        for key, value in node.items()
        if key not in ("unit", "title") or isinstance(value, dict)
    }
    if kept.get("default", "") is None:
        del kept["default"]
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].replace("/$defs/", "/definitions/")
    return _one_of_one(kept)


def _one_of_one(node: Schema) -> Schema:
    """Unions of simple types are a list of them, one with null is its other part, and what stands
    beside a reference, which draft 7 would not look at, goes beside a list of it."""
    union = [each for each in node.get("anyOf", []) if each != _NULL]
    if union and all(set(each) == {"type"} and each["type"] in _SIMPLE for each in union):
        del node["anyOf"]
        node["type"] = [each["type"] for each in union if each["type"] != "integer"]
    elif len(union) == 1:
        del node["anyOf"]
        node = {**union[0], **node}
    if "$ref" in node and len(node) > 1:
        node["allOf"] = [{"$ref": node.pop("$ref")}]
    return node


# What registries know


def _name_faults(fault: Schema) -> None:
    """Verbs, each with its options, and targets."""
    properties = fault["properties"]
    properties["verb"]["enum"] = list(VERBS)
    properties["target"]["allOf"] = [{"$ref": "#/definitions/target"}]
    options = {name: _plain(verb.options.model_json_schema()) for name, verb in VERBS.items()}
    fault["allOf"] = [
        {
            "if": {"properties": {"verb": {"const": name}}, "required": ["verb"]},
            "then": {
                "properties": {"options": _without_words(wanted)},
                **({"required": ["options"]} if VERBS[name].options.example() else {}),
            },
        }
        for name, wanted in options.items()
    ]


def _without_words(options: Schema) -> Schema:
    """A verb's options without the docstring of their class, which is not for users."""
    return {key: value for key, value in options.items() if key != "description"}


def _timing() -> list[Schema]:
    """An entry of the plan says once when it is due; one that is due again says how much later."""
    alone = {"required": ["when"], "not": {"anyOf": [{"required": [key]} for key in WHEN]}}
    again = [
        {
            "if": {
                "required": [first, "times"],
                "properties": {"times": {"minimum": 2}},
                "not": {"required": ["when"]},
            },
            "then": {"required": [every]},
        }
        for first, every in WHEN.items()
    ]
    return [{"oneOf": [*({"required": [key]} for key in WHEN), alone]}, *again]


def _refuse_keys(definitions: Mapping[str, Schema]) -> None:
    """Keys of nodes and clients that are not the scenario's to set."""
    cluster = definitions["ClusterPart"]["properties"]
    of = {"server": "server", "broker": "kraft", "controller": "kraft", "zoo": "zoo"}
    for section, whose in of.items():
        owned = {"enum": list(OWNED_BY_HARNESS[whose])}
        cluster[section]["propertyNames"] = {"not": {"anyOf": [owned, {"pattern": r"^server\."}]}}
    secret = "|".join(map(re.escape, SECRET))
    for role in ("producer", "consumer"):
        keys = definitions["WorkloadPart"]["properties"][role]
        keys["propertyNames"] = {"not": {"pattern": f"^({secret})"}}


def _demands() -> dict[str, Schema]:
    """What can be demanded, each with its meaning and its form."""
    meanings = {anomaly.name: anomaly.meaning for anomaly in ANOMALIES}
    return {
        name: {
            "type": "string",
            "maxLength": 100,
            "pattern": _pattern(form_of(name).pattern),
            **({"description": meanings[name]} if name in meanings else {}),
        }
        for name in DEMANDS
    }


def _pattern(form: re.Pattern[str]) -> str:
    """A whole match, in the expressions of JSON Schema: groups have no names there."""
    return f"^({re.sub(r'[?]P<[a-z]+>', '', form.pattern)})$"
