"""A matrix is scenarios x the values of some settings; one that makes no sense is refused."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.campaigns.campaign import Campaign, Matrix
from harness.model.campaigns.matrix import places
from harness.model.scenario import ScenarioError

ACKS, ISR = "workload.producer.acks", "topic.config.min.insync.replicas"
AXES: dict[str, Any] = {ACKS: ("1", "all"), ISR: (1, 2)}


def test_the_last_axis_changes_fastest_and_cells_are_called_by_kafka_s_words() -> None:
    assert [
        "hard/acks=1,min.insync.replicas=1",
        "hard/acks=1,min.insync.replicas=2",
        "hard/acks=all,min.insync.replicas=1",
        "hard/acks=all,min.insync.replicas=2",
    ] == [place.name for place in places(["hard"], AXES)]


def test_a_key_that_is_not_kafka_s_is_called_by_its_last_word() -> None:
    [place] = places(["hard"], {"topic.replication_factor": [3]})

    assert place.name == "hard/replication_factor=3"


def test_a_boolean_is_written_as_kafka_writes_it() -> None:
    [place] = places(["hard"], {"topic.config.unclean.leader.election.enable": [True]})

    assert place.name == "hard/unclean.leader.election.enable=true"


def test_cells_with_all_settings_of_an_exclusion_are_not_there() -> None:
    found = places(["hard", "soft"], AXES, [{ACKS: "1", ISR: 2}, {"scenario": "soft", ISR: 1}])

    assert [
        ("hard", "1", 1),
        ("hard", "all", 1),
        ("hard", "all", 2),
        ("soft", "all", 2),
    ] == [(each.scenario, each.settings[ACKS], each.settings[ISR]) for each in found]


@pytest.mark.parametrize(
    ("axes", "exclude", "told"),
    [
        ({}, (), "axes: name at least one setting"),
        ({ACKS: ()}, (), f"axes: {ACKS} has no values"),
        ({ACKS: ("1", "1")}, (), f"axes: {ACKS} has 1 twice"),
        ({ACKS: ("1",), "workload.consumer.acks": ("1",)}, (), "two are called acks"),
        (AXES, ({ACKS: "0"},), f"no cell has {ACKS} = 0"),
        (AXES, ({ACKS: "1"}, {ACKS: "all"}), "no cell is left"),
        (AXES, ({},), "no cell is left"),
    ],
)
def test_a_matrix_without_cells_is_refused(axes: Any, exclude: Any, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        places(["hard"], axes, exclude)


def test_a_cell_has_the_matrix_s_settings_its_own_and_the_notes_that_are_meant_for_it() -> None:
    matrix = Matrix.model_validate(
        {
            "scenarios": ["hard"],
            "repeats": 2,
            "axes": AXES,
            "set": {"workload.rate": 9},
            "notes": [{"where": {ACKS: "1"}, "text": "one"}, {"where": {ISR: 2}, "text": "two"}],
        }
    )

    cells = matrix.cells()

    assert ["one", "one two", "", "two"] == [cell.note for cell in cells]
    assert {"workload.rate": 9, ACKS: "all", ISR: 2} == cells[3].set
    assert {2} == {cell.repeats for cell in cells}


def test_a_campaign_s_cells_are_those_listed_and_those_of_its_matrices() -> None:
    listed = {"scenario": "hard", "repeats": 1}
    matrix = {"scenarios": ["hard"], "repeats": 1, "axes": {ACKS: ["1"]}}
    tables = {"title": "t", "data": "d", "cells": [listed], "matrix": [matrix]}

    found = Campaign.model_validate(tables).every_cell()

    assert ["hard", "hard/acks=1"] == [cell.key for cell in found]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "there are none"),
        ({"cells": [{"scenario": "hard", "repeats": 1}] * 2}, "two cells are called 'hard'"),
    ],
)
def test_a_campaign_without_cells_or_with_two_of_one_name_is_refused(more: Any, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        Campaign.model_validate({"title": "t", "data": "d", **more}).every_cell()
