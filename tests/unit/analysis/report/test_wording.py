"""The report's words: units people read, a configuration in a line, a finding judged."""

import json
from typing import Any

import pytest

from analysis.report import wording
from harness.model.runs.report import Configuration, Kraft
from harness.model.runs.report_findings import Finding
from tests.support.pages import reports

KRAFT = {"metadata": "kraft", "voters": "static", "eligible_leaders": True, "features": {}}


def finding(**fields: Any) -> Finding:
    """A finding nobody complains about, but for these fields."""
    plain = {"count": 0, "forbidden": False, "demanded": None, "demand_met": None}
    return Finding.model_validate(plain | {"convicts": False} | fields)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (9997, "9,997"), (9997.0, "9,997"), (31.25, "31.2"), (109.9, "110")],
)
def test_numbers(value, text):
    assert text == wording.number(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.8412, "0.84 s"), (12.34, "12.3 s"), (119.9, "119.9 s"), (185.2, "3 min 5 s")],
)
def test_lengths_of_time(value, text):
    assert text == wording.seconds(value)


def test_a_point_of_the_time_axis_stays_in_seconds():
    assert "3,010.20 s" == wording.moment(3010.2)
    assert "–" == wording.moment(None)


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (1.93, "1.9 ms"), (240.2, "240 ms"), (6103.2, "6.10 s")]
)
def test_milliseconds(value, text):
    assert text == wording.milliseconds(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (False, "false"), (4.0881, "4.088"), ([0, 3], "0, 3"), ([], "–"), ("all", "all")],
)
def test_cells(value, text):
    assert text == wording.plain(value)


def test_a_configuration_in_words():
    words = wording.configuration_words(reports.kills().model.configuration)

    assert words == (
        "acks=1 (the leader alone has the record), 5 retries, idempotence off, 3 replicas, "
        "min.insync.replicas=1"
    )


def test_names_that_librdkafka_has_beside_the_usual_ones_are_understood():
    producer = {"request.required.acks": -1, "message.send.max.retries": 0}
    configuration = Configuration(producer=producer)

    words = wording.configuration_words(configuration)
    assert words == "acks=all (every in-sync replica has the record), no retries, idempotence off"


def test_of_settings_that_are_not_told_the_words_say_so():
    configuration = Configuration(
        producer={"acks": "1"}, topic={"replication_factor": 3, "config": {}}
    )
    untold = ["enable.idempotence", "min.insync.replicas"]

    words = wording.configuration_words(configuration, untold)
    assert words == (
        "acks=1 (the leader alone has the record), 3 replicas; "
        "not told: idempotence, min.insync.replicas"
    )
    nothing = Configuration(producer={"linger.ms": 5}, topic={"replication_factor": None})
    untold = ["acks", "replication_factor", *untold]
    assert wording.configuration_words(nothing, untold) == (
        "not told: acks, idempotence, replicas, min.insync.replicas"
    )


def test_no_configuration_is_no_words():
    assert "" == wording.configuration_words(reports.empty().model.configuration)


def test_brokers_are_told_by_release_session_and_what_was_set_for_them():
    example = reports.kills(times=1)
    report = example.report
    server = {"zookeeper.session.timeout.ms": 2000, "num.io.threads": 4, "b": "x", "a": True}
    layers = {"num.io.threads": "harness", "b": "my.properties, line 3", "a": "scenario"}
    report["configuration"] |= {"server": server, "layers": {"server": layers}}
    told = "Kafka 3.9.1, ZooKeeper session of 2.00 s"

    assert wording.broker_words(example.model) == f"{told}, a=true, b=x"
    keys = [f"k{n}" for n in range(8)]
    report["configuration"]["server"] |= dict.fromkeys(keys, 1)
    report["configuration"]["layers"]["server"] = dict.fromkeys(keys, "scenario")
    assert wording.broker_words(example.model).endswith("k4=1, k5=1, and 2 more settings")
    assert wording.broker_words(reports.empty().model) == ""


