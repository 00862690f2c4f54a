"""Finds the Java of this machine, asks for its version, and refuses one that Kafka cannot run
on."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.host.machine import HostError

SUPPORTED_JAVA = (17, 21)  # what Kafka 3.9 and PySpark 4 both run on


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that Kafka 3.9 runs on."""

    path: Path  # the `java` program
    version: str  # "17.0.15"
    build: str  # the exact virtual machine, "17.0.15+6-Debian-1deb12u1": archives fit one build

    @property
    def major(self) -> int:
        """17 or 21."""
        return int(self.version.split(".", maxsplit=1)[0])


def find_java() -> Java:
    """A Java 17 or 21: from $JAVA_HOME, else from the PATH, else from the distribution's folders.

    Raises HostError that names what was found instead.
    """
    refused = []
    for program in _java_programs():
        java = _ask(program)
        if java is not None and java.major in SUPPORTED_JAVA:
            return java
        refused.append(f"{program} is {f'Java {java.version}' if java else 'not a working Java'}")
    raise HostError(
        "Kafka 3.9 needs Java 17 or 21, but "
        + ("; ".join(refused) if refused else "no Java is installed")
        + ": install one (`apt-get install openjdk-17-jre-headless`) or set JAVA_HOME"
    )


def _java_programs() -> list[Path]:
    """Every `java` worth trying, the user's choice first, each once."""
    asked_for = [Path(home) / "bin" / "java" for home in [os.environ.get("JAVA_HOME")] if home]
    on_path = [Path(java) for java in [shutil.which("java")] if java]
    installed = sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
    programs: dict[Path, Path] = {}
    for program in [*asked_for, *on_path, *installed]:
        programs.setdefault(program.resolve(), program)
    return [program for real, program in programs.items() if real.exists()]


@functools.cache
def _ask(program: Path) -> Java | None:
    """The Java of `program` by its own output; None if it does not run or does not say."""
    try:
        answer = subprocess.run(
            [program, "-XX:-UsePerfData", "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    shown: dict[str, str] = dict(
        re.findall(r"^\s*([\w.]+) = (.*)$", answer.stderr, flags=re.MULTILINE)
    )
    version = shown.get("java.version", "")
    if not re.match(r"\d", version):
        return None
    build = re.sub(r"[^\w.+-]", "_", shown.get("java.vm.version", version))
    return Java(path=program, version=version, build=build)
