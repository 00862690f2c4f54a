"""Formats KRaft's storage once, and copies it to each node's disk before its first start.

    meta.properties           the cluster's id, the node's, since 3.7 the directory's
    bootstrap.checkpoint      the finalized features that the cluster begins with
    __cluster_metadata-0/     of a dynamic quorum, on its controllers: who votes (KIP-853)

Kafka refuses an unformatted disk. Its StorageTool takes a second of CPU, so it formats once for
each release, quorum and set of features, and the result is kept beside the class archives of these
jars. A node gets a copy with ids of its own; no run starts the tool.

A directory's id follows from the node and from how often it was formatted: to the quorum a disk
that is formatted again is another one, and two runs have the same ids.

Source: kafka.tools.StorageTool; KIP-630, KIP-853, KIP-858 (directory.id), KIP-1022 (--feature).
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from harness.distribution.kafka_home import KafkaHome, KafkaHomeError, locked
from harness.host.java import Java

CLUSTER_ID: Final = "a2Fma2EtaGFybmVzcy1ydQ"  # one for all runs: each has a network of its own
_TOOL: Final = "kafka.tools.StorageTool"
_OURS: Final = uuid.UUID("0d7f4b0e-6f61-4c8e-9a0b-6b61666b6121")


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A controller as a quorum knows it."""

    id: int
    endpoint: str  # host:port of its listener for controllers

    @property
    def static(self) -> str:
        """`101@10.77.0.11:9093`, in controller.quorum.voters."""
        return f"{self.id}@{self.endpoint}"

    @property
    def dynamic(self) -> str:
        """The same with its directory, in --initial-controllers."""
        return f"{self.static}:{directory_id(self.id)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The settings with which a cluster's disks are formatted."""

    voters: Sequence[Voter]
    dynamic: bool
    features: Mapping[str, int]


def directory_id(node: int, before: int = 0) -> str:
    """The directory of a node that was formatted so often before, as Kafka's Uuid prints it."""
    directory = uuid.uuid5(_OURS, f"{node} {before}")
    return base64.urlsafe_b64encode(directory.bytes).decode().rstrip("=").replace("-", "_")


def first_voter_disk(home: KafkaHome, java: Java, wanted: Format) -> Path:
    """The formatted folder of a first voter, made first if it is missing. Raises KafkaHomeError
    with the tool's words."""
    voters = [voter.dynamic if wanted.dynamic else voter.static for voter in wanted.voters]
    key = json.dumps([voters, wanted.dynamic, dict(sorted(wanted.features.items()))])
    folder = home.archives / f"storage-{sha256(key.encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    with locked(home.archives.parent / "lock"):
        if not folder.is_dir():
            home.archives.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home.archives, prefix=".storage-") as work:
                _format(home, java, wanted, Path(work))
                (Path(work) / "data").rename(folder)
    return folder


def copy(source: Path, folder: Path, node: int, *, votes: bool, before: int = 0) -> None:
    """Fill the empty `folder` for a node that was formatted so often before. A node that `votes`
    begins with the quorum's first snapshot, if there is one: as a first voter, not as one that
    joins later."""
    for entry in source.iterdir():
        if entry.is_file():
            shutil.copy(entry, folder / entry.name)
        elif votes:
            shutil.copytree(entry, folder / entry.name)
    meta = folder / "meta.properties"
    text = re.sub(r"(?m)^node\.id=.*$", f"node.id={node}", meta.read_text())
    directory = directory_id(node, before)
    meta.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={directory}", text))


def _format(home: KafkaHome, java: Java, wanted: Format, work: Path) -> None:
    first = wanted.voters[0]
    listener = f"CONTROLLER://{first.endpoint}"
    quorum = (
        {"controller.quorum.bootstrap.servers": ",".join(v.endpoint for v in wanted.voters)}
        if wanted.dynamic
        else {"controller.quorum.voters": ",".join(v.static for v in wanted.voters)}
    )
    properties = {
        "process.roles": "controller",
        "node.id": first.id,
        "listeners": listener,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
        "log.dirs": work / "data",
        **quorum,
    }
    config = work / "first.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command = [
        *(str(java.path), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"),
        *("-cp", home.class_path, _TOOL, "format", "-t", CLUSTER_ID, "-c", str(config)),
        *(f"--feature={name}={level}" for name, level in wanted.features.items()),
    ]
    if wanted.dynamic:
        command += ["--initial-controllers", ",".join(v.dynamic for v in wanted.voters)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not (work / "data" / "meta.properties").is_file():
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        said = [line for line in lines if not line.startswith("\tat ")]
        asked = " with cluster.features" if wanted.features else ""
        raise KafkaHomeError(
            f"Kafka {home.version} could not format a disk{asked}: "
            f"{said[-1] if said else 'no word'}"
        )