def test_brokers_without_zookeeper_have_a_session_of_their_own():
    example = reports.kills(times=1)
    report = example.report
    server = {"broker.session.timeout.ms": 2000, "zookeeper.session.timeout.ms": 6000}
    layers = dict.fromkeys(("broker.session.timeout.ms", "b"), "scenario")
    report["configuration"] |= {"server": server | {"b": "x"}, "layers": {"server": layers}}
    report["configuration"] |= {"kraft": KRAFT, "controller": {}}

    assert wording.broker_words(example.model) == "Kafka 3.9.1, KRaft, session of 2.00 s, b=x"
    theirs = {"broker.session.timeout.ms": 5000}  # who ends sessions
    report["configuration"] |= {"controller": theirs, "layers": {"broker": {"b": "scenario"}}}
    assert wording.broker_words(example.model) == "Kafka 3.9.1, KRaft, session of 5.00 s, b=x"
    report["configuration"] |= {"controller": {"a": "1"}}
    assert "KRaft, session of 9.00 s" in wording.broker_words(example.model)


def test_min_isr_is_the_controllers_where_eligible_leaders_are_remembered():
    server, topic = {"min.insync.replicas": "2"}, {"replication_factor": 3, "config": {}}

    def least(*, eligible: bool) -> int | None:
        kraft = Kraft.model_validate(KRAFT | {"eligible_leaders": eligible})
        controller = {"min.insync.replicas": "3"}
        settings = Configuration(topic=topic, server=server, controller=controller, kraft=kraft)
        return wording.min_isr(settings)

    assert (least(eligible=True), least(eligible=False)) == (3, 2)


def test_unclean_elections_are_told_by_whose_setting_counts():
    allowed = {"unclean.leader.election.enable": "true"}

    def words(*, server: Any, controller: Any, counts: bool = True) -> str:
        kraft = Kraft.model_validate(KRAFT | {"configures_unclean": counts})
        told = Configuration(server=server, controller=controller, kraft=kraft)
        return wording.configuration_words(told)

    refused = {"unclean.leader.election.enable": "false"}
    assert "unclean elections on" in words(server={}, controller=allowed)
    assert "unclean" not in words(server=allowed, controller=refused)
    assert "unclean" not in words(server={}, controller=allowed, counts=False)


def test_min_isr_is_the_topics_then_the_brokers_then_kafkas_default():
    topic = {"replication_factor": 3, "config": {"min.insync.replicas": "2"}}
    bare = {"replication_factor": 3}

    server = {"min.insync.replicas": 3}

    assert 2 == wording.min_isr(Configuration(topic=topic, server=server))
    assert 3 == wording.min_isr(Configuration(topic=bare, server=server))
    assert 1 == wording.min_isr(Configuration(topic=bare))
    assert wording.min_isr(Configuration()) is None


def test_a_time_of_day_is_told_to_the_second_in_utc():
    assert "2026-11-21 04:06:55 UTC" == wording.utc("2026-11-21T04:06:55.326815+00:00")
    assert "–" == wording.utc(None)


def test_faults_are_counted_by_verb_and_target_and_missing_ones_are_named():
    faults = reports.kills(times=2).model.faults

    assert "2 faults: kill leader ×2" == wording.fault_counts(faults, 2)
    assert "2 faults (3 planned): kill leader ×2" == wording.fault_counts(faults, 3)
    assert "no fault" == wording.fault_counts([], 0)
    assert "not told" == wording.fault_counts([], 0, ["faults"])


def test_a_forbidden_anomaly_that_convicts_is_a_broken_promise():
    remark = wording.remark(finding(count=3, forbidden=True, convicts=True), provable=True)

    assert ("bad", "Promise broken: forbidden, and seen") == (remark.tone, remark.words)


def test_an_allowed_anomaly_is_told_without_alarm():
    remark = wording.remark(finding(count=3), provable=True)

    assert ("note", "Seen; allowed here") == (remark.tone, remark.words)


def test_a_kept_promise_is_good_only_where_it_could_have_been_broken():
    kept = finding(forbidden=True)

    assert "good" == wording.remark(kept, provable=True).tone
    assert "doubt" == wording.remark(kept, provable=False).tone


