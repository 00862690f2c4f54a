"""The verdict: what convicts, what is demanded, what makes a run unknown, and the sentence."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.report.headline import faults_words
from analysis.verdict.expectations import Demand, ExpectationError, parse
from analysis.verdict.judge import decide, judge_gaps
from tests.support.histories import (
    client_error,
    damage,
    doubtful,
    failed,
    fault,
    final_read,
    planned,
    sent,
    told,
    unasked,
)

Report = dict[str, Any]


# --- convictions and demands


@told(sent(1, at=0), final_read(1))
def test_a_run_in_which_nothing_is_missing_is_valid(report: Report) -> None:
    """One acknowledged record, read back by a complete final read."""
    assert (report["verdict"], report["exit_code"], report["reasons"]) == ("valid", 0, [])
    assert report["sentence"] == (
        "No data was lost: the only acknowledged record was read back, and no fault was injected. "
        "Writes never stopped for 0.5 s or longer."
    )


@told(sent(1, at=0), sent(2, at=1), final_read(1))
def test_a_forbidden_loss_convicts(report: Report) -> None:
    """acks=all and clean elections promise that nothing is lost."""
    assert (report["verdict"], report["exit_code"]) == ("invalid", 1)
    assert report["anomalies"]["lost"]["convicts"] is True
    assert report["reasons"] == ["lost: 1 seen, and this configuration forbids any"]
    assert report["sentence"].startswith(
        "Data was lost: 1 of 2 acknowledged records is gone; with acks=all Kafka promises that "
        "none is."
    )


@told(
    sent(1, at=0),
    sent(2, at=1),
    fault("kill", ms=50),
    final_read(1),
    acks="1",
    expect={"lost": ">= 1"},
    plan=planned("kill"),
)
def test_a_permitted_and_demanded_loss_is_valid(report: Report) -> None:
    """The control: acks=1, the leader killed, and a record is gone."""
    assert report["verdict"] == "valid"
    assert report["anomalies"]["lost"]["demand_met"] is True
    assert report["sentence"].startswith(
        "Data was lost: 1 of 2 acknowledged records is gone after the leader was killed; "
        "with acks=1 Kafka does not promise otherwise."
    )


@told(
    sent(1, at=0),
    fault("kill", ms=50),
    final_read(1),
    acks="1",
    expect={"lost": ">= 1"},
    plan=planned("kill"),
)
def test_an_unmet_demand_is_invalid(report: Report) -> None:
    """The control did not lose anything: the experiment did not show what it is for."""
    assert report["verdict"] == "invalid"
    assert report["reasons"] == ['demanded lost ">= 1", seen 0']
    assert "The scenario demands lost >= 1, but 0 were seen." in report["sentence"]


@told(sent(1, at=0), sent(2, at=1), final_read(1), expect={"lost": ">= 1"})
def test_a_demand_cannot_excuse_a_forbidden_anomaly(report: Report) -> None:
    """Demanded or not, acks=all promises that nothing is lost."""
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["lost"]["demand_met"] is True


@told(sent(1, at=0), final_read(1, 1), retries=3, expect={"duplicate": "0"})
def test_a_demand_can_forbid_what_the_configuration_permits(report: Report) -> None:
    """Retries may duplicate, but this scenario wants none."""
    assert report["verdict"] == "invalid"
    assert report["anomalies"]["duplicate"]["forbidden"] is False
    assert report["reasons"] == ['demanded duplicate "0", seen 1']


@told(sent(1, at=0), final_read(complete=False), acks="1", expect={"lost": ">= 1"})
def test_an_unmet_demand_of_an_unknown_run_is_unknown(report: Report) -> None:
    """The final read did not get to the end: the record may be lost."""
    assert report["verdict"] == "unknown"
    assert report["anomalies"]["lost"]["demand_met"] is None


@told(
    sent(1, at=0),
    sent(2, at=0, partition=1),
    final_read(),
    final_read(partition=1, complete=False),
    partitions=2,
)
def test_invalid_beats_unknown(report: Report) -> None:
    """Partition 0 was read to its end and lacks its record; a proven loss stays proven."""
    assert report["verdict"] == "invalid"
    assert "of 2 acknowledged records is gone" in report["sentence"]


# --- doubts


def _reasons(report: Report) -> list[str]:
    assert (report["verdict"], report["exit_code"]) == ("unknown", 2)
    assert "not known whether data was lost" in report["sentence"]
    reasons: list[str] = report["reasons"]
    return reasons


@told(final_read())
def test_a_run_without_sends_is_unknown(report: Report) -> None:
    """Silence proves nothing."""
    assert _reasons(report) == ["nothing was sent"]


@told(doubtful(1), failed(2), final_read())
def test_a_run_without_acks_is_unknown(report: Report) -> None:
    """Nothing was promised, so no promise was kept."""
    assert _reasons(report) == ["no send was acknowledged"]


@told(unasked(1), final_read(), acks="0")
def test_with_acks_0_something_must_have_arrived(report: Report) -> None:
    """No ack can come; an empty log proves nothing."""
    assert _reasons(report) == ["no send arrived"]


@told(sent(1, at=0), final_read(1), plan=planned("kill", "pause"))
def test_a_planned_fault_that_is_not_in_the_history_makes_unknown(report: Report) -> None:
    """Neither happened."""
    assert _reasons(report) == [
        "fault 0 (kill leader) was planned and did not happen",
        "fault 1 (pause leader) was planned and did not happen",
    ]


@told(
    sent(1, at=0),
    fault("kill", ms=1, nodes=(), error="there is no leader"),
    final_read(1),
    plan=planned("kill"),
)
def test_a_fault_that_found_no_target_makes_unknown(report: Report) -> None:
    """It says why."""
    assert _reasons(report) == [
        "fault 0 (kill leader) was planned and did not happen: there is no leader"
    ]


@told(
    sent(1, at=0),
    fault("kill", ms=1, evidence=None, error="pid 7 is still there"),
    final_read(1),
    plan=planned("kill"),
)
def test_a_fault_without_evidence_makes_unknown(report: Report) -> None:
    """Nobody knows whether it was in force."""
    assert _reasons(report) == [
        "fault 0 (kill leader) is not proved to have been in force: pid 7 is still there"
    ]


@told(sent(1, at=0), fault("kill", ms=1, for_ms=None), final_read(1), plan=planned("kill"))
def test_a_fault_that_was_not_healed_makes_unknown(report: Report) -> None:
    """It may have lasted into the final read."""
    assert _reasons(report) == ["fault 0 (kill leader) is not proved to have been healed"]


@told(sent(1, at=0), fault("kill", ms=1), final_read(1), plan=planned("kill"))
def test_a_proved_fault_leaves_no_doubt(report: Report) -> None:
    """The twin of them all."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@told(sent(1, at=0), final_read(1), workers=[{"process": "producer-9", "exit": 0}])
