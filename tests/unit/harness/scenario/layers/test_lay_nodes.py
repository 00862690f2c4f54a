"""A broker's and a topic's file, laid between the scenario and what is set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.model.scenario import ScenarioError
from tests.support.config_files import LayOver, told


def test_a_broker_s_unclean_elections_and_min_isr_are_the_topic_s(laid: LayOver) -> None:
    text = "unclean.leader.election.enable=true\nmin.insync.replicas=2\n"
    found = laid(server=text)
    config = found.scenario.topic.config

    assert ("true", "2") == (
        config["unclean.leader.election.enable"],
        config["min.insync.replicas"],
    )
    assert 2 == len(told(found, "is the run's topic's, in place of the scenario's topic.config."))
    assert found.origins["topic"]["min.insync.replicas"] == "server.properties, line 2"
    set_too = {"cluster.server.min.insync.replicas": 3}
    given = laid(settings=set_too, server=text)
    assert "3" == str(given.scenario.topic.config["min.insync.replicas"])
    assert "--set" == given.origins["topic"]["min.insync.replicas"]
    of_zoo = {"cluster.zoo.initLimit": 9, "cluster.zoo.syncLimit": 9}
    assert {"initLimit": "--set", "syncLimit": "--set"} == laid(settings=of_zoo).origins["zoo"]
    for over in (
        laid(settings={"topic.config.min.insync.replicas": 3}, server=text),
        laid(server=text, topic="min.insync.replicas=3\n"),
    ):
        assert "3" == str(over.scenario.topic.config["min.insync.replicas"])
        assert 1 == len(told(over, "min.insync.replicas does nothing to the run's topic"))


def test_what_a_broker_s_file_contradicts_gives_way(laid: LayOver) -> None:
    text = "replica.fetch.wait.max.ms=3000\nlog.cleaner.threads=2\n"
    found = laid(server=text)
    server = found.scenario.cluster.server

    assert "replica.lag.time.max.ms" not in server  # of the scenario: Kafka's 30 s are above
    assert server["log.cleaner.dedupe.buffer.size"] == "4194304"
    assert found.origins["server"]["log.cleaner.dedupe.buffer.size"] == "to fit others"
    assert 1 == len(told(found, "replaces the scenario's replica.lag.time.max.ms = 1500"))
    assert 1 == len(told(found, "is 4194304 here, to fit log.cleaner.threads = 2"))
    with pytest.raises(ScenarioError, match=r"\(replica\.lag.*: server\.properties, line 1\)"):
        laid(server="replica.lag.time.max.ms=400\n")


OF_KRAFT = (
    "process.roles={}\nmin.insync.replicas=2\nunclean.leader.election.enable=true\n"
    "replica.lag.time.max.ms=9000\nnum.io.threads=5\n"
)


@pytest.mark.parametrize(
    ("kafka", "roles", "section", "of_topic"),
    [
        ("4.4", "broker", "broker", ()),
        ("4.0", "broker", "broker", ("min.insync.replicas",)),
        ("4.4", "controller", "controller", ("min.insync.replicas", "unclean.leader.election.en")),
        ("4.0", "controller", "controller", ("unclean.leader.election.en",)),
        ("4.4", "broker,controller", "server", ("min.insync.replicas", "unclean.leader.election")),
        ("3.9", "broker", "server", ("min.insync.replicas", "unclean.leader.election.enable")),
    ],
)
def test_a_file_of_one_role_goes_into_that_ones_section(
    laid: LayOver, kafka: str, roles: str, section: str, of_topic: tuple[str, ...]
) -> None:
    """And is the topic's where that one decides it."""
    found = laid(
        settings={"cluster.kafka": kafka, "cluster.server.num.io.threads": 3},
        server=OF_KRAFT.format(roles),
    )
    cluster = found.scenario.cluster
    own, both = getattr(cluster, section), cluster.server

    assert own["replica.lag.time.max.ms"] == "9000"
    assert own["min.insync.replicas"] == "2"
    assert both["num.io.threads"] == 3
    assert found.origins[section]["min.insync.replicas"] == "server.properties, line 2"
    assert found.origins["server"]["num.io.threads"] == "--set"
    if section != "server":
        assert both["replica.lag.time.max.ms"] == 1500
        assert "num.io.threads" not in own
        assert "min.insync.replicas" not in found.origins["server"]
    told_of = told(found, "is the run's topic's, in place of")
    assert len(of_topic) == len(told_of)
    assert all(any(key in note for note in told_of) for key in of_topic)
    origins = {key for key, o in found.origins["topic"].items() if "line" in o}
    assert all(any(key.startswith(each) for each in of_topic) for key in origins)
    assert len(origins) == len(of_topic)


def test_what_is_wrong_with_a_broker_s_file_of_krafts_has_its_line(laid: LayOver) -> None:
    text = "process.roles=broker\nreplica.lag.time.max.ms=400\n"

    with pytest.raises(ScenarioError, match=r"\(replica\.lag.*: server\.properties, line 2\)"):
        laid(settings={"cluster.kafka": "4.4"}, server=text)
    with pytest.raises(ScenarioError, match=r"cluster\.broker\.log\.roll\.ms is 0.*, line 2\)"):
        laid(settings={"cluster.kafka": "4.4"}, server="process.roles=broker\nlog.roll.ms=0\n")


