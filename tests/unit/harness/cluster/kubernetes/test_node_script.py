"""node.sh, a node's main process in a pod, with a java that sleeps until somebody ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness.distribution.storage import CLUSTER_ID
from harness.release import MANIFESTS

BASE = MANIFESTS / "base"
POD = f"kafka-{os.getpid()}"  # its file of properties lies in /tmp, where other tests run too


@pytest.fixture
def node(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with started(tmp_path, "kafka", "to=HOST_IP:1\n") as process:
        yield process


@contextmanager
def started(folder: Path, role: str, properties: str) -> Iterator[subprocess.Popen[str]]:
    """The script of one pod. Its java formats a disk at once, if it can, or sleeps."""
    for name in ("orders", "settings", f"data/{role}", "bin", "libs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    java = folder / "bin" / "java"
    java.write_text(
        f'#!/bin/sh\necho "$@" >>{folder}/said\ncase $* in *StorageTool*)\n'
        f"[ ! -e {folder}/refuses ] || exit 3\n"
        f">{folder}/data/{role}/meta.properties; exit ;; esac\nexec sleep 60\n"
    )
    java.chmod(0o755)
    (folder / "settings" / f"{POD}.properties").write_text(properties)
    (folder / "settings" / "features").write_text("a=1\nb=0\n")
    (folder / "libs" / "b.jar").touch()
    environment = {
        **os.environ,
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "POD_NAME": POD,
        "HOST_IP": "10.1.1.1",
        "JVM_OPTIONS": "-Xmx1m",
        "ORDERS": str(folder / "orders"),
        "SETTINGS": str(folder / "settings"),
        "DATA": str(folder / "data"),
        "KAFKA_LIBS": str(folder / "libs"),
        "KAFKA_ARCHIVE": "",
    }
    with subprocess.Popen(
        ["sh", str(BASE / "node.sh"), role], env=environment, text=True
    ) as process:
        yield process
        if process.poll() is None:
            process.terminate()
    Path(f"/tmp/{POD}.properties").unlink()


def jvm(node: subprocess.Popen[str], after: int = 0, limit_s: float = 20) -> int:
    """The pid of the sleeping java, which comes `after` that one; waits for it."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        for child in Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split():
            with suppress(OSError):  # a child of a moment, as `sed`, may be gone already
                runs = Path(f"/proc/{child}/cmdline").read_bytes()
                if runs.startswith(b"sleep\x0060") and int(child) != after:
                    return int(child)
        time.sleep(0.02)
    raise AssertionError("no JVM was begun")


def appears(file: Path, limit_s: float = 20) -> str:
    end = time.monotonic() + limit_s
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return file.read_text()


def test_a_jvm_that_ends_unordered_ends_the_container_with_its_code(
    node: subprocess.Popen[str],
) -> None:
    os.kill(jvm(node), 9)

    assert 128 + 9 == node.wait(20)


def test_a_held_node_stays_down_until_it_is_started(
    node: subprocess.Popen[str], tmp_path: Path
) -> None:
    orders = tmp_path / "orders"
    first = jvm(node)
    (orders / "held").touch()
    os.kill(first, 9)

    assert "137\n" == appears(orders / "ended")
    (orders / "started").touch()
    (orders / "held").unlink()
    assert first != jvm(node)
    assert not (orders / "ended").exists()


def test_a_start_that_fails_is_held_and_told(node: subprocess.Popen[str], tmp_path: Path) -> None:
    """As a broker's that meets its old session: the harness orders the next one."""
    orders = tmp_path / "orders"
    first = jvm(node)
    (orders / "started").touch()
    os.kill(first, 9)
    os.kill(jvm(node, after=first), 9)  # the one that took the order

    appears(orders / "held")
    assert "137\n" == appears(orders / "ended")
    assert node.poll() is None


def test_a_start_that_is_ordered_before_the_end_was_seen_is_not_lost(
    node: subprocess.Popen[str], tmp_path: Path
) -> None:
    """On a busy machine the harness sees that the process is gone before the script does."""
    orders = tmp_path / "orders"
    first = jvm(node)
    (orders / "held").touch()
    node.send_signal(signal.SIGSTOP)
    os.kill(first, 9)
    (orders / "started").touch()
    (orders / "held").unlink()
    node.send_signal(signal.SIGCONT)

    assert jvm(node, after=first)
    assert not (orders / "held").exists()


def test_the_machine_s_address_is_filled_in_and_jars_are_in_order(
    node: subprocess.Popen[str], tmp_path: Path
) -> None:
    jvm(node)
    said = (tmp_path / "said").read_text()

    assert f"-cp {tmp_path}/libs/b.jar kafka.Kafka /tmp/{POD}.properties" in said
    assert "to=10.1.1.1:1\n" == Path(f"/tmp/{POD}.properties").read_text()


def test_a_pod_that_is_told_to_end_tells_its_jvm(node: subprocess.Popen[str]) -> None:
    pid = jvm(node)
    node.terminate()

    assert 0 == node.wait(20)
    assert not Path(f"/proc/{pid}").exists()


# KRaft

ROLES = "process.roles=controller\n"


def test_an_empty_disk_is_formatted_once(tmp_path: Path) -> None:
    """What has been formatted is the node's, whichever process comes."""
    with started(tmp_path, "controller", ROLES) as first:
        killed = jvm(first)
        (tmp_path / "orders" / "started").touch()
        os.kill(killed, 9)
        jvm(first, after=killed)
    with started(tmp_path, "controller", ROLES) as another:
        jvm(another)
    formats, *starts = (tmp_path / "said").read_text().splitlines()

    assert formats.endswith(
        f"kafka.tools.StorageTool format -t {CLUSTER_ID} -c /tmp/{POD}.properties "
        "--feature a=1 --feature b=0"
    )
    assert [line.split()[-2] for line in starts] == ["kafka.Kafka"] * 3


def test_a_disk_that_cannot_be_formatted_ends_the_container(tmp_path: Path) -> None:
    (tmp_path / "refuses").touch()
    with started(tmp_path, "controller", ROLES) as process:
        assert process.wait(20) == 3

    assert "kafka.Kafka" not in (tmp_path / "said").read_text()


def test_beside_zookeeper_nothing_is_formatted(node: subprocess.Popen[str], tmp_path: Path) -> None:
    jvm(node)

    assert "StorageTool" not in (tmp_path / "said").read_text()
