"""What is decided and said before a run begins."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.commands import up
from harness.host import namespaces
from harness.model.scenario import ScenarioError
from harness.scenario.kafka.keys import Release
from harness.scenario.overrides import parse_override
from harness.scenario.prepare import Request, command_line, prepare
from tests.support.needs import needs


def notes(scenario: str, **settings: object) -> tuple[str, ...]:
    return prepare(Request(scenario=scenario, seed=1, settings=settings)).notes


def test_a_plan_that_outlasts_the_load_is_said_and_not_refused():
    needs("kafka")
    assert notes("slow-follower") == ()
    assert notes("slow-follower", **{"faults.0.for_s": 20}) == (
        "the plan takes at least 24 s, longer than workload.duration_s = 15: the load continues "
        "until the last fault is healed",
    )


def test_rounds_have_no_length():
    needs("kafka")
    assert notes("study-1") == ()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"topic.config.retention.bytes": 10**6}, True),
        ({"cluster.server.log.retention.bytes": 10**6}, True),
        ({"topic.config.retention.bytes": 10**6, "topic.partitions": 3}, False),
        ({"topic.config.retention.bytes": 10**6, "topic.config.segment.bytes": 10**6}, False),
        ({"topic.config.retention.bytes": 10**6, "topic.config.segment.ms": 900}, False),
        ({"cluster.server.log.retention.hours": 168}, False),
    ],
)
def test_retention_by_size_that_can_delete_nothing_is_told(
    settings: dict[str, object], told: bool
) -> None:
    """Two million bytes in one segment; or in three partitions, each of which is kept."""
    load = {"workload.kind": "stream", "workload.rate": 1000.0, "workload.duration_s": 20.0}
    said = notes("baseline", **load, **settings)

    assert told == any(" deletes nothing here: only closed segments" in note for note in said)


def test_the_command_that_runs_it_again_gives_every_setting_back():
    settings = {
        "workload.rounds": 5,
        "topic.leader": "kafka1",
        "mixed.faults": [{"verb": "cut", "target": "one", "options": {"from": "clients", "n": 1}}],
        "check.replicas": True,
        "cluster.server": {"num.network.threads": 3},
    }
    words = shlex.split(command_line(Request(scenario="s", seed=1, settings=settings)))

    given = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert settings == dict(map(parse_override, given))


def test_the_newer_protocol_of_groups_is_refused_where_no_broker_has_it():
    """With ZooKeeper every member would wait in vain (KIP-848)."""
    needs("kafka")
    own = {"workload.consumer.group.protocol": "consumer"}

    with pytest.raises(ScenarioError, match=r"ZooKeeper: add --set consumer\.group\.protocol=cla"):
        prepare(Request(scenario="group-members-come-and-go", seed=1, settings=own))
    prepare(Request(scenario="baseline", seed=1, settings=own))  # without a group
    elsewhere = {
        "workload.group_consumers": 2,
        "backend.external.bootstrap": ("a:1",),
        "cluster": {},
        "faults": [],
    }
    prepare(
        Request(scenario="pause-long", seed=1, settings={**own, **elsewhere}, backend="external")
    )


# Keys of Kafka's own


Asked = Callable[..., Request]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """A request with these texts as the user's files."""

    def request(settings: Mapping[str, Any] | None = None, **texts: str) -> Request:
        files = {name: tmp_path / f"{name}.properties" for name in texts}
        for name, file in files.items():
            file.write_text(texts[name])
        return Request(
            scenario="study-1",
            seed=1,
            settings=settings or {},
            server_properties=files.get("server"),
            producer_config=files.get("producer"),
            consumer_config=files.get("consumer"),
        )

    return request


