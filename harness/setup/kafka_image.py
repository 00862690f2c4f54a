"""Makes the image of the docker backend's nodes, without a container registry.

    kafka-harness image [--kafka RELEASE] [--kafka-home DIR]        kafka-harness/kafka:RELEASE

    1. a root filesystem of Debian packages by mmdebstrap: Java, iptables, iproute2, a small Python
       (kept in the cache; the only step that needs a package mirror, and root)
    2. imported, and with Kafka's jars and images/kafka/run built into IMAGE
    3. started once to make class archives, which make every later start faster

One image serves as ZooKeeper, broker, controller and sidecar; its start script reads the variables
of the public images. It has class archives for every metadata mode of its release. A label says
what an image was made of; one of another recipe is made again.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.cluster import node_settings
from harness.cluster.docker.backend import without_sdk
from harness.cluster.docker.engine import connect
from harness.cluster.nodes import ClusterError
from harness.distribution.kafka_home import KafkaHome, Say, cache_folder, locked
from harness.host import system_packages
from harness.model.sections.image_names import OURS
from harness.model.sections.kafka_releases import cannot_be
from harness.release import IMAGES

NAME, BASE = OURS, "kafka-harness/base"
SUITE = "bookworm"
PACKAGES = ("openjdk-17-jre-headless", "iptables", "iproute2", "python3-minimal")
# Manuals and translations are never read here. Folders that a package's install needs stay.
EXCLUDED = ("/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")
CONTEXT = IMAGES / "kafka"
TRAINING_LIMIT_S = 300
RECIPE = "kafka-harness.recipe"


def image_of(home: KafkaHome) -> str:
    """The name of the image that has this Kafka."""
    return f"{NAME}:{home.version}"


def make(home: KafkaHome, say: Say) -> str:
    """Make the image unless this engine has it, and return its name. Raises ClusterError,
    KafkaHomeError."""
    client, name = engine(), image_of(home)
    recipe = recipe_of(modes_of(home.version))
    if any(image.labels.get(RECIPE) == recipe for image in client.images.list(name)):
        say(f"{name} exists already: to build it again, run `docker rmi {name}` first")
        return name
    base = import_base(client, BASE, root_filesystem(SUITE, PACKAGES, say), say)
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder) / "context"
        shutil.copytree(CONTEXT, context)
        shutil.copytree(home.libs, context / "libs")
        (context / "log4j.properties").write_text(node_settings.LOG4J)
        say(f"building {name}")
        client.images.build(
            path=str(context),
            tag=f"{name}-untrained",
            buildargs={"BASE": base},
            labels={RECIPE: recipe},
            rm=True,
        )
    _train(client, name, modes_of(home.version), say)
    return name


def recipe_of(modes: Sequence[str]) -> str:
    """A short digest of what an image of any release is made of besides its jars."""
    files = [path.read_bytes() for path in sorted(CONTEXT.rglob("*")) if path.is_file()]
    words = "\n".join((*PACKAGES, *modes, node_settings.LOG4J)).encode()
    return hashlib.sha256(b"\0".join((words, *files))).hexdigest()[:16]


def modes_of(release: str) -> list[str]:
    """The metadata modes of a release, as the start script calls them."""
    return [mode for mode in ("zookeeper", "kraft") if cannot_be(release, mode) is None]


def engine() -> Any:
    """The Docker engine that makes images. Raises ClusterError."""
    if why := without_sdk():
        raise ClusterError(why)
    return connect()


def import_base(client: Any, repository: str, tar: Path, say: Say) -> str:
    """Have the engine make an image of a root filesystem; returns its name."""
    say("importing the root filesystem")
    client.api.import_image_from_file(str(tar), repository=repository, tag=SUITE)
    return f"{repository}:{SUITE}"


def root_filesystem(name: str, contents: Sequence[str], say: Say) -> Path:
    """The tar file of these Debian packages and their dependencies, from the cache (where it is
    called `name`) or made now. Raises ClusterError."""
    tar = cache_folder() / "image" / f"{name}.tar"
    with locked(tar.with_suffix(".lock"), say):
        if tar.exists():
            return tar
        if system_packages.program("mmdebstrap") is None:
            command = system_packages.install_command(["mmdebstrap"])
            raise ClusterError(f"mmdebstrap, which makes root filesystems, is missing: {command}")
        say("making a root filesystem of Debian packages (a minute or two, once)")
        partial_tar = tar.with_suffix(".part")
        options = [f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED]
        argv = [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--format=tar",
            *options,
            '--aptopt=APT::Install-Recommends "false"',
            f"--include={','.join(contents)}",
            SUITE,
            str(partial_tar),
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            errors = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise ClusterError(f"mmdebstrap could not make a root filesystem:\n{errors}")
        partial_tar.replace(tar)
        return tar


def _train(client: Any, name: str, modes: Sequence[str], say: Say) -> None:
    say("making the class archives that let nodes start faster")
    repository, tag = name.rsplit(":", 1)
    container = client.containers.run(
        f"{name}-untrained",
        ["/etc/confluent/docker/run", "train", *modes],
        network_mode="none",
        detach=True,
    )
    try:
        ended = container.wait(timeout=TRAINING_LIMIT_S)
        if ended["StatusCode"] != 0:
            log = container.logs(tail=5).decode(errors="replace")
            raise ClusterError(f"the training run in {name} failed:\n{log}")
        start = 'CMD ["/etc/confluent/docker/run"]'
        container.commit(repository=repository, tag=tag, changes=start)
    finally:
        container.remove(force=True, v=True)
