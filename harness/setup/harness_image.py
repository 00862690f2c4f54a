"""The harness's own image, for runs inside a Kubernetes cluster, made without a container registry.

    python -m harness.setup.harness_image      (`make harness-image`)

    1. a root filesystem of Debian packages by mmdebstrap: Java, Python (see
    harness.setup.kafka_image) 2. wheels of this checkout and of all that it needs, for that Python
    and no other, by pip 3. imported, and built into IMAGE without a network
    (images/harness/Dockerfile)

Prints the image's name, which k8s/nightly.yaml uses. Its entry point is the command itself.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from harness.checkout import IMAGES, ROOT
from harness.cluster.docker.engine import connect
from harness.cluster.nodes import ClusterError
from harness.distribution.kafka_home import Say
from harness.setup import kafka_image

CONTEXT = IMAGES / "harness"
NAME, BASE = "kafka-harness/harness", "kafka-harness/harness-base"
PACKAGES = ("openjdk-17-jre-headless", "python3", "python3-venv")
PYTHON = "3.11"  # of the suite
GLIBC = ("manylinux2014", "manylinux_2_28")  # that the suite has, as wheels name it (PEP 600)


def make(say: Say) -> str:
    """Make the image anew; its name. Raises ClusterError, KafkaHomeError."""
    client, project = connect(), tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tar = kafka_image.root_filesystem(f"harness-{kafka_image.SUITE}", PACKAGES, say)
    base = kafka_image.import_base(client, BASE, tar, say)
    name = f"{NAME}:{project['version']}"
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder) / "context"
        shutil.copytree(CONTEXT, context)
        say("fetching wheels (PySpark is most of it)")
        _fetch_wheels(context / "wheels", project["dependencies"])
        say(f"building {name}")
        client.images.build(path=str(context), tag=name, buildargs={"BASE": base}, rm=True)
        client.images.prune(filters={"dangling": True, "label": "kafka-harness.stage"})
    return name


def _fetch_wheels(folder: Path, dependencies: Sequence[str]) -> None:
    """Wheels for the image's Python. PySpark is published as source alone, but runs anywhere."""
    spark = [each for each in dependencies if each.startswith("pyspark")]
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT), *spark)
    systems = [f"--platform={libc}_{platform.machine()}" for libc in GLIBC]
    _pip(
        "download",
        "--only-binary=:all:",
        f"--python-version={PYTHON}",
        *systems,
        f"--find-links={folder}",
        f"--dest={folder}",
        "kafka-harness[kubernetes]",
    )


def _pip(*words: str) -> None:
    argv = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run([*argv, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise ClusterError(f"pip {words[0]} failed:\n{errors}")


def main() -> int:
    """Make the image and say how it gets to a cluster."""
    return kafka_image.made(
        make, "minikube image load {name}      # or push it to your registry, then k8s/nightly.yaml"
    )


if __name__ == "__main__":
    sys.exit(main())
