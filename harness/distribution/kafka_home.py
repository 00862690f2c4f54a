"""Finds Kafka's jars and the Java that runs them, or fetches the jars once from Maven Central.

The Ivy that ships inside PySpark fetches `kafka_2.13` of a release and its run-time dependencies
(until 3.9 with ZooKeeper), so neither Maven nor a download page is needed. They land in the user's
cache, whole or not at all:

    ~/.cache/kafka-harness/             $KAFKA_HARNESS_CACHE, else $XDG_CACHE_HOME/kafka-harness
        kafka-3.9.2/libs/*.jar
        kafka-3.9.2/bill.json           what was fetched: sha256 and size of each jar; written last
        class-archives/...              see harness/distribution/class_archives.py
        ivy/                            what Ivy has fetched, which releases share

One digest pins every jar of a release (`BILLS`). A user's own build (`--kafka-home DIR` with
DIR/libs/*.jar) is never changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from harness.distribution import ivy
from harness.host.java import Java, find_java
from harness.host.machine import HostError
from harness.model.sections.kafka_releases import DEFAULT, PINNED, Metadata, numbers

# One digest for each pinned release: of the lines "<sha256>  <jar>\n" of all its jars, dependencies
# too, sorted by jar. For a new release, or another version of a module below, set-up prints it.
BILLS: Final = {
    "2.4.1": "d29722ae0505dd832dfabf64357ed9b6aca4e6a842a2c67be5aac59427b10b22",
    "2.8.2": "1f974d34cf86e7ddbaf52548e991144693df41707ca978aad876bd082034a182",
    "3.3.2": "d42d5b500b5c44e93c11ae95958be2305da3f77a89d64f0a65ee38c24a6782c5",
    "3.6.0": "5cb75b7c13d1afb6aeac617300d4f2c6a42e6be0551847fb17091d01053ce071",
    "3.6.2": "bade5b8ad8f4e7704d1de53668ad1319857f9512f8340497dbcc821236c8871d",
    "3.7.0": "b670991b275f94f80dbb869e50d50e56ec28d12ab485993f9331cc1247bd88c2",
    "3.7.2": "62a1b9ab46fbdc03ec24f618e586bec803991cea4d71fcd8986f36429862dab3",
    "3.9.2": "a306d3d7b3e6971ae0595a1d6465f6f1345606875af557c0575dff2fdb7e93e1",
    "4.0.2": "3610af38565e45c0b21897a0b8261ec2e5b50c6906c6f0f94eefeb6b3aa8128b",
    "4.1.2": "84ed6cc6d26cf7a16a058430e49b05fe33aa3d2a70734b704adbce14fc525fe5",
    "4.2.2": "a177fed3917b98101268e6de275995018d7aee08c1cf769b37a02dc7b37e4ea7",
    "4.3.1": "fb7faa7268c004fc2ff8b9d614a74e6feb18a12a6776572257aa529f3aec6c4d",
    "4.4.0": "c69a27171c0ff2ece8439794fb0ef03462a72fc2eb23642dc27bdc3db76fbf43",
}
# The binding that Kafka's own distribution ships: kafka_2.13 itself brings slf4j-api 1.7 only.
SLF4J_BINDING: Final = ("org.slf4j", "slf4j-reload4j", "1.7.36")
# Since 4.2 DumpLogSegments is in a module of its own, and needs none of that module's dependencies
# (Connect, Jetty).
TOOLS_SINCE: Final = (4, 2)

# The role of a virtual machine: a member of the ensemble, a broker beside one, or one of KRaft's
# nodes, where a combined one counts as a broker.
Role = Literal["zookeeper", "kafka", "kraft-controller", "kraft-broker"]
# One archive serves both of KRaft's.
Archive = Literal["zookeeper", "kafka", "kraft"]
Say = Callable[[str], object]

ZOOKEEPERS_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
KAFKAS_CLASS = "kafka.Kafka"  # of brokers and controllers
_HEAP: dict[Role, tuple[str, str]] = {
    "zookeeper": ("64m", "128m"),
    "kafka": ("256m", "512m"),
    "kraft-controller": ("64m", "192m"),
    "kraft-broker": ("256m", "512m"),
}
_ARCHIVE: dict[Role, Archive] = {
    "zookeeper": "zookeeper",
    "kafka": "kafka",
    "kraft-controller": "kraft",
    "kraft-broker": "kraft",
}
_KAFKA_JAR = re.compile(r"kafka_2\.1[0-9]-(\d+(?:\.\d+)+[-.\w]*)\.jar")
_ZOOKEEPER_JAR = re.compile(r"zookeeper-(\d+(?:\.\d+)+[-.\w]*)\.jar")


class KafkaHomeError(HostError):
    """Kafka or Java is missing or unusable; one sentence with the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaHome:
    """Kafka as a folder of jars, including ZooKeeper's."""

    libs: Path
    version: str  # "3.9.2"
    archives: Path  # where class archives that fit exactly these jars are, or will be

    @property
    def jars(self) -> list[Path]:
        """The jars in the order of the class path: sorted, because an archive depends on it."""
        return sorted(self.libs.glob("*.jar"))

    @property
    def class_path(self) -> str:
        """What `java -cp` gets."""
        return ":".join(str(jar) for jar in self.jars)

    @property
    def zookeeper_version(self) -> str | None:
        """The version of these jars' ZooKeeper, by the jar's name; None without ZooKeeper."""
        return _version(self.libs, _ZOOKEEPER_JAR)