def test_a_worker_without_history_makes_unknown(report: Report) -> None:
    """It was started, and nothing of it is here."""
    assert _reasons(report) == ["worker producer-9 left no history"]


@told(sent(1, at=0), final_read(1), workers=[{"process": "producer-0", "exit": -9}])
def test_a_worker_that_died_makes_unknown(report: Report) -> None:
    """By SIGKILL, and no fault meant it."""
    assert _reasons(report) == ["worker producer-0 ended with exit code -9"]


@told(sent(1, at=0), final_read(1), damage("no-end", text="producer-0 has no end event"))
def test_a_history_without_end_makes_unknown(report: Report) -> None:
    """Its worker died before it could say so."""
    assert _reasons(report) == ["history of producer-0: producer-0 has no end event"]


@told(
    sent(1, at=0),
    final_read(1),
    damage("no-end"),
    fault("kill", "client", ms=1, nodes=("producer-0",)),
    workers=[{"process": "producer-0", "exit": -9}],
)
def test_a_worker_that_was_killed_on_purpose_leaves_no_doubt(report: Report) -> None:
    """The twin: a fault hit it."""
    assert report["verdict"] == "valid"


@told(sent(1, at=0), final_read(1), damage("bad-record", text="record 7 is damaged"))
def test_damage_in_the_history_makes_unknown(report: Report) -> None:
    """What it was nobody knows."""
    assert _reasons(report) == ["history of producer-0: record 7 is damaged"]


