"""What `run` refuses before anything starts: demands that nobody could judge afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.commands.carry_out import prepare_run
from harness.model.scenario import ScenarioError
from harness.scenario.prepare import Request
from tests.support.needs import needs

STREAM = """
title = "A stream"
[workload]
kind = "stream"
{work}
[workload.producer]
acks = "{acks}"
"enable.idempotence" = false
[expect]
"{demand}" = "<= 2"
"""


def prepared(folder: Path, demand: str, acks: str = "all", work: str = "") -> None:
    file = folder / "told.toml"
    file.write_text(STREAM.format(demand=demand, acks=acks, work=work))
    prepare_run(Request(scenario=str(file), seed=1))


@pytest.mark.parametrize(
    ("demand", "acks", "work", "why"),
    [
        ("produce-gap-s", "0", "", "with acks=0 nobody knows when writes stopped"),
        ("consume-gap-s", "all", "consumers = 0", "no consumer follows the log"),
        ("process-gap-s", "all", "", "there is no consumer group"),
        ("expelled-owners", "all", "", "there is no consumer group"),
        (
            "expelled-owners",
            "all",
            'group_consumers = 2\n[workload.consumer]\n"group.instance.id" = "a"',
            "judged only where members are of one generation",
        ),
        ("delivery-p99-ms", "all", "consumers = 0", "nobody reads"),
        ("ack-p99-ms", "0", "", "with acks=0 nothing is acknowledged"),
    ],
)
def test_a_demand_that_nobody_could_judge_is_refused(
    demand: str, acks: str, work: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=rf"told.toml: expect.{demand}: {why}"):
        prepared(tmp_path, demand, acks, work)


@pytest.mark.parametrize(
    ("demand", "work"),
    [
        ("produce-gap-s", ""),
        ("consume-gap-s", ""),
        ("process-gap-s", "group_consumers = 2"),
        ("expelled-owners", "group_consumers = 2"),
        ("delivery-p99-ms", "consumers = 0\ngroup_consumers = 2"),
        ("redeliveries", ""),
        ("ack-p99-ms", ""),
    ],
)
def test_one_that_can_be_judged_is_not(demand: str, work: str, tmp_path: Path) -> None:
    """The twin."""
    prepared(tmp_path, demand, work=work)


def test_with_a_file_of_ones_own_such_a_demand_of_the_scenario_is_shown(tmp_path: Path) -> None:
    needs("kafka")
    own = tmp_path / "producer.properties"
    own.write_text("acks=0\n")
    request = Request(scenario="pause-long", seed=1, producer_config=own)
    prepared = prepare_run(request)
    mine = replace(request, settings={"expect.produce-gap-s": "<= 9"})

    assert "produce-gap-s" not in prepared.scenario.expect
    assert "produce-gap-s" in prepared.record.shown_demands
    assert any("produce-gap-s is demanded of the scenario's own" in n for n in prepared.notes)
    with pytest.raises(ScenarioError, match=r"expect\.produce-gap-s: with acks=0 .* remove this"):
        prepare_run(mine)
