"""Kafka's jars and its Java: found, refused, and never left half fetched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.distribution import class_archives, ivy, kafka_home
from harness.distribution.kafka_home import BILLS, KafkaHome, KafkaHomeError
from harness.host.java import Java, find_java
from harness.model.sections.kafka_releases import DEFAULT

Build = Callable[..., Path]
REAL_CACHE = kafka_home.cache_folder()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("KAFKA_HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Make a folder that looks like an unpacked Kafka with these jars."""

    def made(*jars: str) -> Path:
        libs = tmp_path / "kafka" / "libs"
        libs.mkdir(parents=True)
        for jar in jars:
            (libs / jar).write_bytes(b"PK")
        return libs.parent

    return made


# --- a user's own Kafka


def test_a_users_build_tells_its_versions_by_its_jars(build: Build) -> None:
    home = kafka_home.find_kafka(build("kafka_2.13-3.8.1.jar", "zookeeper-3.8.4.jar"))

    assert ("3.8.1", "3.8.4") == (home.version, home.zookeeper_version)


def test_a_build_from_source_has_a_version_too(build: Build) -> None:
    home = kafka_home.find_kafka(build("kafka_2.13-3.9.3-SNAPSHOT.jar", "zookeeper-3.8.4.jar"))

    assert home.version == "3.9.3-SNAPSHOT"


def test_a_later_build_has_no_zookeeper(build: Build) -> None:
    assert kafka_home.find_kafka(build("kafka_2.13-4.0.0.jar")).zookeeper_version is None


def test_the_class_path_is_sorted_because_archives_depend_on_it(build: Build) -> None:
    folder = build("zookeeper-3.8.4.jar", "a.jar", "kafka_2.13-3.9.2.jar")
    names = [Path(jar).name for jar in kafka_home.find_kafka(folder).class_path.split(":")]

    assert ["a.jar", "kafka_2.13-3.9.2.jar", "zookeeper-3.8.4.jar"] == names


@pytest.mark.parametrize(
    ("jars", "complaint"),
    [
        (["zookeeper-3.8.4.jar"], r"has no kafka_2\.13"),
        (["kafka-clients-3.9.2.jar"], r"has no kafka_2\.13"),
        (["kafka_2.13-3.9.2.jar"], "has no zookeeper"),
    ],
)
def test_a_kafka_that_cannot_run_here_is_refused(
    build: Build, jars: list[str], complaint: str
) -> None:
    with pytest.raises(KafkaHomeError, match=complaint):
        kafka_home.find_kafka(build(*jars))


def test_a_folder_that_is_no_kafka_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KafkaHomeError, match="has no folder libs/: give --kafka-home an"):
        kafka_home.find_kafka(tmp_path / "nowhere")


def test_a_jar_built_anew_gets_archives_of_its_own(build: Build) -> None:
    """The virtual machine would refuse the old ones."""
    folder = build("kafka_2.13-3.9.2.jar", "zookeeper-3.8.4.jar")
    before = kafka_home.find_kafka(folder)
    (folder / "libs" / "kafka_2.13-3.9.2.jar").write_bytes(b"PK, another")
    after = kafka_home.find_kafka(folder)

    assert before.archives != after.archives
    assert before.archives.parent == after.archives.parent


# --- fetching


def fake_ivy(monkeypatch: pytest.MonkeyPatch, *jars: str) -> list[int]:
    """Let "Ivy" deliver these jars; the list counts its runs."""
    runs: list[int] = []

    def retrieve(_modules: object, *, into: Path, **_rest: object) -> None:
        runs.append(1)
        into.mkdir()
        for jar in jars:
            (into / jar).write_text(jar)

    monkeypatch.setattr(ivy, "retrieve", retrieve)
    monkeypatch.setattr(kafka_home, "find_java", lambda: java("17.0.1"))
    return runs


def java(version: str) -> Java:
    return Java(path=Path("/nowhere/java"), version=version, build=version)


def accept(monkeypatch: pytest.MonkeyPatch, *jars: str) -> None:
    """Pin the digest to these fake jars."""
    lines = [f"{kafka_home._digest(jar)}  {jar}\n" for jar in sorted(jars)]
    monkeypatch.setitem(BILLS, DEFAULT, kafka_home._digest("".join(lines)))


JARS = ("kafka_2.13-3.9.2.jar", "zookeeper-3.8.4.jar")