@told(sent(1, at=0), final_read(1), damage("torn", count=2), client_error())
def test_torn_records_and_client_errors_are_counted_only(report: Report) -> None:
    """A torn record was never begun; a client's error shows in its sends."""
    assert report["verdict"] == "valid"
    assert report["counts"]["torn_records"] == 2
    assert report["counts"]["worker_errors"] == 1


@told(
    sent(1, at=0),
    final_read(1),
    state="incomplete",
    failure={"phase": "load", "error": "worker producer-0 died"},
)
def test_a_run_whose_harness_failed_is_unknown(report: Report) -> None:
    """Nothing forbidden was seen, but nobody knows what else would have been."""
    assert _reasons(report) == ["the run failed in phase load: worker producer-0 died"]


@told(
    sent(1, at=0),
    sent(2, at=1),
    final_read(1),
    state="incomplete",
    failure={"phase": "collect", "error": "disk full"},
)
def test_a_forbidden_anomaly_convicts_even_where_the_harness_failed(report: Report) -> None:
    """The twin with a loss."""
    assert report["verdict"] == "invalid"


@told(sent(1, at=0), final_read(1), state="running", phases=[])
def test_a_run_that_never_ended_is_unknown(report: Report) -> None:
    """The harness was killed; the load's bounds come from the operations themselves."""
    assert _reasons(report) == ["the run did not end: its state is running"]
    assert report["rates"]["load_s"] == pytest.approx(0.005)


# --- sentences


@told(
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
        "No data was lost: all 2 acknowledged records were read back after the leader was killed "
        "twice. Writes stopped for 2.4 s."
    )


@told(sent(1, at=0), doubtful(2, ms=1000, took=3000), final_read(1), fault("pause", "all", ms=900))
def test_the_sentence_says_when_writes_never_came_back(report: Report) -> None:
    """No ack ended the window."""
    assert report["sentence"].endswith(
        "Writes stopped for 3.0 s and had not come back when the load ended."
    )


@told(sent(1, at=0), final_read(1, 1), retries=3)
def test_the_sentence_tells_permitted_duplicates(report: Report) -> None:
    """Without idempotence retries may duplicate."""
    assert (
        "1 record is in the log more than once, which this configuration allows."
        in (report["sentence"])
    )


@told(sent(1, at=0), final_read(1, 1, 7, 8), retries=0)
def test_the_sentence_tells_broken_promises(report: Report) -> None:
    """Two kinds at once."""
    assert (
        "1 record is in the log more than once, which Kafka promises cannot happen. "
        "2 records were read that were never written, which Kafka promises cannot happen."
    ) in report["sentence"]


@told(
    sent(1, at=0),
    sent(2, at=1),
    fault("kill", ms=50),
    final_read(1),
    acks="1",
    plan=planned("kill", "pause"),
)
def test_a_permitted_loss_in_an_unknown_run_is_told_with_its_doubt(report: Report) -> None:
    """The loss is a fact, whatever else is not known."""
    assert report["verdict"] == "unknown"
    assert report["sentence"].startswith("Data was lost: 1 of 2 acknowledged records is gone")
    assert report["sentence"].endswith(
        "Whether all promises were kept is unknown: "
        "fault 1 (pause leader) was planned and did not happen."
    )


@told(unasked(1), unasked(2), final_read(1), acks="0", expect={"lost": "0"})
def test_acks_0_has_nothing_to_lose(report: Report) -> None:
    """By definition; what is gone is counted apart."""
    assert report["sentence"].startswith("Nothing was acknowledged, so no acknowledged data")


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
    rows = [{"verb": verb, "target": target, "nodes": ["kafka1"]} for verb, target in faults]

    assert faults_words(rows) == words


# --- demands


