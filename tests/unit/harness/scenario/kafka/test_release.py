"""Which Kafka a scenario runs is told in one spelling, so that equal runs have one digest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.model.runs.configuration import digest_of, settings_of
from harness.model.scenario import ScenarioError
from harness.scenario.kafka.release import normalize
from harness.scenario.prepare import Prepared, Request, prepare

ELR = "eligible.leader.replicas.version"
SESSION = "zookeeper.session.timeout.ms"


@pytest.fixture(autouse=True)
def no_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is asked for its keys, whichever releases were fetched here."""
    monkeypatch.setenv("KAFKA_HARNESS_CACHE", str(tmp_path))


def prepared(scenario: str = "study-1", *, unpinned: bool = False, **settings: Any) -> Prepared:
    told = {f"cluster.{path.replace('__', '.')}": value for path, value in settings.items()}
    return prepare(Request(scenario=scenario, seed=1, settings=told, unpinned=unpinned))


@pytest.mark.parametrize(
    "spelled",
    [
        {"kafka": "3.9.2"},
        {"kafka": "3.9", "metadata": "zookeeper"},
        {"metadata": "zookeeper", "voters": "dynamic", "controllers": 5},
        {"session_ms": 2000},
        {"broker.replica.fetch.min.bytes": 100000},
        {"broker": {"replica.fetch.min.bytes": 100000}},
        {"features": {"eligible.leader.replicas.version": 1}},
    ],
)
def test_the_default_has_one_digest_however_it_is_spelled(spelled: dict[str, Any]) -> None:
    assert digest_of(prepared(**spelled).record) == digest_of(prepared().record)


@pytest.mark.parametrize(
    "other",
    [
        {"kafka": "3.7.2"},
        {"kafka": "4.4"},
        {"metadata": "kraft"},
        {"metadata": "kraft-combined"},
        {"metadata": "kraft", "voters": "dynamic"},
        {"kafka": "4.4", "features.eligible.leader.replicas.version": 0},
        {"session_ms": 3000},
    ],
)
def test_another_kafka_is_in_the_digest(other: dict[str, Any]) -> None:
    digests = {digest_of(each.record) for each in (prepared(), prepared(**other))}

    assert len(digests) == 2


def test_a_line_is_its_newest_pinned_release_with_its_mode() -> None:
    told = settings_of(prepared(kafka="4.1").record)

    assert told["scenario.cluster.kafka"] == "4.1.2"
    assert told["scenario.cluster.metadata"] == "kraft"
    assert digest_of(prepared(kafka="4.1").record) == digest_of(
        prepared(kafka="4.1.2", metadata="kraft", zookeepers=5).record
    )


def test_a_session_is_in_kafkas_words_with_its_heartbeat() -> None:
    server = prepared(kafka="4.4", session_ms=9000).scenario.cluster.server

    assert server["broker.session.timeout.ms"] == 9000
    assert server["broker.heartbeat.interval.ms"] == 2000
    assert SESSION not in server


def test_what_somebody_named_in_kafkas_words_wins_over_the_scenarios_session() -> None:
    named: dict[str, Any] = {f"server.{SESSION}": 7000}

    assert prepared(**named).scenario.cluster.server[SESSION] == 7000


def test_a_scenario_names_its_session_anew_whatever_words_the_one_below_has(tmp_path: Path) -> None:
    below, above = tmp_path / "below.toml", tmp_path / "above.toml"
    below.write_text(
        f'extends = "baseline"\n[cluster.server]\n"{SESSION}" = 4000\n"num.io.threads" = 3\n'
    )
    above.write_text('extends = "below"\n[cluster]\nsession_ms = 5000\n')

    assert prepared(str(below)).scenario.cluster.server[SESSION] == 4000
    assert prepared(str(above)).scenario.cluster.server == {SESSION: 5000, "num.io.threads": 3}
    below.write_text('extends = "baseline"\n[cluster]\nsession_ms = 5000\n')
    above.write_text(f'extends = "below"\n[cluster.server]\n"{SESSION}" = 4000\n')
    assert prepared(str(above)).scenario.cluster.server[SESSION] == 4000


def test_a_session_that_is_set_wins_over_the_controllers_own(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'extends = "baseline"\n[cluster]\nkafka = "4.4"\n'
        '[cluster.controller]\n"broker.session.timeout.ms" = 4000\n'
    )

    assert prepared(str(own)).scenario.cluster.controller == {"broker.session.timeout.ms": 4000}
    assert prepared(str(own), session_ms=3000).scenario.cluster.controller == {}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [(50, "greater than or equal to 100, got 50"), (True, "valid integer"), ("x", "integer")],
)
def test_a_session_that_is_none_is_refused_by_its_own_name(wrong: object, why: str) -> None:
    with pytest.raises(ScenarioError, match=rf"cluster\.session_ms: .*{why}"):
        prepared(session_ms=wrong)


