"""KRaft's storage is formatted once, and every node has a copy with ids of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.distribution import storage
from harness.distribution.kafka_home import KafkaHome, KafkaHomeError
from harness.distribution.storage import Format, Voter, directory_id
from harness.host.java import Java

VOTERS = [Voter(id=100 + i, endpoint=f"10.77.0.{10 + i}:9093") for i in (1, 2, 3)]
JAVA = Java(path=Path("/nowhere/java"), version="17", build="17")
META = f"version=1\nnode.id=101\ndirectory.id={directory_id(101)}\ncluster.id=c\n"


@pytest.fixture
def home(tmp_path: Path) -> KafkaHome:
    return KafkaHome(libs=tmp_path, version="4.4.0", archives=tmp_path / "jars" / "archives")


@pytest.fixture
def formatted(tmp_path: Path) -> Path:
    folder = tmp_path / "formatted"
    (folder / "__cluster_metadata-0").mkdir(parents=True)
    (folder / "__cluster_metadata-0" / "0.checkpoint").write_text("voters")
    (folder / "meta.properties").write_text(META)
    (folder / "bootstrap.checkpoint").write_text("features")
    return folder


def copied(formatted: Path, tmp_path: Path, node: int, *, votes: bool, before: int = 0) -> Path:
    folder = tmp_path / f"{node}-{votes}-{before}"
    folder.mkdir()
    storage.copy(formatted, folder, node, votes=votes, before=before)
    return folder


def test_a_copy_has_the_nodes_ids_and_who_votes_the_voters(formatted: Path, tmp_path: Path) -> None:
    broker = copied(formatted, tmp_path, 2, votes=False)
    controller = copied(formatted, tmp_path, 102, votes=True)

    assert (
        f"node.id=2\ndirectory.id={directory_id(2)}\n" in (broker / "meta.properties").read_text()
    )
    assert (broker / "bootstrap.checkpoint").read_text() == "features"
    assert not (broker / "__cluster_metadata-0").exists()
    assert (controller / "__cluster_metadata-0" / "0.checkpoint").read_text() == "voters"


def test_a_disk_that_is_formatted_anew_is_another_one(formatted: Path, tmp_path: Path) -> None:
    folders = [copied(formatted, tmp_path, 101, votes=True, before=n) for n in (0, 1)]

    first, second = ((each / "meta.properties").read_text() for each in folders)
    assert first == META
    assert directory_id(101, 1) in second


def test_directories_are_as_kafka_prints_them() -> None:
    """22 letters of URL-safe base64; Kafka's own never begin with a dash."""
    ids = {directory_id(node, n) for node in range(1, 110) for n in range(5)}

    assert len(ids) == 109 * 5
    assert all(len(each) == 22 and "-" not in each for each in ids)


def answer(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> list[list[str]]:
    """Let "the tool" end so; the list has its commands."""
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        if code == 0:
            data = Path(command[command.index("-c") + 1]).parent / "data"
            data.mkdir()
            (data / "meta.properties").write_text(META)
        return subprocess.CompletedProcess(command, code, stdout="", stderr=said)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_the_tool_is_asked_once_for_each_quorum_and_features(
    home: KafkaHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer(monkeypatch, 0, "")
    static = Format(voters=VOTERS, dynamic=False, features={})
    dynamic = Format(voters=VOTERS, dynamic=True, features={"eligible.leader.replicas.version": 0})

    folders = {storage.first_voter_disk(home, JAVA, each) for each in (static, static, dynamic)}

    assert (len(asked), len(folders)) == (2, 2)
    assert "--feature=eligible.leader.replicas.version=0" in asked[1]
    assert asked[1][-1].split(",")[0] == f"101@10.77.0.11:9093:{directory_id(101)}"
    assert "--initial-controllers" not in asked[0]


def test_what_the_tool_complains_of_is_told_and_nothing_is_kept(
    home: KafkaHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, 1, "Exception\nUnsupported feature: x")

    with pytest.raises(KafkaHomeError, match=r"Kafka 4\.4\.0 could not format .*feature: x"):
        storage.first_voter_disk(
            home, JAVA, Format(voters=VOTERS, dynamic=False, features={"x": 1})
        )
    assert list(home.archives.iterdir()) == []