def test_what_was_fetched_is_not_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = fake_ivy(monkeypatch, *JARS)
    accept(monkeypatch, *JARS)
    kafka_home.fetch()
    home = kafka_home.fetch()

    assert len(runs) == 1
    assert list(JARS) == [jar.name for jar in home.jars]
    assert [] == kafka_home.damaged(home)


def test_the_bill_says_what_was_fetched(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    fake_ivy(monkeypatch, *JARS)
    accept(monkeypatch, *JARS)
    kafka_home.fetch()
    bill = json.loads((cache / "kafka-3.9.2" / "bill.json").read_text())

    assert list(JARS) == list(bill["jars"])
    assert bill["digest"] == BILLS[DEFAULT]


def test_other_jars_than_expected_are_refused_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    fake_ivy(monkeypatch, *JARS, "malice.jar")
    accept(monkeypatch, *JARS)

    with pytest.raises(KafkaHomeError, match="have another checksum than expected"):
        kafka_home.fetch()
    assert ["fetch.lock"] == [file.name for file in cache.iterdir()]


def test_a_jar_that_went_missing_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = fake_ivy(monkeypatch, *JARS)
    accept(monkeypatch, *JARS)
    kafka_home.fetch().jars[0].unlink()

    with pytest.raises(KafkaHomeError, match="run `kafka-harness setup`"):
        kafka_home.find_kafka()
    assert len(kafka_home.fetch().jars) == len(JARS)
    assert len(runs) == 2


def test_a_changed_jar_of_the_same_size_is_found_by_its_hash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_ivy(monkeypatch, *JARS)
    accept(monkeypatch, *JARS)
    home = kafka_home.fetch()
    home.jars[0].write_text(JARS[0].upper())

    assert [JARS[0]] == kafka_home.damaged(kafka_home.find_kafka())


def test_remains_of_a_killed_fetch_are_cleared_away(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    fake_ivy(monkeypatch, *JARS)
    accept(monkeypatch, *JARS)
    (cache / ".kafka-3.9.2-killed" / "libs").mkdir(parents=True)
    kafka_home.fetch()

    assert {"kafka-3.9.2", "fetch.lock"} == {file.name for file in cache.iterdir()}


def test_a_failed_fetch_says_why_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    fake_ivy(monkeypatch)

    def fail(*_: object, **__: object) -> None:
        raise ivy.IvyError("Server access error at a mirror")

    monkeypatch.setattr(ivy, "retrieve", fail)
    with pytest.raises(KafkaHomeError, match=r"Server access error.*KAFKA_HARNESS_MAVEN"):
        kafka_home.fetch()
    assert ["fetch.lock"] == [file.name for file in cache.iterdir()]


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KAFKA_HARNESS_CACHE", str(tmp_path / "file" / "cache"))

    with pytest.raises(KafkaHomeError, match="set KAFKA_HARNESS_CACHE to a writable folder"):
        kafka_home.fetch()


def test_the_proxy_is_told_to_java() -> None:
    options = ivy.proxy_options({"https": "http://proxy.example:3128"})

    assert ["-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128"] == options
    assert [] == ivy.proxy_options({})


# --- options and archives


def test_options_name_an_archive_only_when_there_is_one(tmp_path: Path) -> None:
    """A virtual machine that is told of a file that is not there complains on every start."""
    home = KafkaHome(libs=tmp_path, version="3.9.2", archives=tmp_path)
    archive = kafka_home.class_archive(home, java("17.0.1"), "kafka")

    assert not any(
        str(archive) in o for o in kafka_home.java_options("kafka", home, java("17.0.1"))
    )
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in (
        kafka_home.java_options("kafka", home, java("17.0.1"))
    )
    assert not any(
        str(archive) in o for o in kafka_home.java_options("kafka", home, java("21.0.1"))
    )


@pytest.mark.cluster
def test_a_training_run_leaves_archives_that_fit(cache: Path) -> None:
    """Both nodes start in private namespaces, serve a client, and leave an archive each."""
    cache.mkdir()
    (cache / "kafka-3.9.2").symlink_to(REAL_CACHE / "kafka-3.9.2")
    home, runtime = kafka_home.find_kafka(), find_java()
    class_archives.ensure(home, runtime)

    for role in kafka_home.roles_in("zookeeper"):
        assert kafka_home.archive_fits(home, runtime, role)
    assert [] == list(home.archives.glob("training-*"))