LEFT_OUT = "cluster.zoo left out: with KRaft there is no ZooKeeper"


def test_what_there_is_nobody_for_is_left_out_with_a_note(tmp_path: Path) -> None:
    own, above = tmp_path / "own.toml", tmp_path / "above.toml"
    own.write_text('extends = "study-1"\n[cluster]\nkafka = "4.4"\n[cluster.zoo]\ntickTime = 500\n')
    above.write_text('extends = "own"\ntitle = "t"\n')
    ours: dict[str, Any] = {"controller.min.insync.replicas": 2}

    for zoo in ({"zoo.tickTime": 300}, {"zoo": {"tickTime": 300}}):
        assert LEFT_OUT in prepared(kafka="4.4", **zoo).notes
    for mine in (own, above):
        kraft = prepared(str(mine))
        assert kraft.scenario.cluster.zoo == {}
        assert [note for note in kraft.notes if "left out" in note] == [LEFT_OUT]
    assert "cluster.controller left out: there is no KRaft" in prepared(**ours).notes


def test_what_a_shipped_scenario_has_for_nobody_is_no_word_worth(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('extends = "study-1"\n[cluster]\nkafka = "4.4"\n')

    for which in ("study-1", str(own)):  # study-1 has a tickTime
        kraft = prepared(which, kafka="4.4")
        assert kraft.scenario.cluster.zoo == {}
        assert not [note for note in kraft.notes if "left out" in note]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"kafka": "four"}, r"write a release or a line in quotes, .* got 'four'"),
        ({"kafka": "4.5"}, r"4\.5 is not one of 2\.4\.1.*--unpinned.*--kafka-home"),
        ({"kafka": "2.8", "metadata": "kraft"}, "came with 3.3"),
        ({"kafka": "4.0", "metadata": "zookeeper"}, "no ZooKeeper any more"),
        ({"kafka": "3.7", "metadata": "kraft", "voters": "dynamic"}, "dynamic ones came with 3.9"),
        (
            {"kafka": "3.7", "metadata": "kraft", "features": {"metadata.version": 18}},
            r"cluster\.features: Kafka 3\.7\.2 is formatted with its own levels; from 3\.9 on",
        ),
        (
            {"kafka": "3.9", "metadata": "kraft", "features": {ELR: 1}},
            "no eligible.leader.replicas.version, which came with 4.0: remove it, or",
        ),
        ({"kafka": "4.4", "server.process.roles": "broker"}, "is set by the harness"),
        ({"kafka": "4.4", f"server.{SESSION}": 9}, "the key belongs to ZooKeeper"),
        ({"kafka": "4.4", "metadata": "kraft-combined", "controllers": 5}, "brokers are the con"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        prepared(**wrong)


def test_an_unpinned_release_runs_where_it_is_allowed() -> None:
    assert prepared(kafka="4.5.0", unpinned=True).scenario.cluster.release == "4.5.0"


def test_the_words_of_zookeepers_nodes_mean_nobody_with_kraft() -> None:
    with pytest.raises(ScenarioError, match="KRaft has no ZooKeeper: use quorum-leader"):
        prepared("zookeeper-quorum-lost", metadata="kraft")


def with_fault(verb: str, target: str, options: dict[str, Any], **cluster: Any) -> Prepared:
    fault = {"verb": verb, "target": target, "at_s": 1, "options": options}
    told = {f"cluster.{path}": value for path, value in cluster.items()}
    settings = {**told, "workload.kind": "stream", "faults": [fault]}
    return prepare(Request(scenario="baseline", seed=1, settings=settings))


@pytest.mark.parametrize(
    ("cluster", "refused"),
    [
        ({}, False),
        ({"kafka": "3.9", "metadata": "kraft"}, False),
        ({"kafka": "4.0"}, False),
        ({"kafka": "4.0", "features": {"eligible.leader.replicas.version": 1}}, True),
        ({"kafka": "4.1"}, True),
        ({"kafka": "4.4", "features": {"eligible.leader.replicas.version": 0}}, False),
    ],
)
def test_brokers_have_no_minimum_of_their_own_where_replicas_are_eligible(
    cluster: dict[str, Any], refused: bool
) -> None:
    options = {"on": "brokers", "min.insync.replicas": 2}
    if not refused:
        assert with_fault("set-config", "all", options, **cluster).record.plan
        return
    with pytest.raises(ScenarioError, match=r"eligible leader replicas .* set it on"):
        with_fault("set-config", "all", options, **cluster)


@pytest.mark.parametrize(
    ("peers", "cluster", "why"),
    [
        ("zookeepers", {"kafka": "4.4"}, "from names zookeepers, and KRaft has no ZooKeeper: use"),
        ("quorum, zk1", {"kafka": "4.4"}, "from names zk1, and KRaft has no ZooKeeper"),
        ("controller4", {"kafka": "4.4"}, "from names controller4, and the cluster has no such"),
        ("controller1", {}, "from names controller1, and the cluster has no such node"),
        ("quorum, controller1, kafka2", {"kafka": "4.4"}, None),
        ("zookeepers, quorum, zk3", {}, None),
    ],
)
def test_other_ends_of_links_are_of_the_scenario_s_cluster(
    peers: str, cluster: dict[str, Any], why: str | None
) -> None:
    if why is None:
        assert with_fault("cut", "leader", {"from": peers}, **cluster).record.plan
        return
    with pytest.raises(ScenarioError, match=why):
        with_fault("cut", "leader", {"from": peers}, **cluster)


@pytest.mark.parametrize(("kafka", "told"), [("3.7", 1), ("3.9", 0)])
def test_a_fault_that_allows_unclean_elections_in_vain_is_told_of(kafka: str, told: int) -> None:
    options = {"on": "topic", "unclean.leader.election.enable": True}
    notes = with_fault("set-config", "all", options, kafka=kafka, metadata="kraft").notes

    assert told == len([n for n in notes if "(set-config all): unclean.leader.election.en" in n])


def test_voters_change_only_where_the_quorum_s_log_names_them() -> None:
    with pytest.raises(ScenarioError, match=r'cannot change: set cluster\.voters = "dynamic"'):
        with_fault("remove-controller", "quorum-one", {}, kafka="4.4")

    told = with_fault("remove-controller", "quorum-one", {}, kafka="4.4", voters="dynamic")
    assert told.record.plan[0].verb == "remove-controller"


def test_an_operator_s_verbs_go_with_kraft_too() -> None:
    assert with_fault("move-leader", "leader", {}, kafka="4.4").record.plan


def test_a_wrong_type_is_left_for_the_model_to_refuse() -> None:
    for raw in ({"cluster": 5}, {"cluster": {"kafka": 4.4}}, {"cluster": {"session_ms": "x"}}):
        assert normalize(raw, {}).raw == raw
    with pytest.raises(ScenarioError, match=r"cluster\.kafka"):
        prepared(kafka=4.4)


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"kafka": "4.4"}, 'topic.leader = "controller" is any broker here'),
        (
            {"kafka": "3.7", "metadata": "kraft"},
            r"topic\.config\.unclean.*3\.7\.2 do not look at it",
        ),
        (
            {"kafka": "4.4", "broker.min.insync.replicas": 2},
            r"cluster\.broker\.min\.insync\.replicas does nothing: Kafka 4\.4\.0 .* controllers' f",
        ),
        (
            {"kafka": "4.0", "controller.min.insync.replicas": 2},
            r"cluster\.controller\.min\.insync\.replicas does nothing: .* from the brokers' file",
        ),
        (
            {"kafka": "4.4", "broker.unclean.leader.election.enable": True},
            r"cluster\.broker\.unclean.* does nothing",
        ),
        (
            {"kafka": "4.4", "broker.broker.session.timeout.ms": 9000},
            r"cluster\.broker\.broker\.session\.timeout\.ms does nothing",
        ),
    ],
)
def test_what_means_something_else_with_kraft_is_said(given: dict[str, Any], note: str) -> None:
    said = prepared("partition-ap", **given).notes

    assert [each for each in said if re.search(note, each)]
    assert not [each for each in prepared("partition-ap").notes if re.search(note, each)]


@pytest.mark.parametrize(
    "given",
    [
        {"kafka": "4.0", "broker.min.insync.replicas": 2},
        {"kafka": "4.4", "controller.min.insync.replicas": 2},
        {"kafka": "4.4", "metadata": "kraft-combined", "broker.min.insync.replicas": 2},
    ],
)
def test_a_minimum_that_counts_is_not_spoken_of(given: dict[str, Any]) -> None:
    assert not [note for note in prepared(**given).notes if "does nothing" in note]


def test_the_key_for_unclean_elections_counts_from_3_9_on() -> None:
    said = prepared("partition-ap", kafka="3.9", metadata="kraft").notes

    assert not [each for each in said if "unclean" in each]
