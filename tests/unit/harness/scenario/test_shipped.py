"""What is true of every scenario that comes with the harness: prepared once for all of it."""

from __future__ import annotations

import functools

from harness.commands.carry_out import prepare_run
from harness.model.plan import Step
from harness.model.scenario import ScenarioError
from harness.scenario.file import shipped
from harness.scenario.prepare import Prepared, Request
from tests.support.scenarios import complaints


@functools.cache
def prepared() -> tuple[dict[str, Prepared], list[str]]:
    """Each by its name; and those that are refused, with the reason."""
    found, refused = {}, []
    for name in shipped():
        try:
            found[name] = prepare_run(Request(scenario=name, seed=1))
        except ScenarioError as error:
            refused.append(f"{name}: {error}")
    return found, refused


def test_each_is_possible_and_its_demands_can_be_judged() -> None:
    found, refused = prepared()

    assert [] == refused
    assert len(found) > 50


def test_each_has_the_name_of_its_file_and_a_title() -> None:
    found, _ = prepared()

    assert [*found] == [each.scenario.name for each in found.values()]
    assert [] == [name for name, each in found.items() if not each.scenario.title]


def test_the_schema_marks_nothing() -> None:
    assert [] == [
        f"{file.name}: {complaint}"
        for file in shipped().values()
        for complaint in complaints(file.read_text())
    ]


def test_each_plan_tells_what_its_faults_can_do() -> None:
    steps = [(name, step) for name, each in prepared()[0].items() for step in each.steps]

    assert len(steps) > 100
    assert [] == [
        f"{name}: {step.verb} {step.target}"
        for name, step in steps
        if step.effects is None or step.telling is None or Step(**step.as_record()) != step
    ]
