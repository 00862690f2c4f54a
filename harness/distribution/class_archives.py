"""Makes class-data-sharing archives: classes that a node's virtual machine parses once for every
start.

A training run makes an archive on the loopback of a private network namespace: one ZooKeeper and
one broker start, or one combined KRaft node, whose archive serves brokers and controllers; a client
writes and reads a few records; all end by SIGTERM and leave their archive behind
(`-XX:ArchiveClassesAtExit`, on Java 17 and 21 alike). A node never writes one during a run: dumping
takes CPU seconds, in the middle of a SIGTERM fault.

An archive fits the exact build of Java and the exact jars; both are in its path, see
`kafka_home.class_archive`. The virtual machine checks again and ignores what does not fit, so an
archive makes a start faster and never makes it fail.

`python -m harness.distribution.class_archives [RELEASE [METADATA]]` fetches a release, makes its
archives, and asks its jars which keys they know, where any of this is missing.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from harness.distribution import storage
from harness.distribution.kafka_home import (
    KAFKAS_CLASS,
    ZOOKEEPERS_CLASS,
    KafkaHome,
    KafkaHomeError,
    Role,
    Say,
    class_archive,
    fetch,
    java_options,
    locked,
    roles_in,
)
from harness.distribution.known_keys import known_keys
from harness.host import system_packages
from harness.host.java import Java, find_java
from harness.host.machine import HostError
from harness.host.namespaces import UNSHARE
from harness.model.sections.kafka_releases import Metadata, default_metadata, release_of
from harness.waiting import WaitTimeout, wait_until

RECORDS = 100
START_TIMEOUT_S = 90.0
EXIT_TIMEOUT_S = 90.0

# standaloneEnabled=false: an ensemble of one loads the quorum's classes too.
_ZOO_CFG = """\
dataDir={folder}/zookeeper-data
clientPort=2181
tickTime=500
initLimit=10
syncLimit=5
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
server.1=127.0.0.1:2888:3888
"""
_ZOOKEEPERS_BROKER = """\
broker.id=1
listeners=PLAINTEXT://127.0.0.1:9092
zookeeper.connect=127.0.0.1:2181
"""
_VOTER = storage.Voter(id=1, endpoint="127.0.0.1:9093")
_COMBINED = f"""\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://{_VOTER.endpoint}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.quorum.voters={_VOTER.static}
"""
_ANY_BROKER = """\
log.dirs={folder}/kafka-data
auto.create.topics.enable=true
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=2097152
"""
_LOG4J = """\
log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


def ensure(
    home: KafkaHome,
    java: Java,
    say: Say = lambda _line: None,
    *,
    metadata: Metadata = "zookeeper",
) -> None:
    """Make the missing archives of `home` and `java` for clusters in this metadata mode: some 7 s,
    once.

    Needs the same private namespaces as a run. Raises KafkaHomeError; nodes start without archives
    too, only slower.
    """
    roles = roles_in(metadata)
    if _exist(home, java, roles):
        return
    with locked(home.archives.parent / "lock", say):
        if _exist(home, java, roles):
            return
        for killed in home.archives.glob("training-*"):
            shutil.rmtree(killed, ignore_errors=True)
        say("making the class archives that let nodes start faster")
        begun = time.monotonic()
        for unfit in home.archives.parent.glob("*/"):  # of jars that are no longer these
            if unfit != home.archives:
                shutil.rmtree(unfit, ignore_errors=True)
        home.archives.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.archives, prefix="training-") as folder:
            _train_privately(home, java, Path(folder), roles)
        say(f"class archives made in {time.monotonic() - begun:.0f} s")


def _exist(home: KafkaHome, java: Java, roles: Sequence[Role]) -> bool:
    return all(class_archive(home, java, role).exists() for role in roles)


def _train_privately(home: KafkaHome, java: Java, folder: Path, roles: Sequence[Role]) -> None:
    """Train in private namespaces, then move the archives to their place."""
    training = [sys.executable, "-P", "-m", "harness.distribution.class_archives"]
    command = [*UNSHARE, *training, str(home.libs), str(java.path), str(folder), *roles]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]
        raise KafkaHomeError(f"no class archives, so nodes will start more slowly: {reason}")
    for role in roles:
        (folder / f"{role}.jsa").rename(class_archive(home, java, role))


