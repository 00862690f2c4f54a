"""Fetches jars that only tests need, each pinned by its digest, once from Maven Central.

    MINICLUSTER    an HDFS for a test: `scripts/setup --tests` fetches it, 56 MB
    S3             Spark's connector for S3: `make test-s3` fetches it, 690 MB
    TOOLS          Kafka's own verifiable producer and consumer: the test that needs it does

Ivy fetches them as it fetches Kafka's jars (harness.distribution.ivy), but without dependencies:
these are in PySpark or among Kafka's jars. They are kept beside Kafka's, in `jars-for-tests`.

`python -m harness.distribution.jars_for_tests NAME…` fetches, with progress lines.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.distribution import ivy
from harness.distribution.kafka_home import Say, cache_folder, locked, sha256_of
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.model.sections.kafka_releases import DEFAULT

HADOOP_VERSION = "3.5.0"  # that PySpark ships


@dataclass(frozen=True, slots=True, kw_only=True)
class Jars:
    """Some modules, each one jar."""

    name: str
    modules: Sequence[tuple[str, str, str]]  # organisation, name, version
    sha256: Mapping[str, str]  # by module's name

    def files(self) -> list[Path]:
        """Where each jar is, or belongs."""
        folder = cache_folder() / "jars-for-tests"
        return [folder / f"{name}-{version}.jar" for _, name, version in self.modules]


MINICLUSTER = Jars(
    name="minicluster",
    modules=(("org.apache.hadoop", "hadoop-client-minicluster", HADOOP_VERSION),),
    sha256={
        "hadoop-client-minicluster": (
            "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c"
        )
    },
)
S3 = Jars(
    name="s3",
    modules=(
        ("org.apache.hadoop", "hadoop-aws", HADOOP_VERSION),
        ("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", "1.3.1"),
        ("software.amazon.awssdk", "bundle", "2.35.4"),
    ),
    sha256={
        "hadoop-aws": "66bd9eefb938b1a1657487324b63c13df2d8b17164a1dd24e0ef37b905bc5baa",
        "analyticsaccelerator-s3": (
            "4959a9747cbb479c73c3ffbcd479bee5b014f8b2880994585a8693fb9d24675e"
        ),
        "bundle": "db4b55f24ad1b4e70f17eb1717a4de76a8dadc5a27d764be7c44ff67b2c1c677",
    },
)
TOOLS = Jars(
    name="tools",
    modules=(("org.apache.kafka", "kafka-tools", DEFAULT),),
    sha256={"kafka-tools": "3e6844711c3f5c9148f76ac96dfbf1de0aeeba11249e142e084b6de68e0ed05e"},
)
ALL = {jars.name: jars for jars in (MINICLUSTER, S3, TOOLS)}


def fetch(jars: Jars, say: Say = lambda _line: None) -> list[Path]:
    """The jars' files, fetched first if they are missing. Raises HostError.

    A jar appears once it is whole and its digest is right.
    """
    files = jars.files()
    folder = files[0].parent
    with locked(folder / f"{jars.name}.lock", say):
        if all(file.exists() for file in files):
            return files
        say(f"fetching jars that only tests need ({jars.name})")
        with tempfile.TemporaryDirectory(prefix=f".{jars.name}-", dir=folder) as work:
            into, scratch = Path(work) / "jars", Path(work) / "ivy"
            scratch.mkdir()
            try:
                ivy.retrieve(
                    list(jars.modules),
                    into=into,
                    scratch=scratch,
                    cache=scratch / "cache",
                    java=find_java().path,
                    say=say,
                    alone=True,
                )
            except ivy.IvyError as error:
                raise HostError(
                    f"jars for tests ({jars.name}) could not be fetched ({error}): check the "
                    "network and $https_proxy, or set KAFKA_HARNESS_MAVEN to a mirror of Maven "
                    "Central"
                ) from None
            for (_, name, _), file in zip(jars.modules, files, strict=True):
                _check(into / file.name, jars.sha256[name])
                shutil.move(into / file.name, file)
    return files


def _check(jar: Path, expected: str) -> None:
    digest = sha256_of(jar)
    if digest != expected:
        raise HostError(
            f"{jar.name}: fetched with another SHA-256 ({digest}) than expected: unset "
            "KAFKA_HARNESS_MAVEN to fetch from Maven Central, and if it is the same, report it"
        )


def main(names: Sequence[str]) -> int:
    """Fetch these; one line on stderr where that fails."""
    try:
        for name in names:
            fetch(ALL[name], say=lambda line: sys.stdout.write(f"{line}\n"))
    except HostError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