@pytest.mark.parametrize(
    ("text", "met"),
    [
        (">= 1", (False, True, True)),
        ("> 1", (False, False, True)),
        ("0", (True, False, False)),
        ("= 1", (False, True, False)),
        ("==2", (False, False, True)),
        ("<= 1", (True, True, False)),
        (" < 1 ", (True, False, False)),
    ],
)
def test_a_demand_is_a_range_of_counts(text: str, met: tuple[bool, ...]) -> None:
    demand = parse({"lost": text})["lost"]

    assert tuple(demand.met(count, known=True) for count in range(3)) == met


@pytest.mark.parametrize(
    ("text", "met"),
    [
        (">= 1", (None, True, True)),  # more can only help
        ("0", (None, False, False)),  # one is too many whatever else there is
        ("1", (None, None, False)),
        ("<= 1", (None, None, False)),
    ],
)
def test_where_more_may_be_found_a_demand_may_stay_open(
    text: str, met: tuple[bool | None, ...]
) -> None:
    demand = parse({"lost": text})["lost"]

    assert tuple(demand.met(count, known=False) for count in range(3)) == met


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"losst": "0"}, "expect.losst: no such anomaly; did you mean lost?"),
        ({"pain": "0"}, "expect.pain: no such anomaly; known are lost,"),
        ({"lost": "some"}, "expect.lost: 'some' is no demand; write"),
        ({"lost": "-1"}, "expect.lost: '-1' is no demand"),
    ],
)
def test_a_demand_that_makes_no_sense_is_named(expect: dict[str, str], words: str) -> None:
    with pytest.raises(ExpectationError, match=words.replace("?", r"\?")):
        parse(expect)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("> 50 %", 6, None),
        (">= 50%", 6, None),
        ("< 50 %", 0, 5),
        ("<= 50 %", 0, 5),
        ("> 0 %", 1, None),
        (">= 100 %", 11, None),
    ],
)
def test_a_demand_may_be_a_share_of_the_acknowledged(
    text: str, least: int, most: int | None
) -> None:
    """Of eleven records."""
    assert parse({"lost": text}, 11)["lost"] == Demand(text=text, least=least, most=most)


def test_an_exact_share_is_no_demand() -> None:
    with pytest.raises(ExpectationError, match="can hardly be met"):
        parse({"lost": "50 %"}, 11)


@pytest.mark.parametrize(("text", "met"), [(">= 8", (False, True)), ("<= 8", (True, False))])
def test_how_long_writes_stood_still_can_be_demanded(text: str, met: tuple[bool, bool]) -> None:
    demands = parse({"produce-gap-s": text})
    found = [
        judge_gaps({"produce": longest, "consume": 99.0}, demands, ())["produce-gap-s"]
        for longest in (7.9, 8.1)
    ]

    assert tuple(gap.met for gap in found) == met
    assert [decide({}, (), {"produce-gap-s": gap}).name for gap in found] == [
        "valid" if each else "invalid" for each in met
    ]


def test_a_gap_that_is_not_met_says_so_in_the_reasons() -> None:
    gaps = judge_gaps({"produce": 1.74}, parse({"produce-gap-s": ">= 8"}), ())

    assert decide({}, (), gaps).reasons == (
        'demanded produce-gap-s ">= 8", the longest lasted 1.7 s',
    )


def test_a_gap_that_more_knowledge_might_lengthen_stays_open() -> None:
    gaps = judge_gaps({"consume": 1.0}, parse({"consume-gap-s": "<= 2"}), ("a doubt",))

    assert gaps["consume-gap-s"].met is None
    assert decide({}, ("a doubt",), gaps).name == "unknown"


@pytest.mark.parametrize("text", ["> 8", "8", "< 2", ">= 50 %"])
def test_a_gap_is_demanded_from_or_up_to_whole_seconds(text: str) -> None:
    with pytest.raises(ExpectationError, match="can hardly be met; write"):
        parse({"produce-gap-s": text})


def test_the_same_demand_is_parsed_once() -> None:
    assert parse({"lost": ">= 1"}) == {"lost": Demand(text=">= 1", least=1, most=None)}
