"""Makes the harness's own image, for runs inside a Kubernetes cluster, without a container
registry.

    kafka-harness harness-image [--wheel FILE]

    1. a root filesystem of Debian packages by mmdebstrap: Java, Python (harness.setup.kafka_image)
    2. wheels of this harness and of all that it needs, for that Python and no other, by pip. Its
       own is built where this is a checkout; elsewhere it is the file that it was installed from
    3. imported, and built into IMAGE without a network (images/harness/Dockerfile)

The image's entry point, which k8s/nightly.yaml uses, is the command itself.
"""

from __future__ import annotations

import json
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from harness.checkout import ROOT
from harness.cluster.nodes import ClusterError
from harness.distribution.kafka_home import Say
from harness.release import IMAGES, INSTALLED
from harness.setup import kafka_image

CONTEXT = IMAGES / "harness"
NAME, BASE = "kafka-harness/harness", "kafka-harness/harness-base"
PACKAGES = ("openjdk-17-jre-headless", "python3", "python3-venv")
PYTHON = "3.11"  # of the suite
GLIBC = ("manylinux2014", "manylinux_2_28")  # that the suite has, as wheels name it (PEP 600)


def make(say: Say, wheel: Path | None = None) -> str:
    """Make the image anew from that wheel of the harness, and return its name. Raises ClusterError,
    KafkaHomeError."""
    client = kafka_image.engine()
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder) / "context"
        shutil.copytree(CONTEXT, context)
        wheels = context / "wheels"
        wheels.mkdir()
        own = distribution_in(_own_wheel(wheel, wheels))
        tar = kafka_image.root_filesystem(f"harness-{kafka_image.SUITE}", PACKAGES, say)
        base = kafka_image.import_base(client, BASE, tar, say)
        name = f"{NAME}:{own.version}"
        say("fetching wheels (PySpark is most of it)")
        _fetch_wheels(wheels, own.requires or [])
        say(f"building {name}")
        client.images.build(path=str(context), tag=name, buildargs={"BASE": base}, rm=True)
        client.images.prune(filters={"dangling": True, "label": "kafka-harness.stage"})
    return name


def _own_wheel(given: Path | None, folder: Path) -> Path:
    """The harness's own wheel, copied or built into the folder."""
    if given is None and not INSTALLED:
        _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
        return next(folder.glob("*.whl"))
    if given is None:
        direct_url = metadata.distribution("kafka-harness").read_text("direct_url.json")
        given = wheel_of_install(direct_url)
    return Path(shutil.copy(given, folder))


def wheel_of_install(direct_url: str | None) -> Path:
    """The wheel file of an installation, as pip, pipx and uv record it (PEP 610). Raises
    ClusterError where none is recorded or it is gone."""
    url = urlsplit(str(json.loads(direct_url or "{}").get("url", "")))
    file = Path(url2pathname(url.path))
    if url.scheme != "file" or file.suffix != ".whl" or not file.is_file():
        raise ClusterError(
            "the wheel file that kafka-harness was installed from is not where it was: name it "
            "with --wheel FILE"
        )
    return file


def distribution_in(wheel: Path) -> metadata.Distribution:
    """The metadata of the harness's wheel. Raises ClusterError for another file."""
    distribution = next(iter(metadata.distributions(path=[str(wheel)])), None)
    if distribution is None or distribution.metadata["Name"] != "kafka-harness":
        raise ClusterError(
            f"{wheel.name} is no wheel of kafka-harness: give --wheel the file that it was "
            "installed from"
        )
    return distribution


def _fetch_wheels(folder: Path, requirements: Sequence[str]) -> None:
    """Fetch wheels for the image's Python. PySpark is published as source only, but runs
    anywhere."""
    spark = [requirement for requirement in requirements if requirement.startswith("pyspark")]
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), *spark)
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
    if find_spec("pip") is None:
        raise ClusterError(
            f"pip, which fetches wheels, is missing: {shlex.quote(sys.executable)} -m ensurepip"
        )
    argv = [sys.executable, "-P", "-m", "pip", "--quiet", "--no-input"]
    argv += ["--disable-pip-version-check", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise ClusterError(f"pip {words[0]} failed:\n{errors}")
