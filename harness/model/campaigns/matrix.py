"""Makes cells of a matrix: scenarios x the values of some settings.

    axes: workload.producer.acks = 1, all    topic.config.min.insync.replicas = 1, 2
    =>  study-1/acks=1,min.insync.replicas=1    study-1/acks=1,min.insync.replicas=2    …

A cell's name is its scenario and, for each axis, the part of the key that Kafka knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from harness.model.kafka_text import kafka_text
from harness.model.scenario import ScenarioError
from harness.model.sections.part import OPEN_SECTIONS

Axes = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A cell of a matrix: a scenario with one value of each axis."""

    scenario: str
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The cell's name in the data."""
        return f"{self.scenario}/{','.join(in_words(self.settings))}"

    def has(self, settings: Mapping[str, Any]) -> bool:
        """Whether it has all of these settings; `scenario` may be one of them."""
        own = {**self.settings, "scenario": self.scenario}
        return all(key in own and own[key] == value for key, value in settings.items())


def places(
    scenarios: Sequence[str], axes: Axes, exclude: Sequence[Mapping[str, Any]] = ()
) -> list[Place]:
    """The cells, the last axis changing fastest, without those that have all settings of an
    exclusion. Raises ScenarioError for a matrix without cells, and for an exclusion that excludes
    nothing."""
    _require_values(axes)
    whole = [
        Place(scenario=scenario, settings=dict(zip(axes, values, strict=True)))
        for scenario in scenarios
        for values in product(*axes.values())
    ]
    for one in exclude:
        if not any(place.has(one) for place in whole):
            words = ", ".join(f"{key} = {value}" for key, value in one.items()) or "nothing"
            raise ScenarioError(
                f"exclude: no cell has {words}: write keys and values as the axes have them"
            )
    left = [place for place in whole if not any(place.has(one) for one in exclude)]
    if not left:
        raise ScenarioError("exclude: no cell is left: exclude less, or give the axes more values")
    return left


def in_words(settings: Mapping[str, Any]) -> Iterator[str]:
    """Each setting, shortly: `acks=1`."""
    for key, value in settings.items():
        yield f"{short(key)}={kafka_text(value)}"


def short(key: str) -> str:
    """The part of a scenario's key that says most; for Kafka's own keys, Kafka's name."""
    section = next((name for name in OPEN_SECTIONS if key.startswith(f"{name}.")), None)
    return key[len(section) + 1 :] if section else key.rpartition(".")[2]


def _require_values(axes: Axes) -> None:
    if not axes:
        raise ScenarioError("axes: name at least one setting, each with its values")
    for key, values in axes.items():
        if not values:
            raise ScenarioError(f"axes: {key} has no values: give it at least one")
        texts = [kafka_text(value) for value in values]
        if twice := [text for text in texts if texts.count(text) > 1]:
            raise ScenarioError(f"axes: {key} has {twice[0]} twice: give each value once")
    names = [short(key) for key in axes]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ScenarioError(f"axes: two are called {twice[0]}: a matrix takes one of them")
