"""Run beside a cluster by `kafka-harness up`: uses it as somebody does who knows its address only.

    by_address.py FOLDER        what `secrets.sh` has made; results go there too

Prints what was seen as JSON, after TOLD.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from harness.cluster import client_security
from harness.cluster.admin.admin import Admin
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import brokers
from harness.cluster.view.brokers import AskedView
from harness.cluster.view.discovery import discovered
from harness.cluster.view.state import BLIND
from harness.cluster.view.zookeeper import ZooKeeperView
from harness.host.namespaces import living
from harness.nemesis.undo_record import outstanding
from harness.waiting import wait_until

HERE = Path(__file__).parent
FOLDER = Path(sys.argv[1])
FIRST = os.environ["KAFKA"].split(",")[0]
PASSWORD = (FOLDER / "password").read_text().strip()
ENVIRONMENT = {**os.environ, "KAFKA_PASSWORD": PASSWORD}
SETTINGS = client_security.read(FOLDER / "client.properties", ENVIRONMENT)
LIMIT_S = 300 * float(os.environ["HARNESS_SLOWNESS"])  # of each command: tests.support.host_pace
SECRETS = (PASSWORD, SETTINGS["sasl.username"])


def command(*arguments: str) -> list[str]:
    scenario = FOLDER / "external.toml"
    text = (HERE / "external.toml").read_text().replace("SCRIPT", str(HERE / "broker"))
    scenario.write_text(text)
    return [
        sys.executable,
        "-m",
        "harness.cli",
        "run",
        str(scenario),
        "--backend",
        "external",
        "--seed",
        "7",
        "--set",
        f'backend.external.bootstrap=["{FIRST}"]',
        "--set",
        f"backend.external.client={FOLDER / 'client.properties'}",
        "--results",
        str(FOLDER / "results"),
        *arguments,
    ]


def ran(*arguments: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        command(*arguments),
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


class Spy:
    """Reads every process's arguments again and again, and keeps those with a secret in them."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.workers = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    text = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    self.workers += "workloads." in text
                    self.seen |= {text} if any(secret in text for secret in SECRETS) else set()


def with_secrets(folder: Path) -> list[str]:
    """Files of the folder that have a secret in them."""
    return [
        str(file)
        for file in folder.rglob("*")
        if file.is_file() and any(secret.encode() in file.read_bytes() for secret in SECRETS)
    ]


def both_views() -> dict[str, Any]:
    """What ZooKeeper says of a topic, and what the brokers do, at rest."""
    admin = Admin(brokers(local_nodes(3, 3)), SETTINGS)
    admin.topics.create("theirs", [[2, 3, 1], [3, 1, 2]], {})
    nodes = discovered([FIRST], SETTINGS)
    with closing(ZooKeeperView(local_nodes(3, 3), "theirs", 2)) as told:
        told.connect(30)
        wait_until(lambda: told.recovered(3), timeout_s=60, what="the ISR", ignoring=BLIND)
        with closing(AskedView(nodes, "theirs", 2, SETTINGS)) as asked:
            asked.connect(30)
            wait_until(lambda: asked.recovered(3), timeout_s=10, what="the same by brokers")
            return {
                "nodes": [[node.name, node.endpoint] for node in nodes],
                "zookeeper": told.look().as_record(),
                "brokers": asked.look().as_record(),
                "assignments": [told.look().assignment, asked.look().assignment],
                "epochs": [
                    [p.leader_epoch for p in view.look().partitions] for view in (told, asked)
                ],
            }


def killed() -> dict[str, Any]:
    """A harness that is killed while its command has stopped a broker, and what `heal` does."""
    arguments = (
        "--allow",
        FIRST,
        "--no-check",
        "--set",
        "faults.1.for_s=600",
        "--set",
        "faults.0.for_s=0",
    )
    process = subprocess.Popen(
        command(*arguments),
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    latest = FOLDER / "results" / "latest"
    before = latest.resolve()

    def stopped() -> str | None:
        if latest.resolve() == before:
            return None
        left = [fault for fault in outstanding(latest) if fault["fault"] == 1]
        return left[0]["nodes"][0] if left and state(left[0]["nodes"][0]) == "T" else None

    node = wait_until(stopped, timeout_s=90, what="a broker that stands still")
    assert node is not None
    folder = latest.resolve()
    for pid in (*living(folder), process.pid):  # the inner one would heal when the outer one dies
        os.kill(pid, signal.SIGKILL)
    process.wait(LIMIT_S)
    wait_until(lambda: not living(folder), timeout_s=10, what="the harness to be gone")
    still = state(node)
    named = ("command", FIRST, str(FOLDER / "client.properties"))
    allow = [word for name in named for word in ("--allow", name)]
    heal = [sys.executable, "-m", "harness.cli", "heal", str(folder), "--down", *allow]
    done = subprocess.run(
        heal, env=ENVIRONMENT, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    return {
        "node": node,
        "still": still,
        "after": state(node),
        "code": done.returncode,
        "out": done.stdout + done.stderr,
        "outstanding": outstanding(folder),
        "run_id": f"external/{folder.name}",
    }


def state(node: str) -> str:
    """The state of a broker's process, as the kernel calls it."""
    found = subprocess.run(
        ["pgrep", "-f", f"kafka.Kafka .*/{node}.properties"],
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(f"/proc/{found.stdout.split()[0]}/stat").read_text().rpartition(")")[2].split()[0]


def main() -> None:
    told: dict[str, Any] = {"views": both_views(), "first": FIRST}
    told["refused"] = {
        "not-allowed": ran(),
        "too-many": ran("--allow", FIRST, "--set", "cluster.brokers=5"),
        "wrong-password": ran("--allow", FIRST, KAFKA_PASSWORD="wrong"),
        "nobody": ran(
            "--allow", "127.0.0.1:1", "--set", 'backend.external.bootstrap=["127.0.0.1:1"]'
        ),
    }
    with closing(Spy()) as spy:
        told["run"] = ran("--allow", FIRST)
        told["folder"] = str((FOLDER / "results" / "latest").resolve())
        told["killed"] = killed()
    told |= {"arguments": sorted(spy.seen), "workers": spy.workers}
    told["written"] = with_secrets(FOLDER / "results")
    told["bait"] = len(with_secrets(FOLDER))  # the spy can find what is there
    admin = AdminClient({**SETTINGS, "bootstrap.servers": os.environ["KAFKA"]})
    told["topics"] = sorted(admin.list_topics(timeout=10).topics)
    told["groups"] = [group.group_id for group in admin.list_consumer_groups().result().valid]
    sys.stdout.write(f"TOLD {json.dumps(told)}\n")


if __name__ == "__main__":
    main()
