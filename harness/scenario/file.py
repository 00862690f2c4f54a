"""The scenario: one experiment as a TOML file, checked before anything starts.

    title = "acks=1, the leader killed every 1,000 rounds"
    extends = "study-1"            # optional: start from that scenario, change what is named here
    [backend.external]             # bootstrap, client: settings of one backend
    [cluster]                      # kafka, metadata, brokers, session_ms, [cluster.server]…
    [topic]                        # partitions, replication_factor, leader, [topic.config]
    [workload]                     # kind, rounds | rate, duration_s; [workload.producer|consumer]
    [[faults]]                     # verb, target, at_s | after_acks | after_rounds, times, for_s…
    [mixed]                        # faults drawn at random, anew each period
    [check]                        # unavailability_threshold_ms, replicas, watermarks
    [expect]                       # lost = ">= 1" or "> 50 %", produce-gap-s = ">= 8": demands

Everything unknown is refused with the nearest right name; Kafka's own keys are checked when the run
is prepared (harness.scenario.kafka.keys). `ScenarioError` names file, key and remedy in one
sentence.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.config_files.settings import listed
from harness.model.scenario import (
    FaultPart,
    MixedPart,
    Scenario,
    ScenarioError,
)
from harness.model.spelling import did_you_mean
from harness.release import SCENARIOS
from harness.scenario.entries import entry_name
from harness.scenario.kafka.release import normalize, without_session
from harness.scenario.no_effect import in_file, in_settings
from harness.scenario.overrides import lay_over, misplaced
from harness.scenario.rules import problems


def shipped() -> dict[str, Path]:
    """Name -> file of every scenario that comes with the harness, in folders by family."""
    files = sorted(SCENARIOS.rglob("*.toml"), key=lambda path: path.stem)
    return {path.stem: path for path in files}


def families() -> dict[str, list[str]]:
    """The same names by their folder; those outside any folder come first."""
    by_family: dict[str, list[str]] = {"": []}
    for name, path in shipped().items():
        family = "" if path.parent == SCENARIOS else path.parent.name
        by_family.setdefault(family, []).append(name)
    return dict(sorted(by_family.items()))


def read_scenario(which: str, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """A shipped scenario by name or any file by path, with `overrides` ("a.b": value) laid over.

    Raises ScenarioError.
    """
    own = open_scenario(which, overrides or {})
    return checked_scenario(own.tables(), own.path.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A scenario's file and the settings on top of it; not yet checked."""

    which: str  # as the user named it
    path: Path
    raw: Mapping[str, Any]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def tables(self) -> dict[str, Any]:
        """Its tables with the settings laid over. Raises ScenarioError."""
        return with_overrides(self.path, self.raw, self.settings)

    def shape(self, tables: Mapping[str, Any] | None = None) -> Scenario:
        """These tables, or those of `tables()`, as a scenario; checks keys and types only. Raises
        ScenarioError."""
        return parse_tables(self.tables() if tables is None else tables, self.path.name)

    def own_and_set(self, section: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A section's keys as the file has them, and as they are set. A section that is set as a
        whole, or within a whole table, has none of the file's keys."""
        own, given = _table_at(self.raw, section), dict[str, Any]()
        for path, value in self.settings.items():
            if f"{section}.".startswith(f"{path}."):
                own, given = {}, _table_at(value, section[len(path) + 1 :])
            elif path.startswith(f"{section}."):
                given[path[len(section) + 1 :]] = value
        return own, given


def _table_at(tables: Any, path: str) -> dict[str, Any]:
    """The table at a dotted path, or an empty one; the model refuses what is no table."""
    for part in path.split(".") if path else ():
        tables = tables.get(part) if isinstance(tables, Mapping) else None
    return dict(tables) if isinstance(tables, Mapping) else {}


def open_scenario(which: str, settings: Mapping[str, Any]) -> Source:
    """A shipped scenario by name or any file by path. Raises ScenarioError."""
    path = scenario_path(which)
    normal = normalize(read_raw(path), settings, read_raw(path, only_users=True))
    return Source(
        which=which, path=path, raw=normal.raw, settings=normal.settings, notes=normal.notes
    )


def names_its_kafka(which: str, settings: Mapping[str, Any]) -> bool:
    """Whether a scenario or its settings name the Kafka release or who keeps its metadata. Raises
    ScenarioError."""
    own = _table_at(read_raw(scenario_path(which)), "cluster")
    set_ = {path.removeprefix("cluster.") for path in settings}
    return bool({"kafka", "metadata"} & (own.keys() | set_))


def with_overrides(
    path: Path, raw: Mapping[str, Any], overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """A scenario's tables with `overrides` laid over. Raises ScenarioError for one without
    effect."""
    tables = copy.deepcopy(dict(raw))
    for key, value in overrides.items():
        if why := misplaced(key, value):
            raise ScenarioError(f"{path.name}: {why}")
        lay_over(tables, key, value)
    for sentence in in_settings(overrides, tables):
        raise ScenarioError(f"{path.name}: {sentence}")
    tables.setdefault("name", path.stem)
    return tables


def checked_scenario(tables: Mapping[str, Any], name: str = "") -> Scenario:
    """The scenario of these tables. Raises ScenarioError for what is wrong or impossible, with
    `name` before it."""
    scenario = parse_tables(tables, name)
    for problem in problems(scenario):
        raise ScenarioError(f"{name}: {problem}" if name else problem)
    return scenario


def parse_tables(tables: Mapping[str, Any], name: str = "") -> Scenario:
    """The scenario of these tables; checks keys and types only. Raises ScenarioError."""
    tables = _lists_to_tuples(dict(tables))
    try:
        return Scenario.model_validate(tables)
    except ValidationError as error:
        whys = (f"{name}: {why}" if name else why for why in validation_sentences(error, tables))
        raise ScenarioError(listed(whys)) from None


def scenario_path(which: str) -> Path:
    """The file of a scenario given by name or path."""
    if which.endswith(".toml") or "/" in which:
        path = Path(which)
        if not path.is_file():
            raise ScenarioError(f"{which}: no such file; `kafka-harness scenarios` lists names")
        return path
    known = shipped()
    if which not in known:
        raise ScenarioError(
            f"unknown scenario {which!r}{did_you_mean(which, known)}; "
            "`kafka-harness scenarios` lists them, or give the path of a .toml file"
        )
    return known[which]


def tables_in(path: Path, name: str) -> dict[str, Any]:
    """The tables of a TOML file, with or without a byte order mark; errors call it `name`. Raises
    ScenarioError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{name}: not a TOML file: {error}") from None
    except OSError as error:
        raise ScenarioError(f"{name}: cannot be read: {error.strerror}") from None


def read_raw(
    path: Path, seen: tuple[Path, ...] = (), *, only_users: bool = False
) -> dict[str, Any]:
    """The file's tables over those that it extends, not yet checked; `only_users`: without those of
    shipped scenarios."""
    if only_users and path.is_relative_to(SCENARIOS):
        return {}
    raw = tables_in(path, path.name)
    base = raw.pop("extends", None)
    whole = raw
    if base is not None:
        if not isinstance(base, str):
            raise ScenarioError(f"{path.name}: extends: write a scenario's name, got {base!r}")
        if path in seen:
            raise ScenarioError(f"{path.name}: extends itself; remove one `extends`")
        beside = path.parent / f"{base}.toml"
        file = beside if beside.is_file() else scenario_path(base)
        below = read_raw(file, (*seen, path), only_users=only_users)
        whole = _merge(without_session(below, raw), raw)
    for sentence in in_file(raw, whole):
        raise ScenarioError(f"{path.name}: {sentence}")
    return whole


def validation_sentences(error: ValidationError, tables: Mapping[str, Any]) -> list[str]:
    """One sentence for each problem, which names the key and what would be right."""
    sentences = []
    for problem in error.errors():
        where, key = _entry_and_key(problem["loc"], tables)
        sentences.append(where + _what_is_wrong(dict(problem), [*map(str, problem["loc"])], key))
    return list(dict.fromkeys(sentences))


def _entry_and_key(location: Sequence[int | str], tables: Mapping[str, Any]) -> tuple[str, str]:
    """`first [[faults]] (kill leader): ` and the key within it; outside of lists of tables no entry
    and the whole key."""
    table: Any = tables
    for at, part in enumerate(location):
        try:
            entry = table[part]
        except (LookupError, TypeError):
            break
        if isinstance(part, int):
            section = ".".join(map(str, location[:at]))
            rest = ".".join(map(str, location[at + 1 :]))
            return f"{entry_name(section, part, entry)}: ", rest
        table = entry
    return "", ".".join(map(str, location))


def _what_is_wrong(first: Mapping[str, Any], location: Sequence[str], key: str) -> str:
    if first["type"] == "extra_forbidden":
        before = key.rpartition(".")[0]
        known = _keys_at(location[:-1])
        return (
            f"unknown key {key}{did_you_mean(location[-1], known, f'{before}.' if before else '')}"
        )
    if first["type"] == "string_type" and location[0] == "expect":
        return f'{key}: a demand is a text: write {key} = "{first["input"]}"'
    if first["type"] == "missing":
        return f"{key} is missing"
    if first["type"] == "tuple_type" and location[-1] == "faults":
        return f"{key}: write [[{key}]] in double brackets, once for each fault"
    message = first["msg"].removeprefix("Value error, ")
    return f"{key}: {message}, got {first['input']!r}" if key else message


def _keys_at(location: Sequence[str]) -> list[str]:
    model: Any = Scenario
    for part in filter(lambda part: not part.isdigit(), location):
        model = model.model_fields[part].annotation if part in model.model_fields else None
        model = {"faults": FaultPart, "mixed": MixedPart}.get(part, model)
        if model is None or not hasattr(model, "model_fields"):
            return []
    return list(model.model_fields)


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        both = isinstance(under, dict) and isinstance(value, dict)
        merged[key] = _merge(under, value) if both and isinstance(under, dict) else value
    return merged


def _lists_to_tuples(raw: dict[str, Any]) -> dict[str, Any]:
    """The tables with lists of tables as tuples, as the model has them; a missing list is empty."""
    mixed = raw.get("mixed")
    if isinstance(mixed, dict):
        mixed = {**mixed, "faults": _tuple(mixed.get("faults", ()))}
    lists = {key: _tuple(raw.get(key, ())) for key in ("faults", "programs")}
    return {**raw, **lists, "mixed": mixed}


def _tuple(entries: Any) -> Any:
    return tuple(entries) if isinstance(entries, list) else entries