@pytest.mark.parametrize(
    ("server", "clients", "why"),
    [
        ("group.max.session.timeout.ms=7000\n", {"consumer": "session.timeout.ms=8000\n"}, "above"),
        ("group.min.session.timeout.ms=7000\n", {"consumer": "session.timeout.ms=6500\n"}, "below"),
        (
            "transaction.max.timeout.ms=7000\n",
            {"producer": "transactional.id=t\ntransaction.timeout.ms=8000\n"},
            "above",
        ),
        ("group.max.session.timeout.ms=7000\n", {"consumer": "session.timeout.ms=7000\n"}, None),
        ("transaction.max.timeout.ms=7000\n", {"producer": "acks=all\n"}, None),
        ("num.io.threads=3\n", {"consumer": "session.timeout.ms=5000\n"}, "below"),
        (
            "num.io.threads=3\n",
            {"producer": "transactional.id=t\ntransaction.timeout.ms=900001\n"},
            "above",
        ),
    ],
)
def test_brokers_refuse_times_of_clients(
    laid: LayOver, server: str, clients: Mapping[str, str], why: str | None
) -> None:
    if why is None:
        laid(server=server, **clients)
    else:
        with pytest.raises(ScenarioError, match=rf"{why} the brokers' .*: no broker would take it"):
            laid(server=server, **clients)


@pytest.mark.parametrize(
    "settings",
    [
        {"cluster": {"brokers": 3}},
        {"cluster.server": {"num.network.threads": 3}},
        {"topic": {"partitions": 2}},
        {"topic.config": {"retention.ms": 3}},
    ],
)
def test_a_section_that_is_set_as_a_whole_loses_no_key_of_a_file(
    laid: LayOver, settings: Mapping[str, Any]
) -> None:
    found = laid(
        settings=settings, server="num.io.threads=5\n", topic="retention.bytes=7\npartitions=4\n"
    )
    scenario = found.scenario

    assert scenario.cluster.server["num.io.threads"] == "5"
    assert scenario.topic.config["retention.bytes"] == "7"
    assert scenario.topic.partitions == (2 if "topic" in settings else 4)
    ((path, whole),) = settings.items()
    assert ("replica.lag.time.max.ms" in scenario.cluster.server) == path.startswith("topic")
    assert ("segment.bytes" in scenario.topic.config) == path.startswith("cluster")
    if path in ("cluster.server", "topic.config"):
        section = "server" if path == "cluster.server" else "topic"
        assert {"--set"} == {found.origins[section][key] for key in whole}


@pytest.mark.parametrize(
    ("settings", "server", "why"),
    [
        ({}, "min.insync.replicas=4\n", r"topic\.config\.min\.insync\.replicas is 4 but"),
        (
            {"topic.config.min.insync.replicas": 2, "workload.group_consumers": 0},
            "min.insync.replicas=4\noffsets.topic.replication.factor=5\n",
            None,
        ),
        ({}, "offsets.topic.replication.factor=5\n", r"add --set cluster\.server\.offsets\.topic"),
    ],
)
def test_there_are_not_more_replicas_than_brokers(
    laid: LayOver, settings: Mapping[str, Any], server: str, why: str | None
) -> None:
    if why is None:
        laid(settings=settings, server=server)
    else:
        with pytest.raises(ScenarioError, match=why):
            laid(settings=settings, server=server)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("log.segment.bytes=1073741824", "--set topic.config.segment.bytes=1073741824 would"),
        ("num.partitions=3", "--set topic.partitions=3 would count"),
        ("default.replication.factor=2", "--set topic.replication_factor=2 would count"),
        ("log.retention.hours=1", "log.retention.ms = -1; --set topic.config.retention.ms=3600000"),
        ("log.retention.ms=5", None),
        ("num.partitions=1", None),
        ("log.segment.bytes=2000", None),
        ("log.roll.hours=1", None),
        ("message.max.bytes=5", None),
    ],
)
def test_a_line_of_a_broker_s_file_that_does_nothing_is_told(
    laid: LayOver, line: str, why: str | None
) -> None:
    notes = told(laid(server=line + "\n"), f"line 1: {line.partition('=')[0]} does nothing: ")

    assert [why] == [why for note in notes if why and why in note] if why else notes == []


def test_a_topic_s_file_wins_over_the_scenario_and_loses_to_set(laid: LayOver) -> None:
    found = laid(topic="partitions=3\nreplicas=2\nretention.ms=7\nsegment.bytes=9\n")
    topic = found.scenario.topic

    assert (3, 2) == (topic.partitions, topic.replication_factor)
    assert ("7", "9") == (topic.config["retention.ms"], topic.config["segment.bytes"])
    assert 1 == len(told(found, "topic.properties replaces the scenario's segment.bytes = 2000"))
    assert found.shown_demands
    over = laid(settings={"topic.partitions": 5}, topic="partitions=3\n")
    assert 5 == over.scenario.topic.partitions