@pytest.mark.parametrize(
    ("build", "settings", "own", "mode"),
    [
        ("3.7.1", {}, "", "kraft-combined"),
        ("2.8.2", {}, "", None),
        ("3.7.1", {"cluster.metadata": "zookeeper"}, "", None),
        ("3.7.1", {"cluster.kafka": "3.7.1"}, "", None),
        ("3.7.1", {}, 'metadata = "kraft"', "kraft"),
    ],
)
def test_a_file_s_roles_say_who_keeps_the_metadata_of_a_build_where_nobody_else_does(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    build: str,
    settings: Mapping[str, Any],
    own: str,
    mode: str | None,
) -> None:
    monkeypatch.setattr("harness.scenario.prepare.release_on", lambda *_, **__: Release(known=None))
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / f"kafka_2.13-{build}.jar").touch()
    (tmp_path / "libs" / "zookeeper-3.8.4.jar").touch()
    file, scenario = tmp_path / "server.properties", tmp_path / "own.toml"
    file.write_text("process.roles=broker,controller\n")
    scenario.write_text(f'extends = "baseline"\n[cluster]\n{own}\n')
    prepared = prepare(
        Request(
            scenario=str(scenario),
            seed=1,
            settings=settings,
            server_properties=file,
            kafka_home=tmp_path,
        )
    )
    cluster = prepared.scenario.cluster
    notes = [note for note in prepared.notes if "as process.roles of" in note]

    assert cluster.kept_by == (mode or "zookeeper")
    assert bool(notes) == (mode is not None and not own)


def test_what_is_wrong_with_all_files_and_the_scenario_is_one_message(asked):
    needs("kafka")
    request = asked(
        {"cluster.zoo.tickTme": 3, "workload.consumer.group.id": "mine"},
        server="num.network.thread=3\nbroker.id=1\nbroker.id=2\n",
        producer="lingr.ms=3\nacks=all\nacks=1\n",
        consumer="fetch.min.byts=3\n",
    )

    with pytest.raises(ScenarioError) as refused:
        prepare(request)

    first, *lines = str(refused.value).splitlines()
    assert first == "5 errors:"
    for told in (
        "server.properties, line 1: num.network.thread is not a broker's key of Kafka 3.9.2: did",
        "producer.properties, line 1: lingr.ms is not a producer key",
        "consumer.properties, line 1: fetch.min.byts is not a consumer key",
        "study-1: cluster.zoo.tickTme is not a key of ZooKeeper 3.8.4: did you mean cluster.zoo.ti",
        "study-1: workload.consumer.group.id cannot be set in a scenario",
    ):
        assert 1 == sum(told in line for line in lines), told


def test_each_file_has_one_note_of_what_it_has_in_vain_and_nothing_of_that_is_stored(asked):
    needs("kafka")
    secret = "ssl.keystore.password=hunter2\n"
    prepared = prepare(
        asked(
            server=secret + "broker.id=1\nnum.io.threads=7\n",
            producer=secret + "bootstrap.servers=a:1\nacks=1\n",
            consumer=secret + "bootstrap.servers=a:1\ngroup.id=x\n",
        )
    )

    notes = [note for note in prepared.notes if ": left out: " in note]
    files = [Path(note.partition(": left out: ")[0]).name for note in notes]
    assert files == ["producer.properties", "consumer.properties", "server.properties"]
    assert prepared.scenario.cluster.server["num.io.threads"] == "7"
    assert "hunter2" not in prepared.record.as_json() + str(prepared.notes)


def test_on_somebody_s_cluster_a_secret_in_such_a_file_is_an_error(asked):
    settings = {"backend.external.bootstrap": ["a:9092"], "faults": []}
    request = asked(settings, producer="sasl.password=hunter2\n")
    external = Request(
        scenario="baseline",
        seed=1,
        backend="external",
        settings=settings,
        producer_config=request.producer_config,
    )

    with pytest.raises(ScenarioError, match=r"line 1: sasl\.password .* backend\.external\.client"):
        prepare(external)


def test_up_says_the_notes_too(asked, monkeypatch, capsys):
    monkeypatch.setattr(namespaces, "run_enclosed", lambda argv, own_session: 0)

    prepared = prepare(asked(server="broker.id=1\n"))
    assert [note in prepared.notes for note in prepared.record.notes] == [True]
    assert up.hold_up(prepared, []) == 0
    assert "server.properties: left out: broker.id (" in capsys.readouterr().out
    with pytest.raises(ScenarioError, match="nosuchprogram: no such program: give its path"):
        up.hold_up(prepare(asked()), ["nosuchprogram"])
