"""A cluster that is already there, behind TLS and SASL: seen by its brokers, hit by a script, left
as it was, and no secret of it anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import commands
from tests.support.commands import Ran, faults_of
from tests.support.host_pace import bound_s

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(func_only=True)]

OUTSIDE = Path(__file__).with_name("outside")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("outside")
    subprocess.run([str(OUTSIDE / "secrets.sh"), str(folder)], check=True, timeout=bound_s(120))
    jaas = f"${{file:{folder / 'broker.properties'}:jaas}}"
    server = {
        "ssl.keystore.location": folder / "broker.pem",
        "ssl.truststore.location": folder / "ca.pem",
        "listener.name.plaintext.plain.sasl.jaas.config": jaas,
    }
    sets = [
        word for key, value in server.items() for word in ("--set", f"cluster.server.{key}={value}")
    ]
    return commands.script_result(
        str(OUTSIDE / "secured.toml"),
        *sets,
        "--",
        sys.executable,
        str(OUTSIDE / "by_address.py"),
        str(folder),
        limit_s=1800,  # whatever it awaits has a limit of its own, far below, which names it
    )


@pytest.fixture(scope="module")
def run(told: dict[str, Any]) -> Ran:
    return Ran(**told["run"], folder=Path(told["folder"]))


def test_the_brokers_tell_the_same_as_zookeeper(told):
    views = told["views"]

    assert [
        ["kafka1", "10.77.0.21:9092"],
        ["kafka2", "10.77.0.22:9092"],
        ["kafka3", "10.77.0.23:9092"],
    ] == views["nodes"]
    assert views["zookeeper"] == views["brokers"]
    assert views["zookeeper"]["leader"] == {"0": "kafka2", "1": "kafka3"}
    assert views["assignments"][0] == views["assignments"][1]
    assert views["epochs"][0] == views["epochs"][1]


@pytest.mark.parametrize(
    ("which", "code", "sentence"),
    [
        ("not-allowed", 255, "add --allow {first}"),
        ("too-many", 255, "the cluster has 3 brokers (kafka1, kafka2, kafka3), and the scenario's"),
        ("wrong-password", 255, "connection failed: {first}: PLAIN: Authentication failed"),
        ("nobody", 255, "the cluster cannot be reached: 127.0.0.1:1: "),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(told, which, code, sentence):
    refused = told["refused"][which]

    assert (code, "") == (refused["code"], refused["err"])
    assert sentence.format(first=told["first"]) in refused["out"]
    assert "Traceback" not in refused["out"]


def test_the_run_is_valid_and_its_final_read_complete(run):
    assert (0, "valid") == (run.code, run.report["verdict"]), run.out
    assert run.record()["state"] == "complete"
    assert run.report["anomalies"]["lost"]["count"] == 0
    assert run.report["final_read"]["complete"]


def test_a_command_proves_itself_by_its_probe_or_has_only_its_word(run):
    first, second = faults_of(run)

    assert "there was no probe: sent STOP to process" in first["evidence"]
    assert f"of {second['nodes'][0]} is stopped: T" in second["evidence"]
    assert f"of {second['nodes'][0]} runs: " in second["heal_evidence"]
    for fault in (first, second):
        assert "every broker is a member, every ISR has 3 members" in fault["heal_evidence"]
    assert (first["error"], second["error"]) == (None, None)


def test_while_a_broker_hangs_the_others_tell_who_leads(run):
    """The second fault is held until another broker leads; when the old leader wakes it still says
    that it leads, and nobody believes it."""
    _, second = faults_of(run)
    lines = (run.folder / "history" / "views.jsonl").read_text().splitlines()
    views = [view for view in map(json.loads, lines) if view["event"] == "view"]
    begin_ns, end_ns = second["invoke_ns"], second["heal_ok_ns"]
    leaders = {view["leader"] for view in views if begin_ns < view["time_ns"] < end_ns}

    assert leaders - {second["nodes"][0], None}
    epochs = [view["leader_epoch"] for view in views]
    assert epochs == sorted(epochs)
    assert epochs[-1] > 0


def test_what_decides_the_promises_was_asked_of_the_brokers(run):
    asked = run.record()["node_settings"]["server"]

    assert (asked["min.insync.replicas"], asked["unclean.leader.election.enable"]) == ("2", "false")
    assert asked["inter.broker.protocol.version"].startswith("3.9")


def test_only_what_was_there_before_is_there_afterwards(told, run):
    assert ["__consumer_offsets", "theirs"] == told["topics"]
    killed = told["killed"]["run_id"]
    assert f"{run.record()['run_id']}/group" not in told["groups"]
    assert {f"{killed}/group"} >= set(told["groups"])  # its member was killed, too


def test_no_secret_is_among_arguments_or_in_the_runs_folders(told):
    assert told["workers"] > 10  # the spy has seen them
    assert told["bait"] >= 2
    assert [] == told["arguments"]
    assert [] == told["written"]


def test_heal_carries_out_the_commands_of_a_harness_that_was_killed(told):
    killed = told["killed"]

    assert (killed["still"], killed["code"], killed["outstanding"]) == ("T", 0, []), killed["out"]
    assert killed["after"] != "T"
    assert f"{killed['node']}: its heal command ended with exit code 0: sent CONT" in killed["out"]
    assert "is removed" in killed["out"]