def cache_folder() -> Path:
    """The folder of everything that is fetched or made once for this user."""
    if own := os.environ.get("KAFKA_HARNESS_CACHE"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "kafka-harness"


def find_kafka(kafka_home: Path | None = None, release: str = DEFAULT) -> KafkaHome:
    """The user's own Kafka in `kafka_home`, or the release that set-up has fetched.

    Reads file names and sizes only. Raises KafkaHomeError.
    """
    if kafka_home is not None:
        return _examined(kafka_home.expanduser().absolute())
    home = cache_folder() / f"kafka-{release}"
    if not _whole(home):
        which = "" if release == DEFAULT else f" --kafka {release}"
        which += " --unpinned" if release not in PINNED else ""
        raise KafkaHomeError(
            f"Kafka {release} has not been fetched yet: run `kafka-harness setup{which}`"
        )
    return _home(home / "libs", release)


def fetch(release: str = DEFAULT, say: Say = lambda _line: None) -> KafkaHome:
    """That release in the cache, fetched from Maven Central first if it is missing.

    `say` gets one line at a time. Several set-ups may call this at once: one fetches, the others
    wait. $KAFKA_HARNESS_MAVEN names a mirror of Maven Central. Raises KafkaHomeError.
    """
    cache = cache_folder()
    home = cache / f"kafka-{release}"
    if _whole(home):
        return find_kafka(release=release)
    with locked(cache / "fetch.lock", say):
        if not _whole(home):
            for stale in cache.glob(f".kafka-{release}-*"):  # of fetches that were killed
                shutil.rmtree(stale, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)
            work = Path(tempfile.mkdtemp(prefix=f".kafka-{release}-", dir=cache))
            try:
                _retrieve(release, work, say)
                work.chmod(0o755)  # mkdtemp's is private, and a cache may be shared
                work.rename(home)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return find_kafka(release=release)


def damaged(home: KafkaHome) -> list[str]:
    """Names of fetched jars whose contents have changed since. Reads all of them."""
    bill = home.libs.parent / "bill.json"
    if not bill.exists():  # a user's own build has no bill
        return []
    jars = json.loads(bill.read_text())["jars"]
    return [name for name, jar in jars.items() if sha256_of(home.libs / name) != jar["sha256"]]


def roles_in(metadata: Metadata) -> tuple[Role, ...]:
    """The roles of nodes in this metadata mode that need an archive each."""
    return ("zookeeper", "kafka") if metadata == "zookeeper" else ("kraft-broker",)


def class_archive(home: KafkaHome, java: Java, role: Role) -> Path:
    """The path of the class-data-sharing archive of this role, for these jars and this Java."""
    return home.archives / f"{_ARCHIVE[role]}-java-{java.build}.jsa"


def archive_fits(home: KafkaHome, java: Java, role: Role) -> bool:
    """Whether the virtual machine really accepts the archive; tries it, in 0.1 s."""
    strictly = [option for option in java_options(role, home, java) if option != "-Xshare:auto"]
    command = [str(java.path), "-Xshare:on", *strictly, "-cp", home.class_path, "-version"]
    named = any(option.startswith("-XX:SharedArchiveFile") for option in strictly)
    return named and subprocess.run(command, capture_output=True, check=False).returncode == 0


def java_options(role: Role, home: KafkaHome, java: Java) -> list[str]:
    """The options of a node's virtual machine, without `-cp`.

    Small heaps, the cheap compiler only and an archive of parsed classes: six virtual machines
    share few cores, and most of a node's start is loading and compiling code that runs once.
    Without an archive, or with jars in another order, a node starts too, only slower.
    """
    smallest, largest = _HEAP[role]
    archive = class_archive(home, java, role)
    return [
        f"-Xms{smallest}",
        f"-Xmx{largest}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Xshare:auto",
        *([f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []),
        "-Djava.awt.headless=true",
    ]


@contextmanager
def locked(path: Path, say: Say = lambda _line: None) -> Iterator[None]:
    """Hold a lock among this host's processes. The kernel releases the lock of one that dies."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    except OSError as error:
        raise KafkaHomeError(
            f"cannot write {path}: {error.strerror}; "
            "set KAFKA_HARNESS_CACHE to a writable folder with 200 MB free"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another set-up that has locked {path}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _examined(kafka_home: Path) -> KafkaHome:
    """The user's own build, refused unless it is a whole Kafka."""
    libs = kafka_home / "libs"
    if not libs.is_dir():
        raise KafkaHomeError(
            f"{kafka_home} has no folder libs/: give --kafka-home an unpacked Kafka distribution"
        )
    version = _version(libs, _KAFKA_JAR)
    if version is None:
        raise KafkaHomeError(f"{libs} has no kafka_2.13-*.jar: give --kafka-home a built Kafka")
    if numbers(version) < (4,) and _version(libs, _ZOOKEEPER_JAR) is None:
        raise KafkaHomeError(
            f"{libs} has no zookeeper-*.jar: give --kafka-home a complete Kafka {version}"
        )
    return _home(libs, version)


def _home(libs: Path, version: str) -> KafkaHome:
    """A home whose archives are filed by the place of the jars, then by their state."""
    jars = [(jar.name, jar.stat()) for jar in sorted(libs.glob("*.jar"))]
    # What the virtual machine compares too: a jar built anew makes the old archive useless.
    state = _digest(repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in jars]))
    folder = cache_folder() / "class-archives" / f"kafka-{version}-{_digest(str(libs))[:12]}"
    return KafkaHome(libs=libs, version=version, archives=folder / state[:12])