def test_a_demand_met_is_good_one_unmet_is_bad_and_one_undecided_is_doubt():
    met = finding(count=3, demanded=">= 1", demand_met=True)
    unmet = finding(demanded=">= 1", demand_met=False)
    unjudged = finding(demanded=">= 1", demand_met=None)

    assert "good" == wording.remark(met, provable=True).tone
    assert "bad" == wording.remark(unmet, provable=True).tone
    assert "doubt" == wording.remark(unjudged, provable=False).tone


def test_a_demand_cannot_make_a_broken_promise_look_good():
    both = finding(count=3, forbidden=True, demanded=">= 1", demand_met=True, convicts=True)

    assert "bad" == wording.remark(both, provable=True).tone


def test_roles_before_and_after_a_fault():
    before = {"leader": {"0": "k1"}, "isr": {"0": ["k1", "k2", "k3"]}, "controller": "k2"}
    after = {"leader": {"0": "k3"}, "isr": {"0": ["k2", "k3"]}, "controller": "k2"}
    lines = ["leader: k1 → k3", "ISR: 3 → 2, without k1", "controller: k2, unchanged"]

    assert lines == wording.roles_words(before, after)
    assert lines == wording.roles_words(json.dumps(before), json.dumps(after))


def test_of_many_partitions_the_first_changed_ones_are_told():
    before = {"leader": {str(p): "k1" for p in range(12)}, "isr": {}, "controller": None}
    after = {"leader": {str(p): "k2" for p in range(12)}, "isr": {}, "controller": "k2"}

    assert [
        "leader of 0: k1 → k2",
        "leader of 1: k1 → k2",
        "leader of 2: k1 → k2",
        "and 9 more partitions",
        "controller: – → k2",
    ] == wording.roles_words(before, after)


def test_of_many_partitions_that_stayed_as_they_were_each_is_not_told():
    state = {
        "leader": {str(p): "k1" for p in range(12)},
        "isr": {str(p): ["k1", "k2"] for p in range(12)},
        "controller": "k1",
    }

    assert [
        "leader of all 12 partitions: unchanged",
        "ISR of all 12 partitions: unchanged",
        "controller: k1, unchanged",
    ] == wording.roles_words(state, state)


def test_a_partition_nobody_could_be_asked_about_after_the_fault():
    before = {"leader": {"0": "k1"}, "isr": {"0": ["k1"]}, "controller": "k1"}

    assert ["leader: k1 → –", "ISR: 1 → –", "controller: k1 → –"] == wording.roles_words(
        before, None
    )
    assert [] == wording.roles_words(None, None)


def test_evidence_is_read_in_seconds_and_without_the_run():
    rows = [{"run_id": "r", "value": 7, "acked_ns": 10, "acked_s": 1e-8, "other_ns": 3}]

    assert ["value", "acked_s", "other_ns"] == wording.columns(rows)


def test_of_evidence_only_columns_with_content_are_read():
    rows = [
        {"anomaly": "lost", "value": 7, "other_offset": None, "time_s": 1.0, "acked_s": 1.0},
        {"anomaly": "lost", "value": 8, "other_offset": None, "time_s": 2.0, "acked_s": 2.0},
    ]

    assert ["value", "acked_s"] == wording.columns(rows)
    assert ["time_s"] == wording.columns([{"time_s": 1.0, "acked_s": None}])


@pytest.mark.parametrize(
    "odd",
    [
        "no json",
        "[" * 100_000,
        "[1]",
        {"leader": [1], "isr": "x", "controller": {"a": 1}},
        {"leader": {"x": "kafka1"}, "isr": {"0": "kafka1"}},
        {"leader": {"0": ["a"]}, "isr": {"0": [1, "a", None]}},
        {"leader": {"9" * 5000: "a"}, "isr": {"0": None}},
    ],
)
def test_roles_that_nobody_of_ours_wrote_are_told_as_far_as_they_go(odd: object) -> None:
    right = {"leader": {"0": "kafka1"}, "isr": {"0": ["kafka1"]}, "controller": "kafka1"}

    for lines in (wording.roles_words(odd, right), wording.roles_words(right, odd)):
        assert all(isinstance(line, str) for line in lines)
    assert wording.roles_words(right, right) == [
        "leader: kafka1, unchanged",
        "ISR: 1, unchanged",
        "controller: kafka1, unchanged",
    ]
