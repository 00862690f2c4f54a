"""The sentence at the head of a report: what was lost, after which faults, and its doubts."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.report.headline import (
    _demands,
    _gap_demands,
    _of_loss,
    _others,
    _seconds,
    faults_words,
)
from analysis.verdict.demands import parse
from analysis.verdict.judge import SURE, Gap, Tally, judge
from harness.model.runs.old_runs import complete_steps
from tests.baseline.cells import CONFIGURATIONS, Case
from tests.baseline.permissions import permission_in
from tests.baseline.sentences_text import headline
from tests.support.histories import (
    doubtful,
    fault,
    final_read,
    moved,
    planned,
    read,
    sent,
    unasked,
    with_story,
)

Report = dict[str, Any]


@with_story(
    sent(1, at=0, ms=1000, took=0),
    sent(2, at=1, ms=1000, took=2400),
    final_read(1, 2),
    fault("kill", ms=900, number=0),
    fault("kill", ms=3000, number=1),
    retries=1,
)
def test_the_sentence_says_how_long_writes_stopped(report: Report) -> None:
    """One window: no "at most"."""
    assert report["sentence"] == (
        "2 of 6 sends acknowledged; 4 failed (timed out), 0 of these are in the log. No "
        "acknowledged data was lost: all 2 acknowledged records were read back after the leader "
        "was killed twice. Writes stopped for 2.4 s."
    )


@with_story(
    sent(1, at=0),
    doubtful(2, ms=1000, took=3000),
    final_read(1),
    fault("pause", "leader", ms=900),
    loaded=False,
)
def test_the_sentence_says_when_writes_never_came_back(report: Report) -> None:
    """No ack ended the window."""
    assert report["sentence"].endswith(
        "Writes stopped for 3.0 s and had not resumed when the load ended."
    )


@with_story(sent(1, at=0), final_read(1, 1), retries=3)
def test_the_sentence_tells_permitted_duplicates(report: Report) -> None:
    """Without idempotence retries may duplicate."""
    assert (
        "1 record is in the log more than once, which this configuration allows."
        in (report["sentence"])
    )


@with_story(sent(1, at=0), final_read(1, 1, 7, 8), retries=0)
def test_the_sentence_tells_broken_promises(report: Report) -> None:
    """Two kinds at once."""
    assert (
        "1 record is in the log more than once, which Kafka promises cannot happen. "
        "2 records were read that were never written, which Kafka promises cannot happen."
    ) in report["sentence"]


@with_story(
    sent(1, at=0),
    sent(2, at=1),
    fault("kill", ms=50),
    final_read(1),
    *moved(ms=60),
    acks="1",
    plan=planned("kill", "pause"),
)
def test_a_permitted_loss_in_an_unknown_run_is_told_with_its_doubt(report: Report) -> None:
    """The loss is a fact, whatever else is not known."""
    assert report["verdict"] == "unknown"
    assert ". Data was lost: 1 of 2 acknowledged records is gone" in report["sentence"]
    assert report["sentence"].endswith(
        "Whether all promises were kept is unknown: "
        "fault 1 (pause leader) was planned and did not happen."
    )


@with_story(unasked(1), unasked(2), final_read(1), acks="0", expect={"lost": "0"})
def test_acks_0_has_nothing_to_lose(report: Report) -> None:
    """By definition; what is gone is counted apart."""
    assert report["sentence"].startswith("Nothing was acknowledged, so no acknowledged data")


@pytest.mark.parametrize(
    ("verb", "ending"),
    [
        (None, "and no fault was injected."),
        ("dump-log", "and no fault disturbed the cluster."),
    ],
)
def test_a_step_that_only_observes_is_not_called_no_fault(verb: str | None, ending: str) -> None:
    said = headline(CONFIGURATIONS["acks=1"], verb, "all", {})

    assert said.startswith(
        f"No data was lost: all 10,000 acknowledged records were read back, {ending}"
    )


@pytest.mark.parametrize(
    ("configuration", "verb", "target", "meaning"),
    [
        ("acks=1", "kill", "leader", "with acks=1 Kafka allows this."),
        (
            "idempotent, unclean elections",
            "kill",
            "leader",
            "with acks=all and unclean leader election Kafka allows this.",
        ),
        (
            "idempotent, no leader epochs",
            "kill",
            "leader",
            "with acks=all and no leader epochs Kafka allows this.",
        ),
        (
            "idempotent, one replica",
            "lose-power",
            "leader",
            "with acks=all and one replica Kafka allows this.",
        ),
        # Unclean leader election permits nothing where nobody else can lead.
        (
            "idempotent, unclean elections of the brokers, one replica",
            "kill",
            "leader",
            "with acks=all Kafka promises that this cannot happen.",
        ),
    ],
)
def test_a_loss_is_allowed_by_the_settings_that_allow_it(
    configuration: str, verb: str, target: str, meaning: str
) -> None:
    assert f"10 times; {meaning}" in headline(
        CONFIGURATIONS[configuration], verb, target, {"lost": 3}
    )


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 record was read before every in-sync replica had it, "),
        (5, "5 records were read before every in-sync replica had them, "),
    ],
)
def test_records_read_early_agree_in_number(count: int, words: str) -> None:
    followed = permission_in(CONFIGURATIONS["acks=1"], Case(verb=None, target="", nodes=()))
    judgements = judge({"early-read": Tally(count=count)}, followed.promised, {}, SURE)

    said = _others(judgements, followed.facts, broken=True)
    assert any(sentence.startswith(words) for sentence in said)


def loss_of(configuration: str, **tally: int) -> str:
    """What the headline says of a loss that is judged so."""
    followed = permission_in(CONFIGURATIONS[configuration], Case(verb=None, target="", nodes=()))
    lost = Tally(doubt="it is not known who led" if tally.get("in_doubt") else None, **tally)
    return _of_loss(judge({"lost": lost}, followed.promised, {}, SURE)["lost"], followed.facts)


@pytest.mark.parametrize(
    ("configuration", "tally", "words"),
    [
        (
            "idempotent",
            {"count": 2, "permitted": 1},
            "what happened permits 1 of them and nothing that happened permits 1 of them",
        ),
        (
            "idempotent",
            {"count": 3, "in_doubt": 2},
            "nothing that happened permits 1 of them and whether anything permits 2 of them is "
            "unknown",
        ),
        ("idempotent", {"count": 2, "permitted": 2}, "what happened permits it"),
        ("idempotent", {"count": 2}, "with acks=all Kafka promises that this cannot happen"),
        (
            "acks=1",
            {"count": 2, "permitted": 1},
            "with acks=1 Kafka allows this, but nothing that happened permits 1 of them",
        ),
        (
            "acks=1",
            {"count": 3, "in_doubt": 2},
            "with acks=1 Kafka allows this, but nothing that happened permits 1 of them and "
            "whether anything permits 2 of them is unknown",
        ),
        ("acks=1", {"count": 2, "permitted": 2}, "with acks=1 Kafka allows this"),
    ],
)
def test_kafka_allows_a_loss_only_where_the_configuration_does(
    configuration: str, tally: dict[str, int], words: str
) -> None:
    """Else it is a fault that took what was written."""
    assert words == loss_of(configuration, **tally)


@with_story(sent(1, at=0), sent(2, at=1), read(3, at=2), doubtful(3), final_read(1, 2))
def test_where_only_what_consumers_had_read_is_gone_no_acknowledged_data_was_lost(
    report: Report,
) -> None:
    assert report["anomalies"]["vanished"]["count"] == 1
    assert report["sentence"].startswith("1 record that consumers had already read is gone, ")
    assert " No acknowledged data was lost: all 2 acknowledged" in report["sentence"]


@with_story(sent(1, at=0), sent(2, at=1), final_read(1, 2))
def test_where_nothing_is_gone_no_data_was_lost(report: Report) -> None:
    """The twin."""
    assert report["sentence"].startswith("No data was lost: all 2 acknowledged")


def test_a_fault_that_is_not_the_one_planned_is_told_by_its_own_verb() -> None:
    step = complete_steps([{"step": 0, "verb": "kill", "target": "leader"}])
    hit: Any = {"step": 0, "verb": "kill", "target": "leader", "nodes": ["kafka1"]}

    assert faults_words([hit], step) == "the leader was killed"
    assert faults_words([hit | {"verb": "pause"}], step) == "leader was hit by pause"
    assert faults_words([hit | {"target": "kafka2"}], step) == "kafka2 was hit by kill"


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([], ""),
        ([("kill", "leader")], "the leader was killed"),
        ([("kill", "leader")] * 2, "the leader was killed twice"),
        ([("kill", "leader")] * 10, "the leader was killed 10 times"),
        (
            [("pause", "followers"), ("stop", "kafka2")],
            "all followers were paused and kafka2 was shut down",
        ),
        (
            [("kill", "leader"), ("pause", "follower"), ("melt", "zk1")],
            "the leader was killed, a follower was paused and zk1 was hit by melt",
        ),
    ],
)
def test_faults_in_words(faults: list[tuple[str, str]], words: str) -> None:
    rows: Any = [
        {"step": step, "verb": verb, "target": target, "nodes": ["kafka1"]}
        for step, (verb, target) in enumerate(faults)
    ]

    assert faults_words(rows, complete_steps(rows)) == words


def test_a_fault_is_told_in_the_words_of_its_step_and_not_by_its_verb() -> None:
    hit: Any = {"step": 0, "verb": "kill", "target": "leader", "nodes": ["kafka1"]}
    telling = {"done": "unplugged", "who": "the left rack", "many": False}
    silent = {**telling, "done": ""}

    assert faults_words([hit], [{**hit, "telling": telling}]) == "the left rack was unplugged"
    assert not faults_words([hit], [{**hit, "telling": silent}])  # it breaks nothing
    assert faults_words([hit], []) == "leader was hit by kill"


@with_story(sent(1, at=0), final_read(1))
def test_one_record_is_the_only_one(report: Report) -> None:
    assert report["sentence"].startswith(
        "No data was lost: the only acknowledged record was read back"
    )


# --- what the scenario demands


@pytest.mark.parametrize(
    ("count", "demands", "said"),
    [
        (0, {"lost": ">= 1"}, ["The scenario demands at least 1 lost record, but 0 were seen."]),
        (1, {"lost": ">= 2"}, ["The scenario demands at least 2 lost records, but 1 was seen."]),
        (2, {"lost": ">= 2"}, []),
        (2, {}, []),
    ],
)
def test_only_an_unmet_demand_is_told(count: int, demands: dict[str, str], said: list[str]) -> None:
    followed = permission_in(CONFIGURATIONS["acks=1"], Case(verb=None, target="", nodes=()))
    tally = Tally(count=count, permitted=count)
    judgements = judge({"lost": tally}, followed.promised, parse(demands, 9), SURE)

    assert said == _demands(judgements)


@pytest.mark.parametrize(("met", "told"), [(False, True), (True, False), (None, False)])
def test_only_an_unmet_gap_is_told(met: bool | None, told: bool) -> None:
    """One that more knowledge might lengthen is neither."""
    demand = parse({"produce-gap-s": "<= 1"}, 9)["produce-gap-s"]
    said = _gap_demands({"produce-gap-s": Gap(longest_s=1.25, demand=demand, met=met)})

    assert told == bool(said)


@pytest.mark.parametrize(
    ("length_s", "words"), [(0.51, "0.5 s"), (99.9, "99.9 s"), (100.0, "100 s"), (1234, "1,234 s")]
)
def test_seconds_have_a_fraction_below_a_hundred(length_s: float, words: str) -> None:
    assert words == _seconds(length_s)