def _version(libs: Path, jar_name: re.Pattern[str]) -> str | None:
    matches = (jar_name.fullmatch(jar.name) for jar in sorted(libs.glob("*.jar")))
    return next((match[1] for match in matches if match), None)


def _whole(home: Path) -> bool:
    """Whether every jar of the bill has its size: cheap enough for every start."""
    try:
        jars = json.loads((home / "bill.json").read_text())["jars"]
        sizes = {name: (home / "libs" / name).stat().st_size for name in jars}
        return all(sizes[name] == jar["bytes"] for name, jar in jars.items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _retrieve(release: str, work: Path, say: Say) -> None:
    """Fill work/libs and write the bill."""
    begun = time.monotonic()
    scratch, shared = work / "ivy", cache_folder() / "ivy"
    scratch.mkdir()
    java = find_java().path
    say(f"fetching Kafka {release} and its dependencies (some 46 MB) from Maven Central")
    try:
        for modules, alone in ((modules_of(release), False), (alone_of(release), True)):
            if modules:
                ivy.retrieve(
                    modules,
                    into=work / "libs",
                    scratch=scratch,
                    cache=shared,
                    java=java,
                    say=say,
                    alone=alone,
                )
    except ivy.IvyError as error:
        raise KafkaHomeError(
            f"Kafka {release} could not be fetched ({error}): check the network and "
            "$https_proxy, set KAFKA_HARNESS_MAVEN to a mirror of Maven Central, or give "
            "--kafka-home an unpacked Kafka"
        ) from None
    shutil.rmtree(scratch)
    count = _write_bill(release, work)
    say(f"fetched {count} jars in {time.monotonic() - begun:.0f} s")


def _write_bill(release: str, work: Path) -> int:
    """Write what was fetched, and return how many jars; refuse other jars than a pinned release
    has."""
    libs = sorted((work / "libs").glob("*.jar"))
    jars = {jar.name: {"sha256": sha256_of(jar), "bytes": jar.stat().st_size} for jar in libs}
    digest = _digest("".join(f"{jar['sha256']}  {name}\n" for name, jar in jars.items()))
    if digest != BILLS.get(release, digest):
        raise KafkaHomeError(
            f"the {len(jars)} jars fetched for Kafka {release} have another checksum than "
            f"expected ({digest}): unset KAFKA_HARNESS_MAVEN to fetch from Maven Central, and if "
            "the checksum is the same, report it"
        )
    bill = {"kafka": release, "digest": digest, "jars": jars}
    (work / "bill.json").write_text(json.dumps(bill, indent=1) + "\n")
    return len(jars)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def modules_of(release: str) -> list[tuple[str, str, str]]:
    """The modules of a release: organisation, name, version."""
    return [("org.apache.kafka", "kafka_2.13", release), SLF4J_BINDING]


def alone_of(release: str) -> list[tuple[str, str, str]]:
    """Further modules of a release that are fetched without their dependencies."""
    return [("org.apache.kafka", "kafka-tools", release)] * (numbers(release) >= TOOLS_SINCE)