def _train(libs: Path, java: Path, folder: Path, roles: Sequence[Role]) -> None:
    """Inside the namespaces: start the nodes, run a client, stop the nodes in reverse order."""
    subprocess.run([system_packages.program("ip") or "ip", "link", "set", "lo", "up"], check=True)
    nodes: dict[Role, subprocess.Popen[bytes]] = {}
    try:
        for role in roles:
            nodes[role] = _start(role, KafkaHome(libs=libs, version="", archives=folder), java)
        _exercise(nodes)
        for role, node in reversed(nodes.items()):
            _stop(role, node)
    except (WaitTimeout, KafkaException, ChildProcessError) as error:
        logs = [f"{role}: {_last_line(folder / f'{role}.log')}" for role in nodes]
        raise KafkaHomeError(f"the training run failed ({error}); {'; '.join(logs)}") from None
    finally:
        for node in nodes.values():
            node.kill()


def _start(role: Role, home: KafkaHome, java: Path) -> subprocess.Popen[bytes]:
    folder = home.archives
    settings = {
        "zookeeper": _ZOO_CFG,
        "kafka": _ZOOKEEPERS_BROKER + _ANY_BROKER,
        "kraft-broker": _COMBINED + _ANY_BROKER,
    }[role]
    (folder / f"{role}.properties").write_text(settings.format(folder=folder))
    (folder / "log4j.properties").write_text(_LOG4J)
    # The Java does not matter while `home.archives` has no finished archive.
    runtime = Java(path=java, version="", build="")
    if role == "zookeeper":
        (folder / "zookeeper-data").mkdir()
        (folder / "zookeeper-data" / "myid").write_text("1")
    elif role == "kraft-broker":
        wanted = storage.Format(voters=[_VOTER], dynamic=False, features={})
        (folder / "kafka-data").mkdir()
        made = storage.first_voter_disk(home, runtime, wanted)
        storage.copy(made, folder / "kafka-data", _VOTER.id, votes=True)
    command = [
        str(java),
        f"-XX:ArchiveClassesAtExit={folder / f'{role}.jsa'}",
        # The options of a run: an archive only fits what it was made with.
        *java_options(role, home, runtime),
        f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}",
        "-cp",
        home.class_path,
        ZOOKEEPERS_CLASS if role == "zookeeper" else KAFKAS_CLASS,
        str(folder / f"{role}.properties"),
    ]
    with (folder / f"{role}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def _exercise(nodes: dict[Role, subprocess.Popen[bytes]]) -> None:
    """Let a client do what clients do, so that the archive has the classes that serve it."""
    client: dict[str, str | int | float | bool] = {
        "bootstrap.servers": "127.0.0.1:9092",
        "reconnect.backoff.max.ms": 200,
        "log_level": 0,
    }

    def answered() -> bool:
        gone = [role for role, node in nodes.items() if node.poll() is not None]
        if gone:
            raise ChildProcessError(f"the {gone[0]} ended by itself")
        return bool(AdminClient(client).list_topics(timeout=1).brokers)

    wait_until(
        answered,
        timeout_s=START_TIMEOUT_S,
        what="the broker of the training run to answer",
        ignoring=(KafkaException,),
    )
    producer = Producer({**client, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce("training", str(number))
    producer.flush(START_TIMEOUT_S)
    consumer = Consumer({**client, "group.id": "training", "auto.offset.reset": "earliest"})
    consumer.subscribe(["training"])
    wait_until(lambda: consumer.poll(1.0), timeout_s=START_TIMEOUT_S, what="a record to come back")
    consumer.close()


def _stop(role: str, node: subprocess.Popen[bytes]) -> None:
    node.send_signal(signal.SIGTERM)
    wait_until(
        lambda: node.poll() is not None,
        timeout_s=EXIT_TIMEOUT_S,
        what=f"the {role} of the training run to end",
    )


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return lines[-1] if lines else "no log"


def main(argv: list[str]) -> int:
    """Make what is missing of a release. With more than two arguments: the training run, inside."""
    try:
        if len(argv) > 2:
            libs, java, folder, *roles = argv
            _train(Path(libs), Path(java), Path(folder), cast(list[Role], roles))
        else:
            release = release_of(argv[0] if argv else "")
            metadata = argv[1] if len(argv) > 1 else default_metadata(release)
            home = fetch(release, say=print)
            ensure(home, find_java(), say=print, metadata=cast(Metadata, metadata))
            known_keys(home, find_java)  # the first scenario need not wait for the answer
    except HostError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
