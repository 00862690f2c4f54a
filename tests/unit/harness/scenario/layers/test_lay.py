"""A scenario, files and --set, laid over each other: what the run really has, and what is said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.config_files.settings import ConfigFileError
from harness.model.scenario import ScenarioError
from harness.model.sections.expect import split_demands
from harness.scenario.file import open_scenario, read_scenario
from harness.scenario.layers.lay import Files, by_layer, lay
from harness.scenario.no_effect import kind_of_key
from tests.support.config_files import OWN, LayOver, told

# Clients


def test_without_files_nothing_is_said_and_the_scenario_holds(laid: LayOver) -> None:
    found = laid()

    assert () == found.notes
    assert {} == found.shown_demands
    assert (
        read_scenario("baseline").expect
        == lay(open_scenario("baseline", {}), Files()).scenario.expect
    )
    assert found.origins["producer"]["acks"] == "scenario"
    assert found.origins["consumer"]["isolation.level"] == "harness"


def test_a_file_takes_the_place_of_the_scenario_s_section_but_for_its_times(laid: LayOver) -> None:
    """A file of one line, acks=1: nothing is said of an idempotence that it does not have."""
    found = laid(producer="acks=1\n")
    producer = found.scenario.workload.producer

    assert (producer["acks"], producer["enable.idempotence"]) == ("1", False)
    assert producer["message.timeout.ms"] == 4000
    (note,) = told(found, "takes the place of [workload.producer]")
    assert "replaced are acks = all, enable.idempotence = true" in note
    assert "message.timeout.ms = 4000 (the Java client: 120000)" in note
    assert found.origins["producer"]["acks"] == "producer.properties, line 1"
    assert "producer.properties, line 1: acks = 1; " in by_layer(
        found.origins["producer"], producer
    )


def test_set_wins_over_a_file(laid: LayOver) -> None:
    """So the cells of a matrix of producer.acks beside a file differ."""
    for acks in ("0", "1", "all"):
        found = laid(settings={"workload.producer.acks": acks}, producer="acks=1\n")
        assert acks == found.scenario.workload.producer["acks"]
        assert "--set" == found.origins["producer"]["acks"]


@pytest.mark.parametrize("whole", ["workload.producer", "workload"])
def test_a_section_that_is_set_as_a_whole_is_no_longer_the_scenario_s(
    laid: LayOver, whole: str
) -> None:
    producer = {"acks": "1"}
    table = producer if whole == "workload.producer" else {"kind": "stream", "producer": producer}
    found = laid(settings={whole: table})
    config = found.scenario.workload.producer

    assert ("1", False, 120000) == (
        config["acks"],
        config["enable.idempotence"],
        config["message.timeout.ms"],
    )
    assert "--set" == found.origins["producer"]["acks"]


def test_a_scenario_s_own_idempotence_stays_and_is_refused_with_the_second_set(
    laid: LayOver,
) -> None:
    with pytest.raises(ScenarioError, match=r"--set producer\.enable\.idempotence=false"):
        laid(settings={"workload.producer.acks": "1"})
    with pytest.raises(ScenarioError, match=r"acks: Input should be one of 0, 1, -1, all, got 2"):
        laid(settings={"workload.producer.acks": 2})


def test_a_contradiction_is_told_with_the_lines_that_make_it(laid: LayOver) -> None:
    with pytest.raises(ScenarioError, match=r"acks=all, .*set producer\.enable\.idempotence") as no:
        laid(producer="acks=1\nenable.idempotence=TRUE\n")
    lines = "(acks=1: producer.properties, line 1; enable.idempotence=true: producer.properties, li"
    assert lines in str(no.value)


def test_set_wins_over_a_line_that_is_wrong(laid: LayOver) -> None:
    found = laid(settings={"workload.producer.linger.ms": 3}, producer="linger.ms={{ x }}\n")

    assert 3 == found.scenario.workload.producer["linger.ms"]
    with pytest.raises(ConfigFileError, match="line 1: linger"):
        laid(producer="linger.ms={{ x }}\n")


def test_what_had_to_fit_is_told(laid: LayOver) -> None:
    text = OWN.replace("[workload.producer]", '[workload.producer]\n"transactional.id" = "t"')
    found = laid(
        text, {"workload.transaction_abort_every": 3}, producer="delivery.timeout.ms=90000\n"
    )

    (note,) = told(found, "to fit transaction.timeout.ms = 60000")
    assert note.startswith("producer.properties, line 1: message.timeout.ms = 90000 is 60000 here")
    (kept,) = told(found, "takes the place of")
    assert kept.endswith("; transactional.id stays, since the scenario needs transactions")


def test_a_transactional_id_stays_where_the_scenario_needs_one(laid: LayOver) -> None:
    text = OWN.replace("[workload.producer]", '[workload.producer]\n"transactional.id" = "t"')

    assert "transactional.id" not in laid(text, producer="acks=all\n").scenario.workload.producer
    for needed in (
        {"expect.torn": "0", "workload.consumer.isolation.level": "read_committed"},
        {"workload.transaction_abort_every": 3},
    ):
        assert laid(text, needed, producer="acks=all\n").scenario.workload.producer[
            "transactional.id"
        ]


def test_how_a_group_commits_is_the_workload_s(laid: LayOver) -> None:
    for text, commit in (("true", "after"), ("false", "auto")):
        with pytest.raises(ScenarioError, match=r"consumer\.properties, line 1: enable\.auto"):
            laid(settings={"workload.commit": commit}, consumer=f"enable.auto.commit={text}\n")
    with pytest.raises(ScenarioError, match=r"^scenario: enable\.auto\.commit=true, but workload"):
        laid(OWN.replace('"session.timeout.ms" = 6000', '"enable.auto.commit" = true'))
    agreed = laid(consumer="enable.auto.commit=false\n")
    silent = laid(consumer="max.poll.interval.ms=300000\n")
    alone = OWN.replace("group_consumers = 2", "")

    assert [] == told(agreed, "how the group commits")
    assert 1 == len(told(silent, "how the group commits is workload.commit (after)"))
    assert [] == told(laid(alone, consumer="enable.auto.commit=true\n"), "how the group commits")


def test_members_have_an_instance_id_each(laid: LayOver) -> None:
    def instance(text: str, settings: Mapping[str, Any] | None = None) -> tuple[Any, int]:
        found = laid(settings=settings, consumer=text)
        config = found.scenario.workload.consumer
        return config.get("group.instance.id"), len(told(found, "group.instance.id"))

    assert ("a-{index}", 1) == instance("group.instance.id=a\n")
    assert ("{index}-a", 0) == instance("group.instance.id={index}-a\n")
    assert ("a", 0) == instance("group.instance.id=a\n", {"workload.group_consumers": 1})
    assert (None, 0) == instance("max.poll.interval.ms=300000\n")
    own = laid(settings={"workload.consumer.group.instance.id": "b"})
    assert "b-{index}" == own.scenario.workload.consumer["group.instance.id"]


@pytest.mark.parametrize(
    ("producer", "settings", "expected"),
    [
        ("acks=all\nbuffer.memory=1000000\nmax.block.ms=7000", {}, ("wait", 7000)),
        ("acks=all\nbuffer.memory=1000000", {}, ("wait", 60_000)),
        ("acks=all\nmax.block.ms=7000", {"workload.max_block_ms": 9}, ("wait", 9)),
        ("acks=all\nmax.block.ms=7000", {"workload.when_full": "fail"}, ("fail", 60_000)),
        ("acks=all\nqueue.buffering.max.messages=1000", {}, ("fail", 60_000)),
    ],
)
def test_sends_wait_where_a_java_producer_s_file_is_brought(
    laid: LayOver, producer: str, settings: dict[str, Any], expected: tuple[str, int]
) -> None:
    """Unless --set says what they do."""
    found = laid(settings=settings, producer=producer)
    work, notes = found.scenario.workload, " ".join(found.notes)

    assert expected == (work.when_full, work.max_block_ms)
    assert (f"up to max.block.ms = {expected[1]}, as in the Java client" in notes) == (
        expected[0] == "wait"
    )


def test_whose_defaults_lie_below_can_be_said(laid: LayOver) -> None:
    found = laid(
        OWN.replace('"enable.idempotence" = true', ""), {"workload.client_defaults": "librdkafka"}
    )

    assert found.scenario.workload.producer["enable.idempotence"] is False
    assert "default of librdkafka" == found.origins["producer"]["linger.ms"]


# Demands


def test_demands_of_a_scenario_on_its_own_clients_are_shown_once_one_was_replaced(
    laid: LayOver,
) -> None:
    replaced = laid(producer="acks=1\n")
    same = laid(producer="acks=all\nenable.idempotence=true\n")
    mine = laid(settings={"expect.lost": ">= 1"}, producer="acks=1\n")

    assert {"duplicate": "0", "produce-gap-s": "<= 9"} == replaced.scenario.expect
    assert {"lost": ">= 1", "produce-gap-s": ">= 2"} == replaced.shown_demands
    assert 1 == len(told(replaced, 'demands lost = ">= 1", produce-gap-s = ">= 2" of its own'))
    assert {} == same.shown_demands
    assert ">= 1" == mine.scenario.expect["lost"]
    assert laid(server="replica.lag.time.max.ms=30000\n").shown_demands
    assert not laid(server="replica.lag.time.max.ms=1500\n").shown_demands
    assert not laid(settings={"workload.producer.linger.ms": 3}).shown_demands


def test_what_cannot_be_demanded_of_these_clients_is_shown(laid: LayOver) -> None:
    """Nobody can remove a demand from a scenario that comes with the harness."""
    text = OWN.replace('acks = "all"\n"enable.idempotence" = true', 'acks = "0"').replace(
        'duplicate = "0"', '"unacknowledged-lost" = "<= 9"'
    )
    found = laid(text, producer="acks=all\n")

    assert {"produce-gap-s": "<= 9"} == found.scenario.expect
    assert "<= 9" == found.shown_demands["unacknowledged-lost"]
    with pytest.raises(ScenarioError, match=r"expect\.unacknowledged-lost: set workload\.produ"):
        laid(text, {"expect.unacknowledged-lost": "<= 9"}, producer="acks=all\n")


@pytest.mark.parametrize(
    ("demand", "stays", "shown"),
    [
        ("> 50 %", None, "> 50 %"),
        (">= 1", None, ">= 1"),
        ("3", None, "3"),
        ("= 3", None, "= 3"),
        ("0", "0", None),
        ("== 0", "== 0", None),
        ("<= 3", "<= 3", None),
        ("< 5 %", "< 5 %", None),
        ("1 to 5 %", "<= 5 %", ">= 1 %"),
        ("1.5 to 4", "<= 4", ">= 1.5"),
    ],
)
def test_upper_limits_stay_and_what_must_happen_is_shown(
    demand: str, stays: str | None, shown: str | None
) -> None:
    assert split_demands({"lost": demand}) == (
        {} if stays is None else {"lost": stays},
        {} if shown is None else {"lost": shown},
    )
    assert split_demands({"isr-leave-s": demand}) == ({}, {"isr-leave-s": demand})


# Keys that do nothing


@pytest.mark.parametrize(
    ("text", "settings", "why"),
    [
        (OWN.replace("group_consumers = 2", "rounds = 3"), {}, "workload.rounds counts for kind"),
        (OWN, {"workload.rounds": 3}, "--set workload.rounds counts for kind = 'write-read'"),
        (OWN, {"workload": {"kind": "stream", "rounds": 3}}, "--set workload.rounds counts for"),
        (
            OWN
            + "[mixed]\nuntil_s = 60\n[[mixed.faults]]\nverb = 'kill'\ntarget = 'one'\nat_s = 3",
            {},
            "mixed.faults.0.at_s does nothing",
        ),
        (OWN, {"cluster.server.process.roles": "broker"}, "belongs to KRaft: remove it"),
        (OWN, {"workload": 5}, "workload: Input should be a valid dict"),
        ('title = "t"\nworkload = 5', {}, "workload: Input should be a valid dict"),
    ],
)
def test_a_key_that_does_nothing_is_refused_where_it_is_named(
    laid: LayOver, text: str, settings: Mapping[str, Any], why: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        laid(text, settings)

    assert why in str(refused.value)


def test_what_is_inherited_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text('title = "t"\n[workload]\nkind = "write-read"\nrounds = 3')
    child = tmp_path / "child.toml"
    child.write_text('extends = "below"\n[workload]\nkind = "stream"\nrate = 5\n')

    assert 3 == read_scenario(str(child)).workload.rounds
    child.write_text('extends = "below"\n[workload]\nrate = 5\n')
    with pytest.raises(ScenarioError, match=r"child\.toml: workload\.rate counts for kind"):
        read_scenario(str(child))


def test_the_kinds_of_keys_are_those_of_the_workload() -> None:
    assert {"rounds": "write-read", "rate": "stream", "commit": "stream"} == {
        key: kind_of_key(key) for key in ("rounds", "rate", "commit")
    }
    assert [None] * 3 == [kind_of_key(key) for key in ("kind", "value_bytes", "producer")]
