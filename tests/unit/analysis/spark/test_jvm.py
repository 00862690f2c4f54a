"""How Spark's JVM is started, and ended."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from analysis.job.train_archive import remove_unused
from analysis.spark import jvm
from harness.checkout import ROOT

HALF_MIB = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 // 2


@pytest.mark.parametrize(
    ("operations", "most_mib"),
    [
        (0, min(HALF_MIB, jvm.MOST_MIB)),
        (jvm.BIG - 1, min(HALF_MIB, jvm.MOST_MIB)),
        (jvm.BIG, HALF_MIB),
    ],
)
def test_a_check_takes_half_of_the_memory_at_most(operations: int, most_mib: int) -> None:
    assert f"-Xmx{max(512, most_mib)}m" in jvm._command(operations, None)


@pytest.mark.parametrize(
    ("made", "train", "shared"),
    [
        (True, False, "-XX:SharedArchiveFile={}/made.jsa"),
        (False, False, None),
        (True, True, "-XX:ArchiveClassesAtExit={}/new.jsa"),
        (False, True, "-XX:ArchiveClassesAtExit={}/new.jsa"),
    ],
)
def test_classes_are_shared_where_an_archive_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: bool, train: bool, shared: str | None
) -> None:
    archive = tmp_path / "made.jsa"
    monkeypatch.setattr(jvm, "archive_path", lambda: archive)
    if made:
        archive.touch()
    command = jvm._command(0, tmp_path / "new.jsa" if train else None)

    expected = [] if shared is None else [shared.format(tmp_path)]
    assert [part for part in command if "Archive" in part] == expected


def test_a_copy_of_spark_has_an_archive_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM takes none that was made of jars elsewhere, and says nothing."""
    (tmp_path / "one" / "jars").mkdir(parents=True)
    (tmp_path / "one" / "jars" / "a.jar").touch()
    shutil.copytree(tmp_path / "one", tmp_path / "two")  # with its times
    paths = []
    for name in ("one", "two", "one"):
        monkeypatch.setattr(jvm, "_spark_home", lambda name=name: tmp_path / name)
        paths.append(jvm.archive_path())

    assert (paths[0], paths[0] == paths[1]) == (paths[2], False)


def test_archives_whose_jars_are_gone_are_removed(tmp_path: Path) -> None:
    here, gone, untold = (tmp_path / f"spark-{name}.jsa" for name in ("here", "gone", "untold"))
    for archive in (here, gone, untold, tmp_path / "kafka.jsa"):
        archive.touch()
    here.with_suffix(".jars").write_text(str(tmp_path))
    gone.with_suffix(".jars").write_text(str(tmp_path / "gone"))
    remove_unused(tmp_path)

    assert {"spark-here.jsa", "spark-here.jars", "kafka.jsa"} == {
        f.name for f in tmp_path.iterdir()
    }


@pytest.mark.jvm
def test_whether_an_archive_fits_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "archive_path", lambda: tmp_path / "a.jsa")
    assert not jvm.archive_fits()
    (tmp_path / "a.jsa").write_bytes(b"no archive")
    assert not jvm.archive_fits()


@pytest.mark.jvm
def test_the_archive_that_set_up_made_fits() -> None:
    if not jvm.archive_path().exists():
        pytest.skip("set-up could make no class archive here")
    assert jvm.archive_fits()


def test_the_jvm_s_answer_is_its_port_and_a_secret() -> None:
    """Whatever follows."""
    answer = struct.pack(">ii", 4321, 6) + b"secret" + b"and more"

    assert jvm._read_answer(answer) == (4321, "secret")


@pytest.mark.parametrize(("command", "answers"), [("sleep 0.1; : > $0; cat", True), ("", False)])
def test_an_answer_is_awaited_for_as_long_as_the_jvm_lives(
    tmp_path: Path, command: str, answers: bool
) -> None:
    answer = tmp_path / "gateway"
    with subprocess.Popen(["sh", "-c", command, str(answer)], stdin=subprocess.PIPE) as process:
        assert jvm._answered(process, answer) is answers


@pytest.mark.parametrize(("limit_s", "code"), [(0.01, -9), (60, 0)])
def test_a_jvm_that_does_not_end_in_time_is_killed(limit_s: float, code: int) -> None:
    """One that writes an archive is given more of it."""
    command = ["sh", "-c", "cat; sleep 0.3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        jvm.end(process, limit_s)

    assert process.returncode == code


def test_a_folder_that_spark_would_take_for_two_is_not_used(tmp_path: Path) -> None:
    run = tmp_path / "a,b"
    run.mkdir()

    with jvm._temporary(run) as options:
        assert [] == options
        assert [] == list(run.iterdir())
    with jvm._temporary(tmp_path) as options:
        assert len(options) == len(list(tmp_path.glob(".spark-*"))) == 1


@pytest.mark.parametrize("java", ["false", "/no/such/java"])
def test_one_that_does_not_start_is_left_to_pyspark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java: str
) -> None:
    monkeypatch.setattr(jvm, "_java", lambda: java)
    with jvm.Jvm(scratch=tmp_path) as one:
        one.tell_pyspark()

        assert "PYSPARK_GATEWAY_PORT" not in os.environ
    assert [] == list(tmp_path.iterdir())


@pytest.mark.jvm
def test_one_that_nothing_was_asked_of_ends_at_once_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a check finds out that there is nothing to check."""
    scratch, temporary = tmp_path / "run", tmp_path / "temporary"
    scratch.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = psutil.Process().children()
    with jvm.Jvm(scratch=scratch):
        [started] = [each for each in psutil.Process().children() if each not in before]
        assert len(list(scratch.iterdir())) == len(list(temporary.iterdir())) == 1

    assert not started.is_running()
    assert [] == [*scratch.iterdir(), *temporary.iterdir()]


TOO_SMALL = """
import psutil
from analysis.spark.jvm import BIG, Jvm
from analysis.spark.session import session
with Jvm() as small:
    [first] = psutil.Process().children()
    with session(None, BIG, jvm=small) as spark:
        [second] = psutil.Process().children()
        assert second.pid != first.pid
        print(spark.range(3).count())
    assert [] == psutil.Process().children()
"""


@pytest.mark.jvm
def test_one_that_is_too_small_makes_room_for_another() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TOO_SMALL], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr
